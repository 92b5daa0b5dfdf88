//! One call without a daemon: the cluster is reached through the kubeconfig that the configuration
//! names, and the process ends after it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::config::Kubeconfig;
use landbridge_client::Choice;
use landbridge_cni::environment::Command;
use landbridge_cni::error::{CniError, Code};
use landbridge_plugins::NoIpams;
use serde_json::Value;

use crate::daemon::Daemon;
use crate::ipams::Ipams;
use crate::message::Message;
use crate::networks::{Kernel, Networks};
use crate::objects::{KubeObjects, Objects};
use crate::releases::Releases;

/// Where whereabouts keeps its records when the kubeconfig does not say.
const NAMESPACE: &str = "kube-system";
/// How long events may hold up the end of the process.
const EVENTS: Duration = Duration::from_secs(1);

/// Serves one call. `networks` is as in [`Daemon::new`].
pub fn alone(
    message: &Message,
    releases: &Path,
    networks: impl FnOnce(Arc<Ipams>) -> Arc<dyn Networks>,
) -> Result<String, CniError> {
    let request = message.request()?;
    if !needs_cluster(&message.plugin, &request.config) {
        return without_cluster(message, &request.config);
    }
    let kubeconfig = kubeconfig_of(&request.config);
    let failed = |what: String| CniError::new(Code::TRY_AGAIN, what);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| failed(format!("starting: {error}")))?;
    let namespace = namespace_of(kubeconfig.as_deref());
    let client = runtime.block_on(async {
        let choice = Choice { kubeconfig, context: None };
        let config = landbridge_client::config(&choice).await?;
        anyhow::Ok(kube::Client::try_from(config)?)
    });
    let client = client.map_err(|error| {
        failed(format!("no agent answers; reaching the Kubernetes API without it: {error:#}"))
    })?;
    let objects = Arc::new(KubeObjects::new(client, runtime.handle().clone(), namespace));
    let shared: Arc<dyn Objects> = Arc::clone(&objects) as Arc<dyn Objects>;
    let daemon = Daemon::new(shared, Releases::new(releases), Arc::new(Kernel), networks);
    let answer = daemon.handle(message);
    // Without a daemon nobody else makes what earlier calls had to leave. After an ADD the cluster
    // is known to answer; a DEL is not to wait for it.
    if answer.is_ok()
        && request.environment.command == Command::Add
        && let Err(error) = daemon.retry()
    {
        tracing::warn!(%error, "the queue of releases cannot be read");
    }
    objects.finish(EVENTS);
    answer
}

/// Whether a call has to do with objects of the cluster: as Multus, or for addresses that are kept there.
fn needs_cluster(plugin: &str, config: &[u8]) -> bool {
    let config: Value = serde_json::from_slice(config).unwrap_or_default();
    let ipam = config.pointer("/ipam/type").and_then(Value::as_str).unwrap_or_default();
    !landbridge_plugins::has(plugin) || matches!(ipam, "whereabouts" | "landbridge")
}

fn without_cluster(message: &Message, config: &[u8]) -> Result<String, CniError> {
    let variable = |name: &str| message.env.get(name).cloned();
    let plugin = &message.plugin;
    let output = landbridge_plugins::main_as(plugin, &variable, config, &NoIpams);
    if output.exit_code == 0 {
        Ok(output.stdout)
    } else {
        Err(CniError::from_output(plugin, output.stdout.as_bytes()))
    }
}

/// `kubeconfig` of Multus, or that of the address section.
fn kubeconfig_of(config: &[u8]) -> Option<PathBuf> {
    let config: Value = serde_json::from_slice(config).ok()?;
    let text = |pointer: &str| config.pointer(pointer).and_then(Value::as_str);
    let found = text("/kubeconfig").or_else(|| text("/ipam/kubernetes/kubeconfig"));
    found.filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The namespace of the kubeconfig's context.
pub fn namespace_of(kubeconfig: Option<&Path>) -> String {
    let read = kubeconfig.and_then(|path| Kubeconfig::read_from(path).ok());
    let namespace = read.and_then(|config| {
        let current = config.current_context?;
        let context = config.contexts.into_iter().find(|context| context.name == current)?;
        context.context?.namespace
    });
    namespace.filter(|name| !name.is_empty()).unwrap_or_else(|| NAMESPACE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_kept_in_the_cluster_needs_it() {
        let with = |ipam: &str| format!(r#"{{"type": "macvlan", "ipam": {{"type": "{ipam}"}}}}"#);
        for (plugin, ipam, needs) in [
            ("macvlan", "static", false),
            ("bridge", "host-local", false),
            ("macvlan", "", false),
            ("macvlan", "whereabouts", true),
            ("bridge", "landbridge", true),
            ("multus", "", true),
            ("whereabouts", "whereabouts", true),
        ] {
            assert_eq!(needs_cluster(plugin, with(ipam).as_bytes()), needs, "{plugin} {ipam}");
        }
    }
}
