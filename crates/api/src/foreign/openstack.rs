//! Any kind of `*.openstack.org`: which networks its pods are attached to, which virtual addresses
//! its services ask for, and which NICs OVN uses.
//!
//! There are dozens of such kinds and they nest each other, but they all use the same few blocks.
//! So the tree is walked and the blocks are picked up wherever they stand. Sections that are
//! switched off (`enabled: false`) are left out: nothing comes of them.

use serde_json::Value;

use super::catalogue::{self, Port, Spot};
use super::metallb::{self, Wish};
use super::{At, Node, Place, Trouble, controlplane};

/// Whether the group belongs to an OpenStack operator, or to the one for RabbitMQ that they used.
pub fn is_group(group: &str) -> bool {
    group.ends_with(".openstack.org") || group == "rabbitmq.com"
}

/// How deep sections may be nested.
const DEEPEST: usize = 64;

/// What was picked up.
#[derive(Clone, Debug, Default)]
pub struct OpenStack<'a> {
    /// Names of attachments that pods want.
    pub attachments: Vec<At<&'a str>>,
    /// Services that ask for a virtual address.
    pub exposures: Vec<Exposure<'a>>,
    /// Physical networks of OVN and the NIC (or bridge) of each.
    pub nic_mappings: Vec<(&'a str, At<&'a str>)>,
}

/// A service that asks for a virtual address.
#[derive(Clone, Debug)]
pub struct Exposure<'a> {
    /// Name of the Service.
    pub service: String,
    /// Its ports; empty when they are not known.
    pub ports: Vec<Port>,
    /// What it asks for.
    pub wish: Wish<'a>,
    /// Whether the Service is of the type that gets an address at all.
    pub load_balancer: bool,
}

/// Reads the object.
pub fn read<'a>(object: &'a Value, trouble: &mut Trouble) -> OpenStack<'a> {
    let mut walk = Walk {
        kind: object["kind"].as_str().unwrap_or_default(),
        name: object["metadata"]["name"].as_str().unwrap_or_default(),
        sections: Vec::new(),
        found: OpenStack::default(),
        trouble,
    };
    if let Some(spec) = Node::root(object).get("spec") {
        walk.map(&spec);
    }
    if walk.kind == controlplane::KIND {
        // Nothing comes of sections that are off unless asked for.
        let off = |place: &Place| {
            let section = place.path.as_str().strip_prefix("spec.").unwrap_or_default();
            let name = section.split(['.', '[']).next().unwrap_or_default();
            controlplane::section(name).is_some_and(|known| !known.is_wanted(&object["spec"]))
        };
        walk.found.attachments.retain(|name| !off(&name.place));
        walk.found.exposures.retain(|exposure| !off(&exposure.wish.place));
        walk.found.nic_mappings.retain(|(_, nic)| !off(&nic.place));
    }
    walk.found
}

struct Walk<'a, 't> {
    kind: &'a str,
    name: &'a str,
    sections: Vec<&'a str>,
    found: OpenStack<'a>,
    trouble: &'t mut Trouble,
}

impl<'a> Walk<'a, '_> {
    fn map(&mut self, node: &Node<'a>) {
        if self.sections.len() > DEEPEST || node.value["enabled"] == false {
            return;
        }
        // Paths are made only for the few blocks that matter: most of the tree does not.
        for (key, value) in node.value.as_object().into_iter().flatten() {
            if value.is_null() {
                continue;
            }
            let below = || Node { value, place: node.place.child(key) };
            match key.as_str() {
                "networkAttachments" => {
                    let names = node.texts(key, self.trouble);
                    self.found.attachments.extend(names);
                }
                "networkAttachment" | "octaviaNetworkAttachment" => {
                    let name = node.text(key, self.trouble).filter(|name| !name.value.is_empty());
                    self.found.attachments.extend(name);
                }
                "externalEndpoints" => {
                    for block in node.list(key, self.trouble) {
                        self.external_endpoint(&block, node);
                    }
                }
                "externalEndpoint" => self.external_endpoint(&below(), node),
                "override" if value["service"].is_object() => self.overrides(&below(), node),
                "nicMappings" => {
                    for (physical, nic) in below().entries() {
                        let nic = nic.as_text(self.trouble);
                        self.found.nic_mappings.extend(nic.map(|nic| (physical, nic)));
                    }
                }
                _ if value.is_object() => {
                    self.sections.push(key);
                    self.map(&below());
                    self.sections.pop();
                }
                _ if value.is_array() => {
                    self.sections.push(key);
                    for element in below().elements().filter(|node| node.value.is_object()) {
                        self.map(&element);
                    }
                    self.sections.pop();
                }
                _ => {}
            }
        }
    }

    fn external_endpoint(&mut self, block: &Node<'a>, component: &Node<'a>) {
        let wish = metallb::external_endpoint(block, self.trouble);
        let endpoint = block.text("endpoint", self.trouble).map(|text| text.value);
        self.expose(wish, endpoint, component, true);
    }

    fn overrides(&mut self, block: &Node<'a>, component: &Node<'a>) {
        let Some(service) = block.get("service") else { return };
        let single = ["metadata", "spec"].iter().any(|key| service.value.get(key).is_some());
        if single {
            self.override_of(&service, None, component);
            return;
        }
        for (endpoint, service) in service.entries() {
            self.override_of(&service, Some(endpoint), component);
        }
    }

    fn override_of(&mut self, service: &Node<'a>, endpoint: Option<&'a str>, component: &Node<'a>) {
        let load_balancer = service.value["spec"]["type"] == "LoadBalancer";
        let wish = service.get("metadata").map(|metadata| metallb::wish(&metadata, self.trouble));
        let wish = wish.unwrap_or_else(|| Wish { place: service.place.clone(), ..Wish::default() });
        if load_balancer || wish.pool.is_some() || !wish.addresses.is_empty() {
            self.expose(wish, endpoint, component, load_balancer);
        }
    }

    fn expose(
        &mut self,
        wish: Wish<'a>,
        endpoint: Option<&str>,
        component: &Node<'a>,
        load_balancer: bool,
    ) {
        let database = component.value["dbType"].as_str();
        let spot =
            Spot { sections: &self.sections, kind: self.kind, name: self.name, endpoint, database };
        let catalogue::Listening { service, ports } = catalogue::find(spot);
        self.found.exposures.push(Exposure { service, ports, wish, load_balancer });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_are_found_wherever_they_stand() {
        let annotations = json!({"metallb.universe.tf/loadBalancerIPs": "172.17.0.80"});
        let object = json!({"kind": "OpenStackControlPlane", "metadata": {"name": "x"}, "spec": {
            "cinder": {"template": {"cinderVolumes": {"volume1": {"networkAttachments": ["storage"]}}}},
            "keystone": {"template": {"override": {"service": {"internal": {
                "metadata": {"annotations": annotations}, "spec": {"type": "LoadBalancer"}}}}}},
            "dns": {"template": {"externalEndpoints": [{"ipAddressPool": "ctlplane"}]}},
            "heat": {"enabled": false, "template": {"heatAPI": {"networkAttachments": ["gone"]}}},
            "ovn": {"template": {"ovnController": {"networkAttachment": "tenant", "nicMappings": {"datacentre": "ospbr"}}}},
            "neutron": {"template": {"networkAttachments": "internalapi"}},
        }});
        let mut trouble = Trouble::default();
        let found = read(&object, &mut trouble);
        let attachments: Vec<_> =
            found.attachments.iter().map(|a| (a.place.path.as_str(), a.value)).collect();
        assert_eq!(
            attachments,
            [
                ("spec.cinder.template.cinderVolumes.volume1.networkAttachments[0]", "storage"),
                ("spec.ovn.template.ovnController.networkAttachment", "tenant"),
            ]
        );
        let exposures: Vec<_> = found
            .exposures
            .iter()
            .map(|e| (e.service.as_str(), e.wish.place.path.as_str()))
            .collect();
        assert_eq!(
            exposures,
            [
                ("dnsmasq-dns", "spec.dns.template.externalEndpoints[0]"),
                ("keystone-internal", "spec.keystone.template.override.service.internal.metadata"),
            ]
        );
        assert_eq!(found.nic_mappings[0].0, "datacentre");
        assert_eq!(trouble.0[0].place.path.as_str(), "spec.neutron.template.networkAttachments");
    }
}
