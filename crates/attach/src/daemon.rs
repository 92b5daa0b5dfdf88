//! Everything that answers calls, put together: for the socket, for the agent, and for the thin
//! binary that works alone.

use std::sync::Arc;
use std::time::Duration;

use landbridge_cni::config::Input;
use landbridge_cni::error::{CniError, Code, Coded};
use landbridge_cni::result::CniResult;

use crate::attacher::{Attacher, Request};
use crate::ipams::Ipams;
use crate::message::Message;
use crate::networks::{Networks, Sandboxes};
use crate::objects::Objects;
use crate::releases::{Release, Releases};
use crate::settings::Settings;

/// The shortest and the longest pause between two tries of what is queued.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// Answers calls of `multus`, of `whereabouts` and `landbridge`, and of every plugin of this program.
pub struct Daemon {
    attacher: Attacher,
    ipams: Arc<Ipams>,
}

impl Daemon {
    /// `networks` gets the address plugins of this process to run networks with.
    pub fn new(
        objects: Arc<dyn Objects>,
        releases: Releases,
        sandboxes: Arc<dyn Sandboxes>,
        networks: impl FnOnce(Arc<Ipams>) -> Arc<dyn Networks>,
    ) -> Self {
        let ipams = Arc::new(Ipams::new(&objects, releases));
        let networks = networks(Arc::clone(&ipams));
        Self { attacher: Attacher::new(objects, networks, sandboxes), ipams }
    }

    /// What the plugin `multus` does.
    pub fn attacher(&self) -> &Attacher {
        &self.attacher
    }

    /// Runs a call and says what goes to standard output.
    pub fn handle(&self, message: &Message) -> Result<String, CniError> {
        let request = message.request()?;
        match message.plugin.as_str() {
            "multus" | "multus-shim" => {
                let result = self.attacher.run(&request)?;
                let version = Settings::parse(&request.config)?.version;
                print(result, version)
            }
            kind if Ipams::has(kind) => {
                let input = Input::parse(&request.config).map_err(|error| error.report(""))?;
                let result = self.ipams.run(kind, &input, &request.environment)?;
                print(result, input.version)
            }
            kind if landbridge_plugins::has(kind) => {
                let call = landbridge_plugins::Call::new(request.environment, &request.config)?;
                let version = call.input.version;
                print(landbridge_plugins::run(kind, &call, &*self.ipams)?, version)
            }
            kind => {
                let text = format!("the daemon does not serve plugin {kind:?}");
                Err(CniError::new(Code::INVALID_CONFIG, text))
            }
        }
    }

    /// Tries once to make everything that is queued, and says how much is left.
    pub fn retry(&self) -> std::io::Result<usize> {
        self.ipams.releases().retry(|release| match release {
            Release::Call { plugin, env, config } => {
                let message =
                    Message { plugin: plugin.clone(), env: env.clone(), config: config.clone() };
                self.replay(&message)
            }
            other => self.ipams.release(other),
        })
    }

    /// A DEL that came while nobody was here. One that can never be served (its configuration is
    /// refused) is told and dropped: it would stay for ever.
    fn replay(&self, message: &Message) -> Result<(), CniError> {
        match self.handle(message) {
            Err(error) if matches!(error.code, Code::INVALID_CONFIG | Code::DECODING_FAILURE) => {
                tracing::error!(%error, "a queued DEL cannot be served and is dropped");
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }

    /// Tries again and again until told to stop: at once, then more and more rarely while nothing
    /// can be done.
    pub async fn keep_retrying(self: Arc<Self>, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut pause = RETRY.0;
        loop {
            let daemon = Arc::clone(&self);
            let left = tokio::task::spawn_blocking(move || daemon.retry()).await;
            pause = match left {
                Ok(Ok(0)) => RETRY.0 * 5,
                Ok(Ok(_)) => (pause * 2).min(RETRY.1),
                Ok(Err(error)) => {
                    tracing::error!(%error, "the queue of releases cannot be read");
                    RETRY.1
                }
                Err(_) => RETRY.1,
            };
            tokio::select! {
                () = &mut stop => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Runs a call of `multus` that is already read.
    pub fn run(&self, request: &Request) -> Result<Option<CniResult>, CniError> {
        self.attacher.run(request)
    }
}

fn print(result: Option<CniResult>, version: landbridge_cni::Version) -> Result<String, CniError> {
    match result {
        None => Ok(String::new()),
        Some(result) => result.print(version).map_err(|error| error.report(version.as_str())),
    }
}
