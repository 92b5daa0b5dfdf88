//! Tokens: shared, renewed in time, and once when they are refused.

use std::time::Duration;

use futures::future::join_all;
use landbridge_openstack::resources::Network;
use landbridge_openstack::{Client, Error, Query, Reaction};

use super::small::{Fault, PASSWORD, Small};

async fn ask(client: &Client) -> Result<(), Error> {
    client.list::<Network>(&Query::all()).await.map(drop)
}

async fn many(client: &Client, count: usize) -> Vec<Result<(), Error>> {
    join_all((0..count).map(|_| ask(client))).await
}

#[tokio::test]
async fn many_callers_log_in_once() {
    let cloud = Small::new();
    let client = cloud.client();
    assert!(many(&client, 50).await.iter().all(Result::is_ok));
    assert_eq!(cloud.state().logins, 1);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_and_once_for_all() {
    let cloud = Small::new();
    let client = cloud.client();
    ask(&client).await.unwrap();
    cloud.pass(Duration::from_mins(57));
    ask(&client).await.unwrap();
    assert_eq!(cloud.state().logins, 1);
    cloud.pass(Duration::from_mins(2));
    assert!(many(&client, 50).await.iter().all(Result::is_ok));
    assert_eq!(cloud.state().logins, 2);
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed_once_for_all() {
    let cloud = Small::new();
    let client = cloud.client();
    ask(&client).await.unwrap();
    cloud.state().tokens.clear();
    assert!(many(&client, 50).await.iter().all(Result::is_ok));
    assert_eq!(cloud.state().logins, 2);
}

#[tokio::test]
async fn a_token_of_the_second_of_a_revocation_is_not_renewed_in_that_second() {
    let cloud = Small::new();
    let client = cloud.client();
    // The first token is refused at once, as after a change of the password.
    cloud.state().faults.insert(3, Fault::Instead(401));
    let before = cloud.state().now;
    ask(&client).await.unwrap();
    assert_eq!(cloud.state().logins, 2);
    let waited = cloud.state().now.duration_since(before).unsigned_abs();
    assert!(waited > Duration::from_secs(1), "{waited:?}");
    // One that has served for a while is renewed without waiting.
    cloud.pass(Duration::from_mins(1));
    cloud.state().tokens.clear();
    let before = cloud.state().now;
    ask(&client).await.unwrap();
    assert_eq!(cloud.state().now, before);
}

#[tokio::test]
async fn a_service_that_refuses_every_token_is_told_apart() {
    let cloud = Small::new();
    let client = cloud.client();
    let faults: Vec<_> = (3..40).map(|place| (place, Fault::Instead(401))).collect();
    cloud.state().faults.extend(faults);
    // The login at the fifth request is let through.
    cloud.state().faults.remove(&4);
    cloud.state().faults.remove(&5);
    cloud.state().faults.remove(&6);
    let error = ask(&client).await.unwrap_err();
    assert_eq!(error.status(), Some(401));
    assert_eq!(error.reaction(), Reaction::Credentials);
    assert_eq!(cloud.state().logins, 2, "{:?}", cloud.state().seen);
}

#[tokio::test]
async fn a_wrong_password_is_told_once_and_not_tried_all_the_time() {
    let cloud = Small::new();
    cloud.state().password = "other".to_owned();
    let client = cloud.client();
    for done in many(&client, 20).await {
        let error = done.unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot log in to cloud simple: POST http://keystone:5000/v3/auth/tokens: 401 \
             Unauthorized: The request you have made requires authentication"
        );
        assert_eq!(error.reaction(), Reaction::Credentials);
        assert!(!format!("{error:?}").contains(PASSWORD));
    }
    assert_eq!(cloud.state().logins, 1);
    cloud.pass(Duration::from_secs(4));
    assert!(ask(&client).await.is_err());
    assert_eq!(cloud.state().logins, 1, "some clouds lock accounts");
    // Somebody corrects it in Keystone: nothing has to be restarted.
    cloud.state().password = PASSWORD.to_owned();
    cloud.pass(Duration::from_secs(2));
    ask(&client).await.unwrap();
}

#[tokio::test]
async fn keystone_away_is_no_wrong_password() {
    let cloud = Small::new();
    let faults: Vec<_> = (0..200).map(|place| (place, Fault::Unreachable)).collect();
    cloud.state().faults.extend(faults);
    let client = cloud.client();
    let error = ask(&client).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot log in to cloud simple: GET http://keystone:5000/: cannot be reached: connection refused"
    );
    assert_eq!(error.reaction(), Reaction::Retry);
    cloud.state().faults.clear();
    ask(&client).await.unwrap();
}

#[tokio::test]
async fn a_good_token_is_used_on_while_keystone_is_away() {
    let cloud = Small::new();
    let client = cloud.client();
    ask(&client).await.unwrap();
    cloud.pass(Duration::from_mins(59));
    let next = cloud.state().seen.len();
    cloud.state().faults.insert(next, Fault::Unreachable);
    ask(&client).await.unwrap();
    assert_eq!(cloud.state().logins, 1);
}

#[tokio::test]
async fn a_service_that_moved_is_found_again() {
    let cloud = Small::new();
    let client = cloud.client();
    ask(&client).await.unwrap();
    cloud.pass(Duration::from_mins(1));
    cloud.state().neutron = "http://elsewhere:9696".to_owned();
    // The old place is empty: a 404 of nobody is no "gone".
    let next = cloud.state().seen.len();
    cloud.state().faults.insert(next, Fault::Unreachable);
    ask(&client).await.unwrap();
    assert_eq!(cloud.state().logins, 2);
}

#[tokio::test]
async fn a_service_that_comes_later_is_found() {
    let cloud = Small::new();
    let client = cloud.client();
    let url = std::mem::take(&mut cloud.state().neutron);
    let told = ask(&client).await.unwrap_err().to_string();
    assert!(told.contains("has no public endpoint of network"), "{told}");
    cloud.state().neutron = url;
    ask(&client).await.unwrap_err();
    assert_eq!(cloud.state().logins, 1, "a catalogue is believed for a while");
    cloud.pass(Duration::from_mins(1));
    ask(&client).await.unwrap_err();
    ask(&client).await.unwrap();
    assert_eq!(cloud.state().logins, 2);
}

#[tokio::test]
async fn tokens_are_secrets() {
    let cloud = Small::new();
    ask(&cloud.client()).await.unwrap();
    let headers = cloud.state().headers.clone();
    assert!(headers["x-auth-token"].is_sensitive());
    assert_eq!(headers["x-auth-token"], "token-1");
    let settings = format!("{:?}", Small::settings());
    assert!(settings.contains("scott") && !settings.contains(PASSWORD), "{settings}");
}
