//! `landbridge-vips`: how fast Services get virtual addresses, at what cost, and how that grows.
//!
//! ```text
//! cold     Services are there before the controllers: from their start until all have an address
//! growth   CPU time and writes per Service, with few there and with many
//! ```

// Figures for people: a rate or a quantile needs no 53rd bit.
#![allow(clippy::cast_precision_loss)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use futures::stream::{self, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::runtime::watcher;
use kube::{Client, ResourceExt as _};
use landbridge_bench::plane::{Plane, kill};
use landbridge_bench::process::Processes;
use landbridge_bench::stats::rate;
use serde_json::json;
use tokio::process::Child;

const PATIENCE: Duration = Duration::from_mins(10);
/// Clients that create.
const HANDS: usize = 64;
/// Where the Services are.
const NAMESPACE: &str = "vips";

/// Measures the controller of virtual addresses of a landbridge binary on its own embedded API.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The landbridge binary.
    #[arg(long, value_name = "FILE")]
    server: PathBuf,
    /// Services of the cold start. A quarter of them may share addresses.
    #[arg(long, default_value_t = 10_000)]
    services: usize,
    /// Pools of 256 addresses each.
    #[arg(long, default_value_t = 100)]
    pools: usize,
    /// Services with which the cost of each further one is taken.
    #[arg(long, value_delimiter = ',', default_value = "1000,10000")]
    at: Vec<usize>,
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
    prepare(&client, arguments.pools).await?;
    create(&client, 0..arguments.services).await?;
    let before = revision(&client).await?;
    kill(&mut api).await?;

    let (mut api, config) = plane.up(&[]).await?;
    let began = Instant::now();
    let client = Client::try_from(config)?;
    watch_served(&client, arguments.services).await?;
    let took = began.elapsed();
    let n = arguments.services;
    let writes = revision(&client).await?.saturating_sub(before) as f64 / n as f64;
    println!("cold start: {n} Services on {} pools", arguments.pools);
    println!("  served after       {:8.1} s", took.as_secs_f64());
    println!("  Services per s     {:8.0}", rate(n, took));
    println!(
        "  writes per Service {writes:8.2}  (Events included; and one by the client that created it)"
    );
    let memory = Processes(api.id().into_iter().collect()).memory()?;
    println!("  memory             {:8} MiB", memory.unwrap_or_default().resident_kib / 1024);
    check(&client).await?;
    kill(&mut api).await
}

async fn grow(arguments: &Arguments) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let plane = Plane::new(arguments.server.clone(), directory.path());
    let (mut api, config) = plane.up(&[]).await?;
    let client = Client::try_from(config)?;
    prepare(&client, arguments.pools).await?;
    println!("growth: CPU time of the whole server and writes per Service, 1000 more");
    let (mut there, mut first) = (0, None);
    for at in &arguments.at {
        create(&client, there..*at).await?;
        watch_served(&client, *at).await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (before, written) = (cpu(&api)?, revision(&client).await?);
        create(&client, *at..at + 1000).await?;
        watch_served(&client, at + 1000).await?;
        let spent = cpu(&api)?.saturating_sub(before).as_secs_f64();
        let writes = revision(&client).await?.saturating_sub(written) as f64 / 1000.0;
        there = at + 1000;
        let first = *first.get_or_insert(spent);
        let times = spent / first;
        // Seconds for a thousand are milliseconds for one.
        println!("  with {at:6} Services {spent:8.2} ms  {times:.2} times  {writes:.2} writes");
    }
    check(&client).await?;
    kill(&mut api).await
}

fn services(client: &Client) -> Api<Service> {
    Api::namespaced(client.clone(), NAMESPACE)
}

/// Namespaces, and pools of a /24 each.
async fn prepare(client: &Client, pools: usize) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    let kind = GroupVersionKind::gvk("metallb.io", "v1beta1", "IPAddressPool");
    let resource = ApiResource::from_gvk_with_plural(&kind, "ipaddresspools");
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "metallb-system", &resource);
    for n in 0..pools {
        let pool = json!({
            "apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
            "metadata": {"name": format!("pool-{n:03}")},
            "spec": {"addresses": [format!("172.{}.{}.0/24", 16 + n / 256, n % 256)]},
        });
        api.create(&PostParams::default(), &serde_json::from_value(pool)?).await?;
    }
    Ok(())
}

/// Every second names no pool, the others one each; half of those may share its address.
fn service(n: usize) -> Result<Service> {
    let mut annotations = BTreeMap::new();
    if n % 2 == 1 {
        // Of the second half: those that name none fill pools from the first on.
        annotations.insert("metallb.io/address-pool", format!("pool-{:03}", 50 + n / 2 % 50));
    }
    if n % 4 == 1 {
        annotations.insert("metallb.io/allow-shared-ip", format!("key-{}", n / 2 % 100));
    }
    Ok(serde_json::from_value(json!({
        "metadata": {"name": format!("svc-{n:06}"), "annotations": annotations},
        "spec": {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false,
            "ports": [{"port": 1 + n / 200 % 8}]},
    }))?)
}

async fn create(client: &Client, numbers: std::ops::Range<usize>) -> Result<()> {
    let api = services(client);
    stream::iter(numbers)
        .map(|n| {
            let api = api.clone();
            async move {
                let object = service(n)?;
                api.create(&PostParams::default(), &object).await.context("cannot create a Service")
            }
        })
        .buffer_unordered(HANDS)
        .try_for_each(|_| async { Ok(()) })
        .await
}

fn addresses(service: &Service) -> Vec<String> {
    let status = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let ingress = status.and_then(|status| status.ingress.as_deref()).unwrap_or_default();
    ingress.iter().filter_map(|entry| entry.ip.clone()).collect()
}

/// Reads the watch until so many have an address.
async fn watch_served(client: &Client, expected: usize) -> Result<()> {
    let mut served = BTreeSet::new();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut events = watcher::watcher(services(client), watcher::Config::default()).boxed();
    while served.len() < expected {
        let event = tokio::time::timeout_at(deadline, events.try_next()).await;
        let Some(event) = event.with_context(|| format!("only {} were served", served.len()))??
        else {
            bail!("the watch ended");
        };
        if let watcher::Event::Apply(object) | watcher::Event::InitApply(object) = event
            && !addresses(&object).is_empty()
        {
            served.insert(object.name_any());
        }
    }
    Ok(())
}

/// No address has two Services with one port, or without a common key.
async fn check(client: &Client) -> Result<()> {
    let mut users: BTreeMap<String, Vec<(String, i32, Option<String>)>> = BTreeMap::new();
    for service in services(client).list(&ListParams::default()).await? {
        let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_ref());
        let port = ports.and_then(|ports| ports.first()).map_or(0, |port| port.port);
        let key = service.annotations().get("metallb.io/allow-shared-ip").cloned();
        for address in addresses(&service) {
            users.entry(address).or_default().push((service.name_any(), port, key.clone()));
        }
    }
    for (address, users) in &users {
        let ports: BTreeSet<i32> = users.iter().map(|(_, port, _)| *port).collect();
        let one_key = users.iter().all(|(_, _, key)| key.is_some() && *key == users[0].2);
        let fine = users.len() == 1 || (one_key && ports.len() == users.len());
        anyhow::ensure!(fine, "{address} is used by {users:?}");
    }
    let shared = users.values().filter(|users| users.len() > 1).count();
    println!("  addresses          {:8}  ({shared} of them shared)", users.len());
    Ok(())
}

/// Revisions count writes.
async fn revision(client: &Client) -> Result<u64> {
    let list = services(client).list(&ListParams::default().limit(1)).await?;
    Ok(list.metadata.resource_version.unwrap_or_default().parse()?)
}

fn cpu(server: &Child) -> Result<Duration> {
    let processes = Processes(server.id().into_iter().collect());
    processes.cpu()?.context("the server is gone")
}
