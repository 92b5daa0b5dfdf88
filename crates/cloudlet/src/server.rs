//! The cloud at work: readers on a snapshot, one writer with group commit, followers.

use std::sync::Arc;

use arc_swap::ArcSwap;
use http::StatusCode;
use jiff::Timestamp;
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::chance::System;
use crate::cloud::{self, Cloud, Outcome};
use crate::config::Config;
use crate::identity::{self, Account};
use crate::journal::{Journal, JournalError, restore};
use crate::network::Fault;
use crate::request::{Request, Response, Service};
use crate::state::{Change, State};

/// Calls that wait for the writer.
const QUEUE: usize = 256;
/// Calls that become one commit.
const BATCH: usize = 64;
/// Batches of changes that a slow follower may be behind before it has to look at the state again.
const BEHIND: usize = 1024;

/// Why a cloud cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// What is kept of it cannot be read, or what is new in it cannot be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The accounts cannot be made.
    #[error("the first accounts cannot be made: {0}")]
    Accounts(String),
}

/// A cloud that answers calls; clones share it. The writer ends when the last clone is gone.
#[derive(Clone)]
pub struct Server {
    config: Arc<Config>,
    published: Arc<ArcSwap<State>>,
    queue: mpsc::Sender<Job>,
    changes: broadcast::Sender<Arc<Vec<Change>>>,
}

struct Job {
    request: Request,
    reply: oneshot::Sender<Response>,
}

impl Server {
    /// Opens the cloud that the journal keeps, or a new one with these accounts.
    pub async fn open(
        config: Config,
        journal: Box<dyn Journal>,
        accounts: &[Account],
    ) -> Result<Self, OpenError> {
        let mut state = restore(journal.rows()?)?;
        if state.is_empty() {
            let made = identity::bootstrap(&config, Timestamp::now(), &mut System, accounts);
            let (new, changes) = made.map_err(|refusal| OpenError::Accounts(refusal.message))?;
            journal.keep(changes).await?;
            state = new;
        }
        let config = Arc::new(config);
        let published = Arc::new(ArcSwap::from_pointee(state.clone()));
        let (queue, jobs) = mpsc::channel(QUEUE);
        let (changes, _) = broadcast::channel(BEHIND);
        let writer = Writer {
            cloud: Cloud::new(Arc::clone(&config), state),
            journal,
            jobs,
            published: Arc::clone(&published),
            changes: changes.clone(),
        };
        tokio::spawn(writer.run());
        Ok(Self { config, published, queue, changes })
    }

    /// The state now.
    pub fn state(&self) -> State {
        State::clone(&self.published.load())
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Every change from now on, in order. Whoever follows takes [`Server::state`] after this, and again
    /// when it is told that it lags: changes it has seen already may come once more, none is missed.
    pub fn follow(&self) -> broadcast::Receiver<Arc<Vec<Change>>> {
        self.changes.subscribe()
    }

    /// Answers a call.
    pub async fn call(&self, request: Request) -> Response {
        if cloud::only_reads(&request) {
            let (answer, request) = self.read(request).await;
            return match answer {
                Some(response) => response,
                None => self.write(request).await,
            };
        }
        self.write(request).await
    }

    async fn read(&self, request: Request) -> (Option<Response>, Request) {
        let state = self.published.load_full();
        if request.method != http::Method::POST {
            let answer = cloud::read(&self.config, &state, Timestamp::now(), &mut System, &request);
            return (answer, request);
        }
        // A password is hashed: that is long for a thread that others wait for.
        let config = Arc::clone(&self.config);
        let copy = request.clone();
        let work = move || cloud::read(&config, &state, Timestamp::now(), &mut System, &copy);
        match tokio::task::spawn_blocking(work).await {
            Ok(answer) => (answer, request),
            Err(_) => (Some(unavailable(request.service)), request),
        }
    }

    async fn write(&self, request: Request) -> Response {
        let service = request.service;
        let (reply, answered) = oneshot::channel();
        if self.queue.send(Job { request, reply }).await.is_err() {
            return unavailable(service);
        }
        answered.await.unwrap_or_else(|_| unavailable(service))
    }
}

/// What is said when a call could not be kept: it did not happen, and may be made again.
fn unavailable(service: Service) -> Response {
    let message = "The cloud cannot keep changes at the moment; nothing was changed.";
    if service == Service::Network {
        return Fault::new(503, "ServiceUnavailable", message).response();
    }
    let error = serde_json::json!({
        "code": 503, "title": "Service Unavailable", "message": message,
    });
    Response::json(StatusCode::SERVICE_UNAVAILABLE, &serde_json::json!({ "error": error }))
}

struct Writer {
    cloud: Cloud,
    journal: Box<dyn Journal>,
    jobs: mpsc::Receiver<Job>,
    published: Arc<ArcSwap<State>>,
    changes: broadcast::Sender<Arc<Vec<Change>>>,
}

impl Writer {
    async fn run(mut self) {
        while let Some(first) = self.jobs.recv().await {
            let mut batch = vec![first];
            while batch.len() < BATCH
                && let Ok(next) = self.jobs.try_recv()
            {
                batch.push(next);
            }
            self.commit(batch).await;
        }
    }

    /// Does the calls, keeps what they changed, and only then tells anybody.
    async fn commit(&mut self, batch: Vec<Job>) {
        let mut answers = Vec::with_capacity(batch.len());
        let mut changes = Vec::new();
        for job in batch {
            let service = job.request.service;
            let outcome = self.cloud.handle(Timestamp::now(), &mut System, &job.request);
            let Outcome { response, changes: made } = outcome;
            changes.extend(made);
            answers.push((job.reply, service, response));
        }
        let kept = if changes.is_empty() {
            Ok(Vec::new())
        } else {
            self.journal.keep(changes.clone()).await
        };
        match kept {
            Ok(kept) => {
                self.cloud.share(&changes, &kept);
                self.published.store(Arc::new(self.cloud.state().clone()));
                if !changes.is_empty() {
                    let _ = self.changes.send(Arc::new(changes)); // nobody has to follow
                }
                for (reply, _, response) in answers {
                    let _ = reply.send(response); // who asked may have gone
                }
            }
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "changes of the cloud were not kept"
                );
                self.cloud.go_back(State::clone(&self.published.load()));
                for (reply, service, _) in answers {
                    let _ = reply.send(unavailable(service));
                }
            }
        }
    }
}
