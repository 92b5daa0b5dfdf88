//! One whole measurement of one server.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use crate::process::{Memory, Processes};
use crate::stage::Stage;
use crate::{delivery, load};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Numbers of clients, one after the other.
    pub clients: Vec<usize>,
    /// Numbers of watchers, one after the other.
    pub watchers: Vec<usize>,
    /// How long each figure is taken.
    pub length: Duration,
    /// How many objects there are to read, update and list.
    pub objects: usize,
}

/// All figures of one server.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// What `/version` says.
    pub version: String,
    /// Requests.
    pub load: Vec<load::Row>,
    /// Watches.
    pub delivery: Vec<delivery::Row>,
    /// Memory before the load.
    pub memory_idle: Option<Memory>,
    /// Memory after the load.
    pub memory_after: Option<Memory>,
}

/// Measures the server a kubeconfig names, and cleans up also when that fails.
pub async fn measure(
    kubeconfig: &Path,
    server: &Processes,
    plan: &Plan,
    run: &str,
) -> Result<Figures> {
    let stage = Stage::connect(kubeconfig, run, plan.objects).await?;
    let memory_idle = server.memory()?;
    let taken = match stage.set().await {
        Ok(()) => take(&stage, server, plan).await,
        Err(error) => Err(error),
    };
    let struck = stage.strike().await;
    let (load, delivery) = taken?;
    struck?;
    let memory_after = server.memory()?;
    Ok(Figures { version: stage.version, load, delivery, memory_idle, memory_after })
}

async fn take(
    stage: &Stage,
    server: &Processes,
    plan: &Plan,
) -> Result<(Vec<load::Row>, Vec<delivery::Row>)> {
    let mut rows = Vec::new();
    for operation in load::Operation::ALL {
        for clients in &plan.clients {
            eprintln!("{} with {clients} clients", operation.name());
            rows.push(load::run(stage, server, operation, *clients, plan.length).await?);
            if operation == load::Operation::Create {
                stage.sweep().await?;
            }
        }
    }
    let mut watches = Vec::new();
    for watchers in &plan.watchers {
        eprintln!("delivery to {watchers} watchers");
        watches.push(delivery::run(stage, *watchers, plan.length).await?);
    }
    Ok((rows, watches))
}
