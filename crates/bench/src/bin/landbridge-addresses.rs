//! `landbridge-addresses`: how fast IPSets get their addresses, at what cost, and how that grows.
//!
//! ```text
//! cold     IPSets are there before the controllers: from their start until all are ready
//! idle     one IPSet at a time: from its create until it is ready
//! growth   CPU time per IPSet, with few claims there and with many
//! ```

// Figures for people: a rate or a quantile needs no 53rd bit.
#![allow(clippy::cast_precision_loss)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use futures::{StreamExt, TryStreamExt};
use kube::Client;
use kube::api::PostParams;
use kube::runtime::watcher;
use landbridge_bench::plane::{Plane, kill};
use landbridge_bench::process::Processes;
use landbridge_bench::sets;
use landbridge_bench::stats::{Summary, rate};
use tokio::process::Child;

const PATIENCE: Duration = Duration::from_mins(10);
/// Clients that create.
const HANDS: usize = 64;

/// Measures the address controller of a landbridge binary on its own embedded API.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The landbridge binary.
    #[arg(long, value_name = "FILE")]
    server: PathBuf,
    /// IPSets of the cold start, on five networks each.
    #[arg(long, default_value_t = 10_000)]
    sets: usize,
    /// IPSets created one at a time.
    #[arg(long, default_value_t = 300)]
    idle: usize,
    /// Claims with which the cost per IPSet is taken.
    #[arg(long, value_delimiter = ',', default_value = "1000,100000")]
    claims: Vec<usize>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    cold(&arguments).await?;
    grow(&arguments).await
}

async fn cold(arguments: &Arguments) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let plane = Plane::new(arguments.server.clone(), directory.path());
    let (mut api, config) = plane.up(&["--no-controllers"]).await?;
    let client = Client::try_from(config)?;
    sets::prepare(&client).await?;
    sets::create(&client, "cold", 0..arguments.sets, HANDS).await?;
    let (_, _, before) = sets::count(&client).await?;
    kill(&mut api).await?;

    let (mut api, config) = plane.up(&[]).await?;
    let began = Instant::now();
    let client = Client::try_from(config)?;
    let revision = watch_ready(&client, arguments.sets).await?;
    let took = began.elapsed();
    sets::all_ready(&client, Some(arguments.sets), PATIENCE).await?;
    // Revisions count writes. A few belong to the start of the server itself.
    let writes = revision.saturating_sub(before) as f64 / arguments.sets as f64;
    let n = arguments.sets;
    println!("cold start: {n} IPSets on {} networks", sets::NETWORKS);
    println!("  ready after      {:8.1} s", took.as_secs_f64());
    println!("  IPSets per s     {:8.0}", rate(n, took));
    println!("  writes per IPSet {writes:8.2}  (and one by the client that created it)");
    let memory = Processes(api.id().into_iter().collect()).memory()?;
    println!("  memory           {:8} MiB", memory.unwrap_or_default().resident_kib / 1024);
    let wrong = sets::contradictions(&client).await?;
    anyhow::ensure!(wrong.is_empty(), "{}", wrong[..wrong.len().min(20)].join("\n"));

    let latencies = idle(&client, arguments.idle).await?;
    println!("idle: create to Ready, one at a time, beside {n} IPSets");
    println!("  p50              {:8.1} ms", latencies.p50_ms);
    println!("  p99              {:8.1} ms", latencies.p99_ms);
    kill(&mut api).await
}

/// Reads the watch until so many are ready; the highest revision seen.
async fn watch_ready(client: &Client, expected: usize) -> Result<u64> {
    let mut ready = std::collections::HashSet::new();
    let mut revision = 0;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut events = watcher::watcher(sets::ipsets(client), watcher::Config::default()).boxed();
    while ready.len() < expected {
        let event = tokio::time::timeout_at(deadline, events.try_next()).await;
        let Some(event) = event.context("not all became ready in time")?? else {
            bail!("the watch ended");
        };
        if let watcher::Event::Apply(object) | watcher::Event::InitApply(object) = event {
            let of = object.metadata.resource_version.as_deref().unwrap_or_default();
            revision = revision.max(of.parse().unwrap_or(0));
            if sets::is_ready(&object) {
                ready.insert(object.metadata.name.unwrap_or_default());
            }
        }
    }
    Ok(revision)
}

async fn idle(client: &Client, count: usize) -> Result<Summary> {
    let api = sets::ipsets(client);
    let config = watcher::Config::default().fields("metadata.namespace=openstack");
    let mut events = watcher::watcher(api.clone(), config).boxed();
    loop {
        match events.try_next().await? {
            Some(watcher::Event::InitDone) => break,
            Some(_) => {}
            None => bail!("the watch ended"),
        }
    }
    let mut latencies = Vec::new();
    for n in 0..count {
        let name = format!("idle-{n:06}");
        let began = Instant::now();
        api.create(&PostParams::default(), &sets::ipset(&name)?).await?;
        loop {
            let event = tokio::time::timeout(PATIENCE, events.try_next()).await??;
            if let Some(watcher::Event::Apply(object)) = event
                && object.metadata.name.as_deref() == Some(&name)
                && sets::is_ready(&object)
            {
                break;
            }
        }
        latencies.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(Summary::of(latencies))
}

async fn grow(arguments: &Arguments) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let plane = Plane::new(arguments.server.clone(), directory.path());
    let (mut api, config) = plane.up(&[]).await?;
    let client = Client::try_from(config)?;
    sets::prepare(&client).await?;
    println!("growth: CPU time of the whole server per IPSet, 1000 more");
    let (mut there, mut first) = (0, None);
    for claims in &arguments.claims {
        let sets = claims / sets::NETWORKS;
        sets::create(&client, "grow", there..sets, HANDS).await?;
        sets::all_ready(&client, Some(sets), PATIENCE).await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let before = cpu(&api)?;
        sets::create(&client, "grow", sets..sets + 1000, HANDS).await?;
        watch_ready(&client, sets + 1000).await?;
        let spent = cpu(&api)?.saturating_sub(before).as_secs_f64();
        there = sets + 1000;
        let first = *first.get_or_insert(spent);
        // Seconds for a thousand are milliseconds for one.
        println!("  with {claims:6} claims {spent:8.2} ms  {:.2} times", spent / first);
    }
    kill(&mut api).await
}

fn cpu(server: &Child) -> Result<Duration> {
    let processes = Processes(server.id().into_iter().collect());
    processes.cpu()?.context("the server is gone")
}
