//! What attachments are about in the API: a namespace, two networks, pods, and the records of addresses.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use futures::stream::{self, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

/// Where all of it happens.
pub const NAMESPACE: &str = "bench";
/// The two networks, and the range of each.
pub const NETWORKS: [(&str, &str); 2] = [("red", "172.30.0.0/20"), ("blue", "172.30.16.0/20")];
/// The networks, as pods ask for them.
pub const ANNOTATION: (&str, &str) = ("k8s.v1.cni.cncf.io/networks", "red,blue");
const HANDS: usize = 16;

/// A macvlan on that master with addresses from a range.
pub fn macvlan(name: &str, master: &str, ipam: &Value) -> Value {
    json!({
        "cniVersion": "1.0.0", "name": name, "type": "macvlan", "master": master, "mode": "bridge",
        "ipam": ipam,
    })
}

/// Namespace and networks.
pub async fn prepare(client: &Client, master: &str) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    let kind = GroupVersionKind::gvk("k8s.cni.cncf.io", "v1", "NetworkAttachmentDefinition");
    let kind = ApiResource::from_gvk_with_plural(&kind, "network-attachment-definitions");
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &kind);
    for (name, range) in NETWORKS {
        let config = macvlan(name, master, &json!({"type": "whereabouts", "range": range}));
        let network =
            DynamicObject::new(name, &kind).data(json!({"spec": {"config": config.to_string()}}));
        api.create(&PostParams::default(), &network).await?;
    }
    Ok(())
}

/// Makes pods on a node with both networks and says who they are: `CNI_ARGS` of each.
pub async fn pods(client: &Client, prefix: &str, count: usize, node: &str) -> Result<Vec<String>> {
    let api: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let made = stream::iter(0..count).map(|n| {
        let (api, name) = (api.clone(), format!("{prefix}-{n:04}"));
        async move {
            let pod = serde_json::from_value(json!({
                "metadata": {"name": name, "annotations": {ANNOTATION.0: ANNOTATION.1}},
                "spec": {"nodeName": node, "containers": [{"name": "main", "image": "none"}]},
            }))?;
            let pod =
                api.create(&PostParams::default(), &pod).await.context("cannot make a pod")?;
            anyhow::Ok(args(&name, &pod.uid().unwrap_or_default()))
        }
    });
    made.buffered(HANDS).try_collect().await
}

/// `CNI_ARGS` as container runtimes set them.
pub fn args(pod: &str, uid: &str) -> String {
    format!(
        "IgnoreUnknown=1;K8S_POD_NAMESPACE={NAMESPACE};K8S_POD_NAME={pod};\
         K8S_POD_INFRA_CONTAINER_ID={pod};K8S_POD_UID={uid}"
    )
}

/// How many addresses of each range are held.
pub async fn held(client: &Client) -> Result<BTreeMap<String, usize>> {
    let kind = GroupVersionKind::gvk("whereabouts.cni.cncf.io", "v1alpha1", "IPPool");
    let kind = ApiResource::from_gvk_with_plural(&kind, "ippools");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    let pools = api.list(&ListParams::default()).await?;
    let count = |pool: &DynamicObject| {
        let range = pool.data.pointer("/spec/range").and_then(Value::as_str);
        let records = pool.data.pointer("/spec/allocations").and_then(Value::as_object);
        (range.unwrap_or_default().to_owned(), records.map_or(0, serde_json::Map::len))
    };
    Ok(pools.items.iter().map(count).collect())
}
