//! What only OVN has: definitions for physical networks, and databases that others find.

use serde_json::{Value, json};

use super::attachments::Having;
use super::expose::Exposed;
use super::generation::Generation;
use super::kinds::Kind;
use super::parts::Part;
use super::parts::catalogue::{bond, database};
use super::plan::{Context, Plan, Standing, Wanted};
use crate::making::writes::is_anothers;

/// Definitions that the controllers' pods need.
#[derive(Debug, Default)]
pub struct Definitions {
    /// To be made.
    pub wanted: Vec<Wanted>,
    /// Of these, the ones that are not there yet.
    pub pending: Vec<String>,
    /// Made here once, and somebody has said since what they are: those of the seed, when it is applied after the patch.
    pub released: Vec<String>,
}

/// A definition for each physical network, and for each link of a bond.
pub fn definitions(context: &Context<'_>) -> Definitions {
    let mut found = Definitions::default();
    if context.kind != Kind::OVNController {
        return found;
    }
    let spec = context.spec();
    for (network, nic) in spec["nicMappings"].as_object().into_iter().flatten() {
        let Some(nic) = nic.as_str() else { continue };
        let Some(bond) = bond(spec, nic) else {
            define(context, network, &device(network, nic), &mut found);
            continue;
        };
        let texts = bond["links"].as_array().into_iter().flatten();
        let links: Vec<&str> = texts.filter_map(Value::as_str).collect();
        for link in &links {
            define(context, link, &device(link, link), &mut found);
        }
        let config = json!({
            "cniVersion": "0.3.1", "name": network, "type": "bond",
            "mode": bond["mode"].as_str().unwrap_or("active-backup"),
            "mtu": bond["mtu"].as_i64().unwrap_or(1500),
            "failOverMac": 1, "linksInContainer": true, "miimon": "100",
            "links": links.iter().map(|link| json!({"name": super::attachments::interface(link)})).collect::<Vec<_>>(),
            "ipam": {},
        });
        define(context, network, &config.to_string(), &mut found);
    }
    found
}

/// A NIC that is moved into the pod. The fields stand as ovn-operator writes them.
fn device(network: &str, nic: &str) -> String {
    let text = |text: &str| Value::from(text).to_string();
    format!(
        r#"{{"cniVersion":"0.3.1","name":{},"type":"host-device","device":{}}}"#,
        text(network),
        text(nic)
    )
}

fn define(context: &Context<'_>, name: &str, config: &str, found: &mut Definitions) {
    let kind = Kind::NetworkAttachmentDefinition;
    match context.standing(kind, name) {
        // Somebody else's is used as it is.
        Standing::Taken(_) => return,
        Standing::Absent => found.pending.push(name.to_owned()),
        Standing::Ours(live) if is_anothers(live, "config", context.manager) => {
            return found.released.push(name.to_owned());
        }
        Standing::Ours(_) => {}
    }
    let object = context.object(kind, name, json!({"config": config}));
    found.wanted.push(Wanted { kind, object, whole: &["/spec"] });
}

/// Where the database is found, in the status; and names for its pods' addresses.
pub fn status(
    context: &Context<'_>,
    generation: Generation,
    parts: &[Part<'_>],
    exposed: &[Vec<Exposed>],
    plan: &mut Plan,
) {
    let (Kind::OVNDBCluster, Some(part)) = (context.kind, parts.first()) else { return };
    let (name, _, port) = database(context.spec());
    let namespace = context.namespace();
    let labels = [("service", part.service.as_str()), ("component", part.name.as_str())];
    let having = Having::of(context.world, namespace, &labels);
    let network = part.attachments.first().map(|nad| format!("{namespace}/{nad}"));
    let addresses: Vec<&String> =
        network.and_then(|network| having.addresses.get(&network)).into_iter().flatten().collect();
    let is_balanced = exposed.iter().flatten().flat_map(|one| &one.wanted).any(|wanted| {
        wanted.kind == Kind::Service && wanted.object["spec"]["type"] == "LoadBalancer"
    });
    let inner = format!("tcp:{name}.{namespace}.svc.cluster.local:{port}");
    let outer = match generation {
        Generation::First => {
            let each: Vec<String> =
                addresses.iter().map(|ip| format!("tcp:{}:{port}", bracketed(ip))).collect();
            each.join(",")
        }
        Generation::Today => format!("tcp:{name}.{namespace}.svc:{port}"),
    };
    plan.status.insert("internalDbAddress".to_owned(), inner.into());
    plan.status.insert("dbAddress".to_owned(), outer.into());
    if generation == Generation::Today && !part.attachments.is_empty() && !is_balanced {
        names(context, name, &addresses, plan);
    }
}

/// One name for the addresses of all pods.
fn names(context: &Context<'_>, name: &str, addresses: &[&String], plan: &mut Plan) {
    let kind = Kind::DNSData;
    let taken = matches!(context.standing(kind, name), Standing::Taken(_));
    if taken || addresses.is_empty() {
        // While pods restart the names stay: whoever asks is better off waiting than not finding.
        plan.kept.insert((kind, name.to_owned()));
        return;
    }
    let hostname = format!("{name}.{}.svc", context.namespace());
    let hosts: Vec<Value> =
        addresses.iter().map(|ip| json!({"ip": ip, "hostnames": [hostname]})).collect();
    let spec = json!({"hosts": hosts, "dnsDataLabelSelectorValue": "dnsdata"});
    let object = context.object(kind, name, spec);
    plan.wanted.push(Wanted { kind, object, whole: &["/spec"] });
}

fn bracketed(ip: &str) -> String {
    if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() }
}
