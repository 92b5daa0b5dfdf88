//! End to end: a Deployment in the lab, with scheduling, namespaces, attachments and readiness.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client};
use landbridge_bench::plane::Plane;
use landbridge_bench::stats::rate;
use serde_json::json;

use crate::Arguments;
use crate::objects::{self, ANNOTATION, NAMESPACE};

const PATIENCE: Duration = Duration::from_mins(10);
const PAUSE: Duration = Duration::from_millis(50);
/// What the nodes of the lab's default shape have.
const MASTER: &str = "enp6s0";

/// The figures of the Deployment.
pub async fn run(arguments: &Arguments) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let plane = Plane::new(arguments.server.clone(), directory.path());
    let (mut server, config) = plane.up(&["--lab", "default", "--port", "0"]).await?;
    let client = Client::try_from(config)?;
    let done = measure(&client, arguments.deployment).await;
    let done = done.with_context(|| plane.last_words());
    plane.down().await?;
    server.wait().await?;
    done
}

async fn measure(client: &Client, count: usize) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let nodes = until("the nodes are ready", || async {
        let nodes = nodes.list(&ListParams::default()).await?.items;
        Ok((!nodes.is_empty() && nodes.iter().all(is_node_ready)).then_some(nodes.len()))
    });
    let nodes = nodes.await?;
    objects::prepare(client, MASTER).await?;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let deployment = serde_json::from_value(json!({
        "metadata": {"name": "many"},
        "spec": {
            "replicas": count, "selector": {"matchLabels": {"app": "many"}},
            "template": {
                "metadata": {
                    "labels": {"app": "many"}, "annotations": {ANNOTATION.0: ANNOTATION.1},
                },
                "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "main", "image": "none"}],
                },
            },
        },
    }))?;
    let began = Instant::now();
    deployments.create(&PostParams::default(), &deployment).await?;
    until("all pods are ready", || async {
        let status = deployments.get("many").await?.status.unwrap_or_default();
        let ready = usize::try_from(status.ready_replicas.unwrap_or_default())?;
        Ok((ready == count).then_some(()))
    })
    .await?;
    let ready = began.elapsed();
    let held: usize = objects::held(client).await?.values().sum();
    ensure!(held == 2 * count, "{held} addresses are held by {count} pods with two each");

    let began = Instant::now();
    deployments.delete("many", &DeleteParams::background()).await?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    until("all pods are gone", || async {
        Ok(pods.list_metadata(&ListParams::default()).await?.items.is_empty().then_some(()))
    })
    .await?;
    until("all addresses are free", || async {
        Ok((objects::held(client).await?.values().sum::<usize>() == 0).then_some(()))
    })
    .await?;
    let gone = began.elapsed();
    println!("lab: a Deployment of {count} pods with two attachments each on {nodes} nodes");
    let line = |what: &str, took: Duration| {
        println!("  {what:18} {:8.1} s  {:6.1} pods per s", took.as_secs_f64(), rate(count, took));
    };
    line("until all are Ready", ready);
    line("until all are gone", gone);
    Ok(())
}

fn is_node_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}

/// Asks again and again until there is an answer.
async fn until<T, F>(what: &str, ask: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ask().await? {
            return Ok(found);
        }
        ensure!(Instant::now() < deadline, "not within {} s: {what}", PATIENCE.as_secs());
        tokio::time::sleep(PAUSE).await;
    }
}
