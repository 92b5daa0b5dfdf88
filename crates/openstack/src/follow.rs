//! A cloud whose settings may change while it is used: a Secret is corrected, a file is written anew.
//!
//! Whoever holds the [`Client`] notices nothing but that it works again.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::Mutex;

use crate::clock::{Clock, Machine};
use crate::config::{Environment, Settings, load};
use crate::transport::Net;
use crate::{Call, Client, Cloud, Error, Reply, Session};

/// Settings are not looked at more often.
const FRESH: Duration = Duration::from_secs(5);

/// Where settings come from.
pub trait Source: Send + Sync {
    /// The settings as they are now, or why there are none. [`Error::Nowhere`] when nobody has said
    /// where the cloud is.
    fn load(&self) -> BoxFuture<'_, Result<Settings, Error>>;
}

/// The files and variables of this process.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// What surrounds the process.
    pub environment: Environment,
    /// Which cloud; as `OS_CLOUD` says otherwise.
    pub cloud: Option<String>,
}

impl Source for Surroundings {
    fn load(&self) -> BoxFuture<'_, Result<Settings, Error>> {
        let Self { environment, cloud } = self.clone();
        Box::pin(async move {
            let read = move || load(&environment, cloud.as_deref());
            match tokio::task::spawn_blocking(read).await {
                Ok(read) => Ok(read?),
                Err(error) => Err(Error::Settings(error.to_string())),
            }
        })
    }
}

/// How a session is begun.
type Begin = Box<dyn Fn(Settings) -> Result<Arc<dyn Cloud>, Error> + Send + Sync>;

/// See the [module](self).
pub struct Following {
    source: Box<dyn Source>,
    begin: Begin,
    clock: Box<dyn Clock>,
    current: Mutex<Option<Current>>,
}

#[derive(Clone)]
struct Current {
    settings: Settings,
    session: Arc<dyn Cloud>,
    looked: Timestamp,
}

impl Client {
    /// A client of the cloud that the source describes, whatever it describes from one moment to the
    /// next.
    pub fn following(source: impl Source + 'static) -> Self {
        let begin = |settings: Settings| -> Result<Arc<dyn Cloud>, Error> {
            let net = Net::new(&settings.trust, settings.patience)
                .map_err(|why| Error::Settings(format!("cloud {}: {why}", settings.cloud)))?;
            Ok(Arc::new(Session::new(settings, net, Machine)))
        };
        Self::new(Following::new(source, begin, Machine))
    }
}

impl Following {
    /// Follows a source; `begin` makes a session of settings.
    pub fn new(
        source: impl Source + 'static,
        begin: impl Fn(Settings) -> Result<Arc<dyn Cloud>, Error> + Send + Sync + 'static,
        clock: impl Clock + 'static,
    ) -> Self {
        Self {
            source: Box::new(source),
            begin: Box::new(begin),
            clock: Box::new(clock),
            current: Mutex::new(None),
        }
    }

    /// The session for the settings as they are now.
    async fn session(&self) -> Result<Arc<dyn Cloud>, Error> {
        let mut current = self.current.lock().await;
        let now = self.clock.now();
        if let Some(known) = current.as_ref() {
            let age = now.duration_since(known.looked);
            if !age.is_negative() && age.unsigned_abs() < FRESH {
                return Ok(known.session.clone());
            }
        }
        // What cannot be read is not replaced by what was right once: it may have been withdrawn.
        let settings = match self.source.load().await {
            Ok(settings) => settings,
            Err(error) => {
                *current = None;
                return Err(error);
            }
        };
        if let Some(known) = current.as_mut().filter(|known| known.settings == settings) {
            known.looked = now;
            return Ok(known.session.clone());
        }
        let session = (self.begin)(settings.clone())?;
        *current = Some(Current { settings, session: session.clone(), looked: now });
        Ok(session)
    }
}

impl Cloud for Following {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(async move { self.session().await?.call(call).await })
    }
}
