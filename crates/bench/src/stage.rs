//! What a run stands on: a CRD, a namespace with a fixed number of objects, and one for new objects.
//!
//! Everything carries the run's own name and is removed by [`Stage::strike`], also after a failure.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::stream::{self, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

/// The API group of the bench CRD.
pub const GROUP: &str = "bench.landbridge.dev";
const PLURAL: &str = "loads";
/// How many requests set the stage at once.
const HANDS: usize = 16;

/// A server, ready to be measured.
pub struct Stage {
    config: Config,
    /// A client for everything that is not measured.
    pub client: Client,
    /// The namespace whose objects are read and updated.
    pub base: String,
    /// The namespace that creates fill.
    pub fresh: String,
    /// How many objects `base` holds.
    pub objects: usize,
    /// What `/version` says.
    pub version: String,
}

impl Stage {
    /// Connects and reads the version; creates nothing yet.
    pub async fn connect(kubeconfig: &Path, run: &str, objects: usize) -> Result<Self> {
        let read = Kubeconfig::read_from(kubeconfig);
        let read = read.with_context(|| format!("cannot read {}", kubeconfig.display()))?;
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
        let client = Client::try_from(config.clone())?;
        let version = client.apiserver_version().await.context("the server does not answer")?;
        Ok(Self {
            config,
            client,
            base: format!("bench-{run}"),
            fresh: format!("bench-{run}-new"),
            objects,
            version: version.git_version,
        })
    }

    /// A client with connections of its own, as another program would have.
    pub fn another_client(&self) -> Result<Client> {
        Ok(Client::try_from(self.config.clone())?)
    }

    /// The bench objects of one namespace.
    pub fn api(client: Client, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(client, namespace, &resource())
    }

    /// Creates the CRD (unless an earlier run left it), the namespaces and the objects.
    pub async fn set(&self) -> Result<()> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let definition = serde_json::from_value(definition())?;
        match definitions.create(&PostParams::default(), &definition).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            other => drop(other.context("cannot create the CRD")?),
        }
        self.wait_until_served().await?;

        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        for name in [&self.base, &self.fresh] {
            let namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
            namespaces.create(&PostParams::default(), &namespace).await?;
        }
        let api = Self::api(self.client.clone(), &self.base);
        stream::iter(0..self.objects)
            .map(|number| {
                let api = api.clone();
                async move {
                    api.create(&PostParams::default(), &object(&name_of(number), 0)?)
                        .await
                        .map_err(anyhow::Error::from)
                }
            })
            .buffer_unordered(HANDS)
            .try_for_each(|_| async { Ok(()) })
            .await
            .context("cannot create the objects")
    }

    async fn wait_until_served(&self) -> Result<()> {
        let api = Self::api(self.client.clone(), "default");
        let deadline = Instant::now() + Duration::from_secs(30);
        while let Err(error) = api.list_metadata(&kube::api::ListParams::default().limit(1)).await {
            if Instant::now() > deadline {
                bail!("the CRD is not served after 30 s: {error}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Empties the namespace that creates fill.
    pub async fn sweep(&self) -> Result<()> {
        let api = Self::api(self.client.clone(), &self.fresh);
        api.delete_collection(&DeleteParams::default(), &kube::api::ListParams::default()).await?;
        Ok(())
    }

    /// Removes everything this run made. The CRD goes last and with it whatever is left.
    pub async fn strike(&self) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        for name in [&self.base, &self.fresh] {
            let api = Self::api(self.client.clone(), name);
            // Without a namespace or a CRD there is nothing to delete either.
            let _ = api
                .delete_collection(&DeleteParams::default(), &kube::api::ListParams::default())
                .await;
            let _ = namespaces.delete(name, &DeleteParams::default()).await;
        }
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        definitions.delete(&format!("{PLURAL}.{GROUP}"), &DeleteParams::default()).await?;
        Ok(())
    }
}

/// The name of the object with this number.
pub fn name_of(number: usize) -> String {
    format!("load-{number:06}")
}

/// An object of about 1 KiB, the size of a small custom resource.
pub fn object(name: &str, sequence: u64) -> Result<DynamicObject> {
    let value: Value = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "Load",
        "metadata": {"name": name, "labels": {"app": "bench", "name": name}},
        "spec": {"sequence": sequence, "payload": "x".repeat(700)},
    });
    Ok(serde_json::from_value(value)?)
}

fn resource() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1", "Load"), PLURAL)
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{PLURAL}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": PLURAL, "singular": "load", "kind": "Load"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "sequence": {"type": "integer", "format": "int64", "minimum": 0},
                        "payload": {"type": "string", "maxLength": 4096},
                    }},
                }}},
            }],
        },
    })
}
