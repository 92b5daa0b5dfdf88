//! IPSets as load: a NetConfig with wide networks, requests on all of them, and what became of them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::stream::{self, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams,
};
use kube::{Api, Client};
use serde_json::{Value, json};

/// Where all of it happens.
pub const NAMESPACE: &str = "openstack";
/// How many networks each IPSet asks for.
pub const NETWORKS: usize = 5;
/// A block of claims, listed.
type Claims = BTreeMap<(String, String), String>;

/// The API of a kind of network.openstack.org.
pub fn api(client: &Client, kind: &str, plural: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("network.openstack.org", "v1beta1", kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    Api::namespaced_with(client.clone(), NAMESPACE, &resource)
}

/// The API of IPSets.
pub fn ipsets(client: &Client) -> Api<DynamicObject> {
    api(client, "IPSet", "ipsets")
}

/// Namespace and NetConfig: each network is a /12 with a range of a million addresses.
pub async fn prepare(client: &Client) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    let networks: Vec<Value> = (0..NETWORKS)
        .map(|n| {
            let net = n * 16;
            json!({
                "name": format!("net{n}"), "dnsDomain": format!("net{n}.example.com"),
                "subnets": [{
                    "name": "subnet1", "cidr": format!("10.{net}.0.0/12"), "vlan": 20 + n,
                    "allocationRanges": [
                        {"start": format!("10.{net}.0.10"), "end": format!("10.{}.255.250", net + 15)},
                    ],
                }],
            })
        })
        .collect();
    let netconfig = json!({
        "apiVersion": "network.openstack.org/v1beta1", "kind": "NetConfig",
        "metadata": {"name": "netconfig"}, "spec": {"networks": networks},
    });
    let api = api(client, "NetConfig", "netconfigs");
    api.create(&PostParams::default(), &serde_json::from_value(netconfig)?).await?;
    Ok(())
}

/// A request on all networks.
pub fn ipset(name: &str) -> Result<DynamicObject> {
    let networks: Vec<Value> = (0..NETWORKS)
        .map(|n| json!({"name": format!("net{n}"), "subnetName": "subnet1"}))
        .collect();
    Ok(serde_json::from_value(json!({
        "apiVersion": "network.openstack.org/v1beta1", "kind": "IPSet",
        "metadata": {"name": name}, "spec": {"networks": networks},
    }))?)
}

/// Creates `PREFIX-FROM` to `PREFIX-(FROM+COUNT-1)`, `hands` at a time.
pub async fn create(
    client: &Client,
    prefix: &str,
    numbers: std::ops::Range<usize>,
    hands: usize,
) -> Result<()> {
    let api = ipsets(client);
    stream::iter(numbers)
        .map(|n| {
            let api = api.clone();
            async move {
                let object = ipset(&format!("{prefix}-{n:06}"))?;
                api.create(&PostParams::default(), &object).await.context("cannot create an IPSet")
            }
        })
        .buffer_unordered(hands)
        .try_for_each(|_| async { Ok(()) })
        .await
}

/// Deletes an IPSet; one that is gone already is as good.
pub async fn delete(client: &Client, name: &str) -> Result<()> {
    match ipsets(client).delete(name, &DeleteParams::default()).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether an IPSet says it is ready.
pub fn is_ready(object: &DynamicObject) -> bool {
    let ready = &object.data["status"]["conditions"][0];
    ready["type"] == "Ready" && ready["status"] == "True"
}

/// How many IPSets there are, and how many of them are ready; and the revision of the list.
pub async fn count(client: &Client) -> Result<(usize, usize, u64)> {
    let list = ipsets(client).list(&ListParams::default()).await?;
    let revision = list.metadata.resource_version.as_deref().unwrap_or_default().parse()?;
    let ready = list.items.iter().filter(|object| is_ready(object)).count();
    Ok((list.items.len(), ready, revision))
}

/// Compares IPSets, Reservations and the ledger; what is wrong, in words. Everything has to be at
/// rest.
pub async fn contradictions(client: &Client) -> Result<Vec<String>> {
    let list = ListParams::default();
    let sets = ipsets(client).list(&list).await?.items;
    let records = api(client, "Reservation", "reservations").list(&list).await?.items;
    let kind = GroupVersionKind::gvk("landbridge.dev", "v1alpha1", "AddressBlock");
    let resource = ApiResource::from_gvk_with_plural(&kind, "addressblocks");
    let blocks: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let mut wrong = Vec::new();
    let mut claimed = Claims::new();
    for block in blocks.list(&list).await?.items {
        let claims = block.data["spec"]["claims"].as_object();
        for (address, claim) in claims.into_iter().flatten() {
            let key = (text(&claim["attachment"]), address.clone());
            claimed.insert(key, text(&claim["name"]));
        }
    }
    let mut held = Claims::new();
    for set in &sets {
        let name = set.metadata.name.clone().unwrap_or_default();
        if !is_ready(set) {
            let message = &set.data["status"]["conditions"][0]["message"];
            wrong.push(format!("{name} is not ready: {message}"));
        }
        for entry in set.data["status"]["reservations"].as_array().into_iter().flatten() {
            let key = (text(&entry["network"]), text(&entry["address"]));
            if let Some(other) = held.insert(key.clone(), name.clone()) {
                wrong.push(format!("{key:?} is held by {other} and by {name}"));
            }
        }
    }
    let mut recorded = Claims::new();
    for record in &records {
        let name = record.metadata.name.clone().unwrap_or_default();
        for entry in record.data["spec"]["reservation"].as_object().into_iter().flatten() {
            let key = (text(&entry.1["network"]), text(&entry.1["address"]));
            recorded.insert(key, name.clone());
        }
    }
    for (what, other) in [("recorded", &recorded), ("claimed", &claimed)] {
        for (key, name) in &held {
            if other.get(key) != Some(name) {
                wrong.push(format!("{key:?} of {name} is {what} for {:?}", other.get(key)));
            }
        }
        for (key, name) in other {
            if !held.contains_key(key) {
                wrong.push(format!("{key:?} is {what} for {name}, who does not hold it"));
            }
        }
    }
    Ok(wrong)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Waits until all IPSets there are, `count` of them when given, are ready.
pub async fn all_ready(
    client: &Client,
    expected: Option<usize>,
    patience: Duration,
) -> Result<u64> {
    let deadline = std::time::Instant::now() + patience;
    loop {
        let last = match count(client).await {
            Ok((all, ready, revision)) if ready == all && expected.is_none_or(|e| e == all) => {
                return Ok(revision);
            }
            Ok((all, ready, _)) => format!("{ready} of {all} are ready"),
            Err(error) => format!("{error:#}"),
        };
        if std::time::Instant::now() > deadline {
            bail!("after {} s: {last}", patience.as_secs());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
