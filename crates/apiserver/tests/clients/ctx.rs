//! What a case works with: a client, a namespace of its own, and raw requests.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use http::Method;
use kube::Client;
use kube::api::DynamicObject;
use kube::client::Body;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::reply::Reply;
use crate::watching::Watch;

pub const JSON: &str = "application/json";
pub const YAML: &str = "application/yaml";
pub const JSON_PATCH: &str = "application/json-patch+json";
pub const MERGE_PATCH: &str = "application/merge-patch+json";
pub const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Where namespaces are.
pub const NAMESPACES: &str = "/api/v1/namespaces";
/// Where CRDs are.
pub const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How long something a server does in the background may take.
const EVENTUALLY: Duration = Duration::from_mins(1);

/// Surroundings of one case.
pub struct Ctx {
    pub client: Client,
    /// Only this case uses it. A DNS label, so it can be part of the name of an API group too.
    pub namespace: String,
    /// The server is ours, not a cluster somewhere.
    pub ours: bool,
    /// Paths to delete at the end.
    leftovers: Mutex<Vec<String>>,
}

/// One request being put together.
pub struct Call<'a> {
    ctx: &'a Ctx,
    builder: http::request::Builder,
    body: Vec<u8>,
}

impl Call<'_> {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.builder = self.builder.header(name, value);
        self
    }

    pub fn accept(self, media: &str) -> Self {
        self.header("accept", media)
    }

    pub fn body(mut self, media: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self.header("content-type", media)
    }

    pub async fn send(self) -> Result<Reply> {
        let response = self.ctx.client.send(self.builder.body(Body::from(self.body))?).await?;
        Reply::read(response).await
    }

    /// Sends a watch and hands over its stream.
    pub async fn watch(self) -> Result<Watch> {
        let response = self.ctx.client.send(self.builder.body(Body::from(self.body))?).await?;
        if response.status() != 200 {
            let reply = Reply::read(response).await?;
            bail!("the watch was refused with {}: {}", reply.code, reply.text);
        }
        Ok(Watch::new(response.into_body()))
    }
}

impl Ctx {
    pub async fn new(client: Client, ours: bool, position: usize) -> Result<Self> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let namespace = format!("landbridge-{position}-{:x}", since.as_nanos() & 0xff_ffff_ffff);
        let ctx = Self { client, namespace, ours, leftovers: Mutex::default() };
        let body =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ctx.namespace}});
        ctx.post(NAMESPACES, &body).await?.created().context("the namespace of the case")?;
        Ok(ctx)
    }

    /// Deletes at the end what a path names; it may be gone by then.
    pub fn leaves(&self, path: impl Into<String>) {
        self.leftovers.lock().expect("leftovers").push(path.into());
    }

    /// Deletes the namespace of the case and what else it left.
    pub async fn tidy_up(&self) -> Result<()> {
        let leftovers = std::mem::take(&mut *self.leftovers.lock().expect("leftovers"));
        for path in leftovers.into_iter().rev().chain([format!("{NAMESPACES}/{}", self.namespace)])
        {
            let reply = self.delete(&path).await?;
            if !matches!(reply.code, 200 | 202 | 404 | 409) {
                bail!("cannot tidy up {path}: {}", reply.text);
            }
        }
        Ok(())
    }

    /// Path of a core resource in the namespace.
    pub fn core(&self, plural: &str) -> String {
        format!("{NAMESPACES}/{}/{plural}", self.namespace)
    }

    /// Path of another group's resource in the namespace; `api` is `GROUP/VERSION`.
    pub fn path(&self, api: &str, plural: &str) -> String {
        format!("/apis/{api}/namespaces/{}/{plural}", self.namespace)
    }

    pub fn call(&self, method: Method, path: &str) -> Call<'_> {
        let builder = http::Request::builder().method(method).uri(path);
        Call { ctx: self, builder, body: Vec::new() }
    }

    pub async fn get(&self, path: &str) -> Result<Reply> {
        self.call(Method::GET, path).send().await
    }

    pub async fn get_as(&self, path: &str, media: &str) -> Result<Reply> {
        self.call(Method::GET, path).accept(media).send().await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Reply> {
        self.call(Method::POST, path).body(JSON, body.to_string()).send().await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Result<Reply> {
        self.call(Method::PUT, path).body(JSON, body.to_string()).send().await
    }

    pub async fn patch(&self, path: &str, media: &str, body: &Value) -> Result<Reply> {
        self.call(Method::PATCH, path).body(media, body.to_string()).send().await
    }

    /// A merge patch.
    pub async fn merge(&self, path: &str, body: &Value) -> Result<Reply> {
        self.patch(path, MERGE_PATCH, body).await
    }

    pub async fn delete(&self, path: &str) -> Result<Reply> {
        self.call(Method::DELETE, path).send().await
    }

    /// A deletion with `DeleteOptions`.
    pub async fn delete_with(&self, path: &str, options: &Value) -> Result<Reply> {
        self.call(Method::DELETE, path).body(JSON, options.to_string()).send().await
    }

    pub async fn watch(&self, path: &str) -> Result<Watch> {
        self.call(Method::GET, path).watch().await
    }

    /// Sends requests from as many tasks, so that they are really under way at once.
    pub async fn at_once(
        &self,
        requests: Vec<(Method, String, &str, Value)>,
    ) -> Result<Vec<Reply>> {
        let mut tasks = Vec::new();
        for (method, path, media, body) in requests {
            let request =
                http::Request::builder().method(method).uri(path).header("content-type", media);
            let request = request.body(Body::from(body.to_string().into_bytes()))?;
            let client = self.client.clone();
            tasks.push(tokio::spawn(async move { Reply::read(client.send(request).await?).await }));
        }
        let mut replies = Vec::new();
        for task in tasks {
            replies.push(task.await??);
        }
        Ok(replies)
    }

    /// Creates a ConfigMap and returns it.
    pub async fn config_map(&self, name: &str, data: &Value) -> Result<Value> {
        self.post(&self.core("configmaps"), &config_map(name, data)).await?.created()
    }

    /// A dynamic API in the namespace.
    pub fn dynamic(
        &self,
        group: &str,
        version: &str,
        kind: &str,
        plural: &str,
    ) -> kube::Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
        kube::Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// Asks again until the answer satisfies; what happens in the background takes a while.
    pub async fn eventually<T>(
        &self,
        what: &str,
        mut attempt: impl AsyncFnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let begun = Instant::now();
        loop {
            if let Some(value) = attempt().await.with_context(|| what.to_owned())? {
                return Ok(value);
            }
            if begun.elapsed() > EVENTUALLY {
                bail!("{what}: not within {EVENTUALLY:?}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until nothing is found at a path any more.
    pub async fn gone(&self, path: &str) -> Result<()> {
        self.eventually(&format!("{path} goes"), async || {
            Ok((self.get(path).await?.code == 404).then_some(()))
        })
        .await
    }
}

/// A ConfigMap as a client sends it.
pub fn config_map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}
