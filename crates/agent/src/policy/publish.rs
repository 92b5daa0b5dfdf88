//! The NodeNetworkState: what this node looks like, for everybody to read.
//!
//! It is looked at each minute and soon after something has changed, and written only when it says
//! something new. Interfaces that come and go with pods are left out, as upstream leaves out what
//! NetworkManager does not manage.

use std::collections::BTreeSet;
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Api, Patch, PatchParams, PostParams};
use landbridge_api::foreign::nmstate::objects::{NodeNetworkState, StateStatus};
use landbridge_linux::monitor::Watch;
use landbridge_linux::{Monitor, Namespace};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::driver::{Duty, owner};
use super::patch::difference;

const MANAGER: &str = "landbridge-node-state";
/// Without a change.
const EACH: Duration = Duration::from_mins(1);
/// After a change, because more changes will follow.
const SETTLE: Duration = Duration::from_secs(1);
/// While the node is being registered, at first.
const SOON: Duration = Duration::from_millis(50);
/// After an error.
const AGAIN: Duration = Duration::from_secs(5);
/// A state may have so many bytes: an API server refuses objects of 1.5 MiB.
const LARGEST: usize = 1024 * 1024;

/// Publishes the state of this node until `stop` is done.
pub async fn run(duty: Duty, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    let mut monitor = listen();
    let states: Api<NodeNetworkState> = Api::all(duty.client.clone());
    tokio::select! {
        () = &mut stop => return,
        () = registered(&duty) => {}
    }
    loop {
        let wait = match publish(&duty, &states).await {
            Ok(()) => EACH + jitter(&duty.node),
            Err(why) => {
                tracing::warn!(why, "the state of this node is not published; trying again");
                AGAIN
            }
        };
        tokio::select! {
            () = &mut stop => return,
            () = tokio::time::sleep(wait) => {}
            () = duty.changed.notified() => {}
            () = next_change(&mut monitor) => tokio::time::sleep(SETTLE).await,
        }
        // What has happened until now is in what is looked at next.
        monitor = listen();
    }
}

/// Waits until there is a Node, which will own the state.
async fn registered(duty: &Duty) {
    let nodes: Api<Node> = Api::all(duty.client.clone());
    let mut pause = SOON;
    while !matches!(nodes.get_opt(&duty.node).await, Ok(Some(_))) {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(AGAIN);
    }
}

fn listen() -> Option<Monitor> {
    let namespace = Namespace::current();
    namespace
        .and_then(|here| Monitor::in_namespace(&here, Watch::default()))
        .inspect_err(|error| tracing::warn!(%error, "changes are seen only once a minute"))
        .ok()
}

async fn next_change(monitor: &mut Option<Monitor>) {
    match monitor {
        Some(listening) => {
            if listening.next().await.is_err() {
                *monitor = None;
            }
        }
        None => std::future::pending().await,
    }
}

/// Not all nodes at once: up to a tenth more.
fn jitter(node: &str) -> Duration {
    let mut hash = DefaultHasher::new();
    (node, Timestamp::now().as_second()).hash(&mut hash);
    Duration::from_millis(hash.finish() % 6000)
}

async fn publish(duty: &Duty, states: &Api<NodeNetworkState>) -> Result<(), String> {
    let network = Arc::clone(&duty.network);
    let shown = spawn_blocking(move || network.show()).await;
    let current = tidy(shown.map_err(|error| error.to_string())??);
    let text = |error: kube::Error| error.to_string();
    let known = match states.get_opt(&duty.node).await.map_err(text)? {
        Some(known) => known,
        None => create(duty, states).await?,
    };
    if known.status.current_state == current {
        return Ok(());
    }
    let status = StateStatus {
        current_state: current,
        last_successful_update_time: Some(Time(Timestamp::now())),
        handler_nmstate_version: format!("landbridge {}", env!("CARGO_PKG_VERSION")),
    };
    let changes = difference(&json!(known.status), &json!(status));
    let patch = json!({"metadata": {"uid": known.metadata.uid}, "status": changes});
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    states.patch_status(&duty.node, &params, &Patch::Merge(patch)).await.map_err(text)?;
    Ok(())
}

async fn create(duty: &Duty, states: &Api<NodeNetworkState>) -> Result<NodeNetworkState, String> {
    let nodes: Api<Node> = Api::all(duty.client.clone());
    let node = nodes.get(&duty.node).await;
    let node = node.map_err(|error| format!("the Node {}: {error}", duty.node))?;
    let mut state = NodeNetworkState::new(&duty.node);
    let uid = node.metadata.uid.unwrap_or_default();
    state.metadata.owner_references = Some(vec![owner(&duty.node, &uid)]);
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    states.create(&params, &state).await.map_err(|error| error.to_string())
}

/// Leaves out what changes all the time and what belongs to pods, and keeps within bounds.
pub fn tidy(mut state: Value) -> Value {
    let mut dropped = BTreeSet::new();
    if let Some(interfaces) = state.get_mut("interfaces").and_then(Value::as_array_mut) {
        interfaces.retain(|interface| {
            let drops = is_of_a_pod(interface);
            if drops && let Some(name) = interface["name"].as_str() {
                dropped.insert(name.to_owned());
            }
            !drops
        });
        for interface in interfaces {
            still(interface);
        }
    }
    for list in ["/routes/running", "/routes/config"] {
        if let Some(routes) = state.pointer_mut(list).and_then(Value::as_array_mut) {
            routes.retain(|route| {
                let link = route["next-hop-interface"].as_str();
                link.is_none_or(|link| !dropped.contains(link))
            });
        }
    }
    shorten(&mut state);
    drop_nulls(&mut state);
    state
}

/// What CNI plugins call the node's end of a pod's link.
fn is_of_a_pod(interface: &Value) -> bool {
    let name = interface["name"].as_str().unwrap_or_default();
    let random = |rest: &str| rest.len() >= 6 && rest.bytes().all(|b| b.is_ascii_hexdigit());
    interface["type"] == "veth"
        && ["veth", "cali", "lxc", "tap"].iter().any(|p| name.strip_prefix(p).is_some_and(random))
}

fn still(interface: &mut Value) {
    if let Some(options) = interface.pointer_mut("/bridge/options").and_then(Value::as_object_mut) {
        options.remove("gc-timer");
        options.remove("hello-timer");
    }
    for family in ["/ipv4/address", "/ipv6/address"] {
        let addresses = interface.pointer_mut(family).and_then(Value::as_array_mut);
        for address in addresses.into_iter().flatten().filter_map(Value::as_object_mut) {
            address.remove("valid-life-time");
            address.remove("preferred-life-time");
        }
    }
}

/// A node with very many routes or interfaces shows the first ones.
fn shorten(state: &mut Value) {
    for list in ["/routes/running", "/routes/config", "/interfaces", "/route-rules/config"] {
        while state.to_string().len() > LARGEST {
            let Some(entries) = state.pointer_mut(list).and_then(Value::as_array_mut) else {
                break;
            };
            if entries.is_empty() {
                break;
            }
            entries.truncate(entries.len() / 2);
            tracing::warn!(
                list,
                kept = entries.len(),
                "the state of this node is too large; shortened"
            );
        }
    }
}

/// A merge patch cannot write null.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_and_goes_is_left_out() {
        let state = json!({
            "interfaces": [
                {"name": "veth0a1b2c3d", "type": "veth"}, {"name": "veth1", "type": "veth"},
                {"name": "br0", "type": "linux-bridge", "description": null,
                 "bridge": {"options": {"gc-timer": 29, "hello-timer": 1, "mac-ageing-time": 300}},
                 "ipv4": {"address": [{"ip": "192.0.2.1", "prefix-length": 24, "valid-life-time": "80sec", "preferred-life-time": "80sec"}]}},
            ],
            "routes": {"running": [{"destination": "10.0.0.1/32", "next-hop-interface": "veth0a1b2c3d"},
                {"destination": "0.0.0.0/0", "next-hop-interface": "br0"}]},
        });
        assert_eq!(
            tidy(state),
            json!({
                "interfaces": [
                    {"name": "veth1", "type": "veth"},
                    {"name": "br0", "type": "linux-bridge", "bridge": {"options": {"mac-ageing-time": 300}},
                     "ipv4": {"address": [{"ip": "192.0.2.1", "prefix-length": 24}]}},
                ],
                "routes": {"running": [{"destination": "0.0.0.0/0", "next-hop-interface": "br0"}]},
            })
        );
    }

    #[test]
    fn a_state_has_bounds() {
        let route = |n: usize| json!({"destination": format!("10.{}.{}.0/24", n / 256, n % 256), "note": "x".repeat(100)});
        let routes: Vec<Value> = (0..20_000).map(route).collect();
        let state = json!({"interfaces": [{"name": "lo"}], "routes": {"running": routes}});
        let tidied = tidy(state);
        assert!(tidied.to_string().len() <= LARGEST);
        assert_eq!(tidied["interfaces"][0]["name"], "lo");
        assert_eq!(tidied["routes"]["running"].as_array().unwrap().len(), 5_000);
    }
}
