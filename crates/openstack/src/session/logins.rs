//! The token that all callers share. Whoever needs a new one gets it for everybody; nobody asks Keystone
//! at the same time, and nobody asks again right after it has said no.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Mutex;

use super::Wire;
use super::login::{Login, login};
use crate::clock::Clock;
use crate::config::Settings;
use crate::{Error, Reaction};

/// After a refusal Keystone is left alone so long: some lock accounts after a few wrong passwords.
const QUIET: Duration = Duration::from_secs(5);
/// A catalogue is not doubted sooner after it came.
const BELIEVED: Duration = Duration::from_secs(30);

/// The token that all callers share.
#[derive(Default)]
pub(super) struct Logins {
    shared: Mutex<Shared>,
    /// How many times Keystone was asked.
    asked: AtomicU64,
}

#[derive(Default)]
struct Shared {
    current: Option<Arc<Login>>,
    failed: Option<(Error, Timestamp)>,
}

impl Logins {
    /// A token that is good for now.
    pub async fn current(
        &self,
        settings: &Settings,
        wire: &Wire,
        clock: &dyn Clock,
    ) -> Result<Arc<Login>, Error> {
        let before = self.asked.load(Ordering::Acquire);
        let mut shared = self.shared.lock().await;
        let now = clock.now();
        if let Some(login) = shared.current.as_ref().filter(|login| now < login.renew_at) {
            return Ok(login.clone());
        }
        if let Some((error, at)) = &shared.failed {
            let asked_meanwhile = self.asked.load(Ordering::Acquire) != before;
            let since = now.duration_since(*at);
            let is_quiet = error.reaction() == Reaction::Credentials
                && !since.is_negative()
                && since.unsigned_abs() < QUIET;
            if asked_meanwhile || is_quiet {
                return Err(error.clone());
            }
        }
        let done = login(settings, wire, now).await;
        self.asked.fetch_add(1, Ordering::AcqRel);
        match done {
            Ok(login) => {
                let login = Arc::new(login);
                shared.failed = None;
                shared.current = Some(login.clone());
                Ok(login)
            }
            Err(why) => {
                let error = Error::Login { cloud: settings.cloud.clone(), why: Arc::new(why) };
                shared.failed = Some((error.clone(), clock.now()));
                // What is due for renewal may still be good for a while.
                match (&shared.current, error.reaction()) {
                    (Some(login), Reaction::Retry) => Ok(login.clone()),
                    _ => Err(error),
                }
            }
        }
    }

    /// This token is no good.
    pub async fn forget(&self, login: &Arc<Login>) {
        let mut shared = self.shared.lock().await;
        if shared.current.as_ref().is_some_and(|current| Arc::ptr_eq(current, login)) {
            shared.current = None;
        }
    }

    /// What this login says about where services are may be out of date.
    pub async fn doubt(&self, login: &Arc<Login>, now: Timestamp) {
        let age = now.duration_since(login.since);
        if age.is_negative() || age.unsigned_abs() >= BELIEVED {
            self.forget(login).await;
        }
    }
}
