//! So many clients do one kind of request for so long, each as fast as it is answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::api::{DynamicObject, ListParams, PostParams, Request};
use kube::{Api, Client};
use serde::Serialize;
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::process::Processes;
use crate::stage::{self, Stage};
use crate::stats::{self, Summary};

/// One kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// POST of a new object.
    Create,
    /// GET of one object out of all.
    Get,
    /// PUT of an object only this client changes, with its resourceVersion.
    Update,
    /// GET of all objects of the namespace in one answer.
    List,
}

impl Operation {
    /// In the order they are measured.
    pub const ALL: [Self; 4] = [Self::Create, Self::Get, Self::Update, Self::List];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Get => "get",
            Self::Update => "update",
            Self::List => "list",
        }
    }
}

/// What one operation with one number of clients came to.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was asked.
    pub operation: Operation,
    /// How many asked at once.
    pub clients: usize,
    /// Answers per second.
    pub per_second: f64,
    /// How long they took.
    #[serde(flatten)]
    pub latency: Summary,
    /// Requests that failed, and how the first of them did.
    pub errors: usize,
    /// The first failure's text.
    pub first_error: Option<String>,
    /// CPU time of the server's processes per answer, in milliseconds.
    pub cpu_ms: Option<f64>,
}

/// Runs one operation with `clients` clients for `length`.
pub async fn run(
    stage: &Stage,
    server: &Processes,
    operation: Operation,
    clients: usize,
    length: Duration,
) -> Result<Row> {
    let start = Arc::new(Barrier::new(clients + 1));
    let mut tasks = JoinSet::new();
    for id in 0..clients {
        let mut worker = Worker::new(stage, id, clients).await?;
        let start = start.clone();
        tasks.spawn(async move {
            start.wait().await;
            worker.work(operation, length).await
        });
    }
    let cpu_before = server.cpu()?;
    let began = Instant::now();
    start.wait().await;

    let mut latencies = Vec::new();
    let (mut errors, mut first_error) = (0, None);
    while let Some(done) = tasks.join_next().await {
        let done = done.context("a client stopped")?;
        latencies.extend(done.latencies);
        errors += done.errors;
        first_error = first_error.or(done.first_error);
    }
    let elapsed = began.elapsed();
    let cpu = cpu_before.zip(server.cpu()?).map(|(before, after)| after.saturating_sub(before));
    let count = latencies.len();
    Ok(Row {
        operation,
        clients,
        per_second: stats::rate(count, elapsed),
        cpu_ms: cpu.filter(|_| count > 0).map(|cpu| cpu.as_secs_f64() * 1e3 / count as f64),
        latency: Summary::of(latencies),
        errors,
        first_error,
    })
}

#[derive(Default)]
struct Done {
    latencies: Vec<Duration>,
    errors: usize,
    first_error: Option<String>,
}

/// One client with a connection of its own.
struct Worker {
    client: Client,
    base: Api<DynamicObject>,
    fresh: Api<DynamicObject>,
    id: usize,
    /// How many requests this one made.
    turn: usize,
    objects: usize,
    /// The objects only this client updates, as last seen.
    mine: Vec<DynamicObject>,
}

impl Worker {
    async fn new(stage: &Stage, id: usize, clients: usize) -> Result<Self> {
        let client = stage.another_client()?;
        let base = Stage::api(client.clone(), &stage.base);
        let mut mine = Vec::new();
        // A few of each client's share are enough to update in turn; the first get also connects.
        for number in (id..stage.objects).step_by(clients).take(4) {
            mine.push(base.get(&stage::name_of(number)).await?);
        }
        anyhow::ensure!(!mine.is_empty(), "more clients than objects: raise --objects");
        let fresh = Stage::api(client.clone(), &stage.fresh);
        Ok(Self { client, base, fresh, id, turn: 0, objects: stage.objects, mine })
    }

    async fn work(&mut self, operation: Operation, length: Duration) -> Done {
        let mut done = Done::default();
        let end = Instant::now() + length;
        while Instant::now() < end {
            let asked = Instant::now();
            match self.once(operation).await {
                Ok(()) => done.latencies.push(asked.elapsed()),
                Err(error) => {
                    done.errors += 1;
                    done.first_error.get_or_insert_with(|| format!("{error:#}"));
                }
            }
            self.turn += 1;
        }
        done
    }

    async fn once(&mut self, operation: Operation) -> Result<()> {
        match operation {
            Operation::Create => {
                let name = format!("new-{}-{}", self.id, self.turn);
                let object = stage::object(&name, 0)?;
                self.fresh.create(&PostParams::default(), &object).await?;
            }
            Operation::Get => {
                // A walk with a stride that is coprime to most sizes reaches every object.
                let number = (self.id * 31 + self.turn * 7919) % self.objects;
                self.base.get(&stage::name_of(number)).await?;
            }
            Operation::Update => {
                let slot = self.turn % self.mine.len();
                let mut object = self.mine[slot].clone();
                object.data["spec"]["sequence"] = json!(self.turn + 1);
                let name = object.metadata.name.clone().unwrap_or_default();
                self.mine[slot] = self.base.replace(&name, &PostParams::default(), &object).await?;
            }
            Operation::List => {
                // The text only: parsing thousands of objects here would measure this program.
                let request = Request::new(self.base.resource_url()).list(&ListParams::default())?;
                self.client.request_text(request).await?;
            }
        }
        Ok(())
    }
}
