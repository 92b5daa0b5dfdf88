//! Each single fault at each request: the outcome is the same, and nothing is made twice.

use std::time::Duration;

use landbridge_openstack::resources::{Network, NetworkChange, NewNetwork};
use landbridge_openstack::{Client, Error, Query, Reaction, Resource as _};
use serde_json::json;

use super::small::{FAULTS, Fault, Small};

fn wanted(name: &str) -> NewNetwork {
    NewNetwork { name: Some(name.to_owned()), ..NewNetwork::default() }
}

/// What a controller would do, from nothing to nothing.
async fn work(client: &Client) -> Result<Vec<String>, Error> {
    let first: Network = client.create(&wanted("first")).await?;
    let second: Network = client.create(&wanted("second")).await?;
    let change = NetworkChange { mtu: Some(1400), ..NetworkChange::default() };
    client.update::<Network>(first.id(), &change, None).await?;
    client.add_tag::<Network>(first.id(), "owner=x").await?;
    client.delete::<Network>(second.id()).await?;
    let left: Vec<Network> = client.list(&Query::all()).await?;
    let told = |network: Network| format!("{} {:?} {:?}", network.name, network.mtu, network.tags);
    Ok(left.into_iter().map(told).collect())
}

#[tokio::test]
async fn each_single_fault_at_each_request_changes_nothing() {
    let undisturbed = Small::new();
    let expected = work(&undisturbed.client()).await.unwrap();
    assert_eq!(expected, [r#"first Some(1400) ["owner%3Dx"]"#]);
    let requests = undisturbed.state().seen.len();
    assert_eq!(requests, 9, "{:?}", undisturbed.state().seen);
    for place in 0..requests {
        for fault in FAULTS {
            let cloud = Small::new();
            cloud.state().faults.insert(place, fault);
            // Keystone says 401 when somebody logs in only if it means it.
            let is_login = undisturbed.state().seen[place].contains("auth/tokens");
            let done = work(&cloud.client()).await;
            let case = format!("{fault:?} at {place}, {:?}", cloud.state().seen);
            if is_login && fault == Fault::Instead(401) {
                assert_eq!(done.unwrap_err().reaction(), Reaction::Credentials, "{case}");
                continue;
            }
            // The list of versions is there or not: nobody is asked to log in for it.
            let is_versions = undisturbed.state().seen[place] == "GET /";
            if is_versions && fault == Fault::Instead(401) {
                assert_eq!(done.unwrap_err().reaction(), Reaction::Setup, "{case}");
                continue;
            }
            assert_eq!(done.unwrap_or_else(|e| panic!("{case}: {e}")), expected, "{case}");
            assert_eq!(cloud.state().networks.len(), 1, "{case}");
        }
    }
}

#[tokio::test]
async fn two_faults_in_a_row_are_survived_too() {
    let undisturbed = Small::new();
    let expected = work(&undisturbed.client()).await.unwrap();
    let requests = undisturbed.state().seen.len();
    for place in 3..requests {
        for first in FAULTS {
            for second in [Fault::Unreachable, Fault::LostBefore, Fault::Instead(503)] {
                let cloud = Small::new();
                cloud.state().faults.extend([(place, first), (place + 1, second)]);
                let case = format!("{first:?} and {second:?} at {place}");
                match work(&cloud.client()).await {
                    Ok(done) => assert_eq!(done, expected, "{case}"),
                    // Whatever is not done is told in a way that asks for another round.
                    Err(error) => assert!(error.reaction().heals(), "{case}: {error}"),
                }
                let networks = &cloud.state().networks;
                let of = |name: &str| networks.values().filter(|n| n["name"] == name).count();
                assert!(of("first") <= 1 && of("second") <= 1, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_unreadable_is_not_asked_again_and_not_made_again() {
    let cloud = Small::new();
    // 0 versions, 1 login, 2 versions, 3 POST.
    cloud.state().faults.insert(3, Fault::Garbage);
    let made: Network = cloud.client().create(&wanted("first")).await.unwrap();
    assert_eq!(made.name, "first");
    assert_eq!(cloud.state().networks.len(), 1);
}

#[tokio::test]
async fn a_lost_create_that_fits_two_is_nobodys_guess() {
    let cloud = Small::new();
    for id in ["a", "b"] {
        let network = json!({"id": id, "name": "first", "tags": []});
        cloud.state().networks.insert(id.to_owned(), network);
    }
    cloud.state().faults.insert(3, Fault::LostBefore);
    let error = cloud.client().create::<Network>(&wanted("first")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 networks fit name=first, and nobody can say which is meant: a, b"
    );
    assert_eq!(cloud.state().networks.len(), 2);
}

#[tokio::test]
async fn it_ends_when_nothing_helps() {
    let cloud = Small::new();
    let faults: Vec<_> = (3..40).map(|place| (place, Fault::Instead(503))).collect();
    cloud.state().faults.extend(faults);
    let error = cloud.client().list::<Network>(&Query::all()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "GET http://neutron:9696/v2.0/networks?limit=1000: 503 Trouble: No [req-7]"
    );
    assert_eq!(cloud.state().seen.len(), 3 + 5);
    // As soon as it works again, it works.
    cloud.state().faults.clear();
    let client = cloud.client();
    assert_eq!(client.list::<Network>(&Query::all()).await.unwrap(), []);
}

#[tokio::test]
async fn a_service_that_asks_for_time_gets_it() {
    let cloud = Small::new();
    cloud.state().retry_after = Some(17);
    cloud.state().faults.insert(3, Fault::Instead(429));
    let before = cloud.state().now;
    cloud.client().list::<Network>(&Query::all()).await.unwrap();
    let waited = cloud.state().now.duration_since(before).unsigned_abs();
    assert_eq!(waited, Duration::from_secs(17));
}

#[tokio::test]
async fn a_change_that_somebody_else_was_faster_with_is_refused() {
    let cloud = Small::new();
    let client = cloud.client();
    let made: Network = client.create(&wanted("first")).await.unwrap();
    let change = |mtu| NetworkChange { mtu: Some(mtu), ..NetworkChange::default() };
    client.update::<Network>(made.id(), &change(1400), made.revision()).await.unwrap();
    let error = client.update::<Network>(made.id(), &change(1300), made.revision()).await;
    assert_eq!(error.unwrap_err().reaction(), Reaction::Reread);
    assert_eq!(client.get::<Network>(made.id()).await.unwrap().mtu, Some(1400));
}

#[tokio::test]
async fn what_is_gone_is_deleted_and_what_is_unknown_is_not() {
    let cloud = Small::new();
    let client = cloud.client();
    client.delete::<Network>("nobody").await.unwrap();
    assert_eq!(client.find::<Network>("nobody").await.unwrap(), None);
    // This Neutron has no routers at all: that is not "no such router".
    let error = client.delete::<landbridge_openstack::resources::Router>("x").await.unwrap_err();
    assert_eq!(error.reaction(), Reaction::Setup);
}
