//! The API that a kubeconfig describes.

use std::path::PathBuf;

use anyhow::Context as _;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

/// Which file, and which context of it; what is not said is found as kubectl finds it.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    pub kubeconfig: Option<PathBuf>,
    pub context: Option<String>,
}

/// How to reach the API: the given file, `$KUBECONFIG`, `~/.kube/config`, or a pod's own account.
pub async fn config(choice: &Choice) -> anyhow::Result<Config> {
    let options = KubeConfigOptions { context: choice.context.clone(), ..Default::default() };
    match &choice.kubeconfig {
        Some(file) => {
            let read = Kubeconfig::read_from(file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            Config::from_custom_kubeconfig(read, &options)
                .await
                .with_context(|| format!("cannot use {}", file.display()))
        }
        None if choice.context.is_some() => {
            Config::from_kubeconfig(&options).await.context("cannot find that context")
        }
        None => Config::infer().await.context(
            "no kubeconfig found: give --kubeconfig, set KUBECONFIG, or run this in a pod",
        ),
    }
}
