//! Lists in pages.

use landbridge_openstack::resources::Network;
use landbridge_openstack::{Client, Query, Resource, Session};
use serde_json::json;

use super::small::{FAULTS, Small};

fn filled(count: usize) -> Small {
    let cloud = Small::new();
    for number in 0..count {
        let id = format!("n{number:04}");
        let network = json!({"id": id, "name": format!("net {}", number % 2), "tags": []});
        cloud.state().networks.insert(id, network);
    }
    cloud
}

#[tokio::test]
async fn all_pages_are_read() {
    let cloud = filled(25);
    let client = cloud.client();
    for limit in ["1", "7", "25", "26"] {
        let query = Query::all().with("limit", limit);
        let found: Vec<Network> = client.list(&query).await.unwrap();
        let ids: Vec<&str> = found.iter().map(Resource::id).collect();
        let expected: Vec<String> = (0..25).map(|number| format!("n{number:04}")).collect();
        assert_eq!(ids, expected, "{limit} at a time");
    }
}

#[tokio::test]
async fn every_page_may_fail_once() {
    for place in 3..8 {
        for fault in FAULTS {
            let cloud = filled(9);
            cloud.state().faults.insert(place, fault);
            let query = Query::all().with("limit", "2");
            let found: Vec<Network> = cloud.client().list(&query).await.unwrap();
            assert_eq!(found.len(), 9, "{fault:?} at {place}");
        }
    }
}

#[tokio::test]
async fn a_list_without_an_end_is_given_up() {
    let cloud = filled(1200);
    let query = Query::all().with("limit", "1");
    let error = cloud.client().list::<Network>(&query).await.unwrap_err();
    assert_eq!(error.to_string(), "GET /networks: there is no end after 1000 pages");
}

#[tokio::test]
async fn filters_are_sent_and_one_is_one() {
    let cloud = filled(3);
    let client = cloud.client();
    let by = |name: &str| Query::all().with("name", name);
    let found = client.only::<Network>(&by("net 1")).await.unwrap();
    assert_eq!(found.unwrap().id(), "n0001");
    assert_eq!(client.only::<Network>(&by("net 9")).await.unwrap(), None);
    let error = client.only::<Network>(&by("net 0")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 networks fit name=net%200, and nobody can say which is meant: n0000, n0002"
    );
}

#[tokio::test]
async fn endpoints_of_the_settings_win() {
    let cloud = filled(1);
    cloud.state().neutron = "http://inside:1".to_owned();
    let mut settings = Small::settings();
    settings
        .overrides
        .insert(landbridge_openstack::Service::Network, "http://outside:2".to_owned());
    let client = Client::new(Session::new(settings, cloud.clone(), cloud.clone()));
    let error = client.list::<Network>(&Query::all()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "http://outside:2 is not a Neutron API v2.0: it answers 404 when asked for its versions"
    );
}
