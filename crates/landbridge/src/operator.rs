//! `landbridge operator`: the controllers, against any Kubernetes.

use std::process::ExitCode;

use anyhow::Context as _;
use futures::FutureExt as _;
use kube::Client;
use landbridge_client::Choice;
use landbridge_controllers::{Settings, clouds, dns, vips};
use landbridge_openstack::config::Environment;
use landbridge_openstack::{Client as OpenStack, Surroundings};

use crate::args::OperatorArgs;
use crate::collect;
use crate::log::{self, LogLevel};
use crate::stop::StopSignals;

/// Runs until told to stop.
pub fn run(args: &OperatorArgs, log_level: Option<LogLevel>) -> anyhow::Result<ExitCode> {
    log::init(log_level, LogLevel::Info);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the asynchronous runtime")?;
    runtime.block_on(work(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn work(args: &OperatorArgs) -> anyhow::Result<()> {
    let mut signals = StopSignals::new()?;
    let choice = Choice { kubeconfig: args.kubeconfig.clone(), context: args.context.clone() };
    let config = landbridge_client::config(&choice).await?;
    let url = config.cluster_url.clone();
    let client = Client::try_from(config).context("cannot use what the kubeconfig says")?;
    // Not fatal: an operator may be started before its API, and outlives every outage of it.
    match client.apiserver_version().await {
        Ok(version) => tracing::info!(%url, version = version.git_version, "controllers start"),
        Err(error) => tracing::warn!(%url, %error, "the API does not answer yet; still trying"),
    }
    let stop = async {
        let name = signals.next().await;
        tracing::info!("{name}: stopping");
    };
    let stop = stop.shared();
    let collected = collect::run(client.clone(), stop.clone());
    let settings = Settings {
        control_planes: args.control_planes,
        dns: dns::Settings {
            is_on: !args.no_dns,
            own_image: args.dns_image.clone(),
            ..dns::Settings::default()
        },
        vips: vips::Settings { class: args.lb_class.clone() },
        cloud: cloud(args, &client),
        cloud_secret: args.cloud_secret.clone(),
        ..Settings::default()
    };
    let controllers = Box::pin(landbridge_controllers::run(client, settings, stop));
    futures::future::join(controllers, collected).await;
    Ok(())
}

/// The OpenStack that is meant. Whether it can be reached shows in conditions, not here: it may come later.
fn cloud(args: &OperatorArgs, client: &Client) -> Option<OpenStack> {
    let cloud = args.cloud.clone();
    match &args.cloud_secret {
        Some((namespace, name)) => Some(OpenStack::following(clouds::Secret {
            kube: client.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
            cloud,
        })),
        None => cloud.map(|cloud| {
            let environment = Environment::of_process();
            OpenStack::following(Surroundings { environment, cloud: Some(cloud) })
        }),
    }
}
