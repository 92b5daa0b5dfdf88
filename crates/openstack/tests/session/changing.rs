//! Settings that change while a cloud is used.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use landbridge_openstack::config::Authentication;
use landbridge_openstack::resources::Network;
use landbridge_openstack::{
    Client, Cloud, Error, Following, Query, Reaction, Session, Settings, Source,
};

use super::small::Small;

#[derive(Clone)]
struct Secret(Arc<Mutex<(Option<Settings>, usize)>>);

impl Source for Secret {
    fn load(&self) -> BoxFuture<'_, Result<Settings, Error>> {
        let mut held = self.0.lock().unwrap();
        held.1 += 1;
        let found = held.0.clone().ok_or_else(|| Error::Nowhere("there is no Secret".to_owned()));
        Box::pin(async move { found })
    }
}

fn with_password(password: &str) -> Settings {
    let mut settings = Small::settings();
    if let Authentication::Password { password: held, .. } = &mut settings.authentication {
        password.clone_into(held);
    }
    settings
}

#[tokio::test]
async fn what_is_corrected_works_without_a_restart() {
    let cloud = Small::new();
    let secret = Secret(Arc::new(Mutex::new((None, 0))));
    let over = cloud.clone();
    let begin = move |settings: Settings| -> Result<Arc<dyn Cloud>, Error> {
        Ok(Arc::new(Session::new(settings, over.clone(), over.clone())))
    };
    let client = Client::new(Following::new(secret.clone(), begin, cloud.clone()));
    let ask = || async { client.list::<Network>(&Query::all()).await.map(drop) };

    let error = ask().await.unwrap_err();
    assert!(matches!(error, Error::Nowhere(_)) && error.reaction() == Reaction::Setup);
    // Given, but wrong.
    secret.0.lock().unwrap().0 = Some(with_password("wrong"));
    assert_eq!(ask().await.unwrap_err().reaction(), Reaction::Credentials);
    secret.0.lock().unwrap().0 = Some(Small::settings());
    cloud.pass(Duration::from_secs(6));
    ask().await.unwrap();
    // As long as nothing changes the token is kept, and the source is not asked all the time.
    let (logins, loads) = (cloud.state().logins, secret.0.lock().unwrap().1);
    for _ in 0..10 {
        cloud.pass(Duration::from_secs(1));
        ask().await.unwrap();
    }
    assert_eq!(cloud.state().logins, logins);
    assert_eq!(secret.0.lock().unwrap().1, loads + 2);
    // What is withdrawn is not used on.
    secret.0.lock().unwrap().0 = None;
    cloud.pass(Duration::from_secs(6));
    assert!(matches!(ask().await.unwrap_err(), Error::Nowhere(_)));
}
