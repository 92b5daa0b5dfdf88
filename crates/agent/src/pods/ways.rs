//! What Octavia's pods do for themselves before they start, and pods without images cannot: routes to amphorae, and the
//! address by which amphorae know a health manager or a log server.
//!
//! Which routes stands in the pod's environment (`MGMT_GATEWAY`, `MGMT_CIDR`, `MGMT_CIDR0`…), which address in its label
//! `predictableip`: a label that changes later changes the address. Pods without `MGMT_GATEWAY` are left alone.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Pod;
use landbridge_l2::packet::{Mac, arp, ndp};
use landbridge_linux::packet::Frames;
use landbridge_linux::{Address, Ensured, Handle, LinkIndex, Namespace, PacketSocket, Route};
use tokio::time::MissedTickBehavior;

use super::{Directory, View};

/// How often pods are looked at.
const OFTEN: Duration = Duration::from_secs(1);
/// How often what was done is looked at again.
const RARELY: Duration = Duration::from_secs(10);
/// So many prefixes are read; more zones than that no Octavia has.
const MOST: usize = 256;
/// Where a pod carries its address.
const LABEL: &str = "predictableip";

/// What a pod asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ways {
    /// The router.
    gateway: IpAddr,
    /// What is behind it.
    prefixes: Vec<IpNet>,
    /// An address besides those of its attachments.
    alias: Option<IpAddr>,
}

impl Ways {
    /// Reads a pod; nothing where it does not ask.
    pub fn of(pod: &Pod) -> Option<Self> {
        let spec = pod.spec.as_ref()?;
        let value = |wanted: &str| {
            let all = spec.containers.iter().flat_map(|container| container.env.iter().flatten());
            all.into_iter().find(|env| env.name == wanted)?.value.as_deref()
        };
        let gateway: IpAddr = value("MGMT_GATEWAY")?.parse().ok()?;
        let numbered = (0..MOST).map_while(|number| value(&format!("MGMT_CIDR{number}")));
        let prefixes = value("MGMT_CIDR").into_iter().chain(numbered);
        let prefixes = prefixes.filter_map(|text| text.parse::<IpNet>().ok());
        let prefixes = prefixes.filter(|net| net.addr().is_ipv4() == gateway.is_ipv4());
        let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get(LABEL));
        // A label takes no colons.
        let alias =
            label.and_then(|text| text.parse().or_else(|_| text.replace('-', ":").parse()).ok());
        Some(Self { gateway, prefixes: prefixes.map(|net| net.trunc()).collect(), alias })
    }
}

/// What is to be done about addresses: which go, and which one is to be there.
fn changes(
    addresses: &[Address],
    alias: Option<IpAddr>,
) -> Result<(Vec<Address>, Option<Address>), String> {
    let is_alone = |address: &Address| address.net.prefix_len() == address.net.max_prefix_len();
    // An address by itself in the network of another one on the same link was put there by us.
    let home = |ip: IpAddr, link: Option<LinkIndex>| {
        let is_home = |known: &&Address| {
            !is_alone(known)
                && known.net.contains(&ip)
                && link.is_none_or(|link| known.link == link)
        };
        addresses.iter().find(is_home).map(|known| known.link)
    };
    let is_stale = |address: &&Address| {
        is_alone(address)
            && Some(address.ip()) != alias
            && home(address.ip(), Some(address.link)).is_some()
    };
    let stale = addresses.iter().filter(is_stale).cloned().collect();
    let Some(alias) = alias else { return Ok((stale, None)) };
    let link = home(alias, None)
        .ok_or_else(|| format!("no attachment of the pod is in the network of {alias}"))?;
    Ok((stale, Some(Address::new(link, IpNet::from(alias)).without_dad())))
}

/// Has everything in a pod's network as it asks for. Blocks for a moment; needs a runtime.
pub fn keep(network: &Path, ways: &Ways) -> anyhow::Result<()> {
    let net = Handle::in_namespace(&Namespace::open(network)?)?;
    // One of the two may be wrong, and the other one is still of use.
    let addressed = keep_alias(&net, ways.alias);
    for prefix in &ways.prefixes {
        net.ensure_route(&Route::via(*prefix, ways.gateway))?;
    }
    addressed
}

fn keep_alias(net: &Handle, alias: Option<IpAddr>) -> anyhow::Result<()> {
    let (stale, wanted) = changes(&net.addresses()?, alias).map_err(anyhow::Error::msg)?;
    for address in &stale {
        net.delete_address(address)?;
    }
    if let Some(address) = &wanted
        && net.ensure_address(address)? == Ensured::Created
    {
        announce(net, address).with_context(|| format!("cannot announce {}", address.ip()))?;
    }
    Ok(())
}

/// Tells everybody on the wire where an address is now.
fn announce(net: &Handle, address: &Address) -> anyhow::Result<()> {
    let Some(mac) = net.expect_link(address.link)?.mac else { return Ok(()) };
    let own = Mac(mac.0);
    let runtime = tokio::runtime::Handle::current();
    let send = || -> std::io::Result<()> {
        let _inside = runtime.enter(); // this may be another thread
        let socket = PacketSocket::open(address.link, Frames::Arp)?;
        match address.ip() {
            IpAddr::V4(ip) => arp::Arp::gratuitous(own, ip)
                .iter()
                .try_for_each(|packet| socket.send(&packet.write())),
            IpAddr::V6(ip) => socket.send(&ndp::Advertisement::unsolicited(own, ip, ip).write()),
        }
    };
    Ok(net.namespace().visit(send)??)
}

/// What was done for a pod, when, and what went wrong.
struct Done {
    ways: Ways,
    network: PathBuf,
    at: Instant,
    trouble: Option<String>,
}

/// Does it for all pods of a node, for ever.
pub async fn run(directory: Directory) {
    let mut known: HashMap<String, Done> = HashMap::new();
    let mut tick = tokio::time::interval(OFTEN);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let asking = directory.those(|view| view.ready && Ways::of(&view.pod).is_some());
        let uid = |view: &View| view.pod.metadata.uid.clone().unwrap_or_default();
        known.retain(|known, _| asking.iter().any(|view| uid(view) == *known));
        for view in &asking {
            let (Some(ways), Some(network)) = (Ways::of(&view.pod), view.network.clone()) else {
                continue;
            };
            let before = known.remove(&uid(view));
            let is_fresh = before.as_ref().is_some_and(|done| {
                let wait = if done.trouble.is_some() { OFTEN } else { RARELY };
                done.ways == ways && done.network == network && done.at.elapsed() < wait
            });
            let done = match before {
                Some(done) if is_fresh => done,
                before => {
                    let (place, wish) = (network.clone(), ways.clone());
                    let kept = tokio::task::spawn_blocking(move || keep(&place, &wish)).await;
                    let trouble = match kept {
                        Ok(Ok(())) => None,
                        Ok(Err(error)) => Some(format!("{error:#}")),
                        Err(error) => Some(error.to_string()),
                    };
                    let was = before.and_then(|done| done.trouble);
                    if let Some(why) = trouble.as_ref().filter(|why| was.as_ref() != Some(why)) {
                        let pod = view.pod.metadata.name.as_deref().unwrap_or_default();
                        tracing::warn!(
                            pod,
                            why,
                            "the way to amphorae is not there; will be tried again"
                        );
                    }
                    Done { ways, network, at: Instant::now(), trouble }
                }
            };
            known.insert(uid(view), done);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ways(env: &serde_json::Value, label: Option<&str>) -> Option<Ways> {
        let pod = json!({"metadata": {"name": "p", "labels": {"predictableip": label}},
            "spec": {"containers": [{"name": "c", "env": env}]}});
        let mut pod: serde_json::Value = pod;
        if label.is_none() {
            pod["metadata"]["labels"] = json!({});
        }
        Ways::of(&serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn a_pod_says_what_it_needs() {
        let env = json!([{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "MGMT_CIDR", "value": "172.24.0.0/16"}, {"name": "MGMT_GATEWAY", "value": "172.23.0.150"},
            {"name": "MGMT_CIDR0", "value": "172.25.0.0/24"}, {"name": "MGMT_CIDR1", "value": "nonsense"},
            {"name": "MGMT_CIDR2", "value": "fd00::/64"}, {"name": "MGMT_CIDR3", "value": "172.26.0.0/24"}]);
        let found = ways(&env, Some("172.23.0.97")).unwrap();
        let texts: Vec<String> = found.prefixes.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["172.24.0.0/16", "172.25.0.0/24", "172.26.0.0/24"]);
        assert_eq!(found.alias, "172.23.0.97".parse().ok());
        assert_eq!(ways(&env, None).unwrap().alias, None);
        assert_eq!(ways(&env, Some("what-is-it")).unwrap().alias, None);
        let env = json!([{"name": "MGMT_GATEWAY", "value": "fd00:cccc::1:1"}]);
        let found = ways(&env, Some("fd00-cccc--8b")).unwrap();
        assert_eq!(found.alias, "fd00:cccc::8b".parse().ok());
        assert_eq!(
            ways(&json!([{"name": "MGMT_CIDR", "value": "172.24.0.0/16"}]), Some("172.23.0.97")),
            None
        );
    }

    #[test]
    fn one_alias_is_there_and_nothing_else_goes() {
        let address = |link: u32, net: &str| Address::new(LinkIndex(link), net.parse().unwrap());
        let have = [
            address(1, "127.0.0.1/8"),
            address(2, "10.1.0.9/32"), // a cluster that gives pods single addresses
            address(3, "172.23.0.30/24"),
            address(3, "172.23.0.98/32"),
            address(3, "fd00:cccc::30/64"),
        ];
        let (stale, wanted) = changes(&have, "172.23.0.97".parse().ok()).unwrap();
        assert_eq!(stale, [address(3, "172.23.0.98/32")]);
        assert_eq!(wanted, Some(address(3, "172.23.0.97/32").without_dad()));
        let (stale, wanted) = changes(&have, "172.23.0.98".parse().ok()).unwrap();
        assert_eq!(
            (stale.len(), wanted.map(|address| address.ip())),
            (0, "172.23.0.98".parse().ok())
        );
        let (stale, wanted) = changes(&have, "fd00:cccc::8b".parse().ok()).unwrap();
        assert_eq!((stale.len(), wanted.map(|address| address.link)), (1, Some(LinkIndex(3))));
        assert_eq!(changes(&have, None).unwrap().0.len(), 1);
        let why = changes(&have, "192.0.2.1".parse().ok()).unwrap_err();
        assert_eq!(why, "no attachment of the pod is in the network of 192.0.2.1");
    }
}
