//! Service: what one of type LoadBalancer asks for.

use serde_json::Value;

use super::catalogue::Port;
use super::metallb::{self, Wish};
use super::openstack::Exposure;
use super::{Node, Trouble};

/// Reads the object; `None` when it is not of type LoadBalancer.
pub fn read<'a>(object: &'a Value, trouble: &mut Trouble) -> Option<Exposure<'a>> {
    let root = Node::root(object);
    let spec = root.get("spec")?;
    if spec.text("type", trouble)?.value != "LoadBalancer" {
        return None;
    }
    let mut wish = root
        .get("metadata")
        .map_or_else(Wish::default, |metadata| metallb::wish(&metadata, trouble));
    if wish.addresses.is_empty() {
        wish.addresses
            .extend(spec.text("loadBalancerIP", trouble).filter(|ip| !ip.value.is_empty()));
    }
    if wish.addresses.is_empty()
        && let Some(balancer) = root.at(&["status", "loadBalancer"])
    {
        let ingress = balancer.list("ingress", trouble);
        wish.addresses.extend(ingress.iter().filter_map(|entry| entry.text("ip", trouble)));
    }
    let mut ports = Vec::new();
    for entry in spec.list("ports", trouble) {
        let protocol = match entry.text("protocol", trouble).map_or("TCP", |text| text.value) {
            "UDP" => "UDP",
            "SCTP" => "SCTP",
            _ => "TCP",
        };
        let Some(number) = entry.number("port", trouble) else { continue };
        match u16::try_from(number.value) {
            Ok(number) => ports.push(Port { protocol, number }),
            Err(_) => trouble.note(&number.place, "must be between 1 and 65535"),
        }
    }
    let service = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Some(Exposure { service, ports, wish, load_balancer: true })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_asked_for_in_three_ways() {
        let service = |metadata: Value, spec: Value, status: Value| {
            let mut object = json!({"metadata": metadata, "status": status});
            object["spec"] = spec;
            object["spec"]["ports"] = json!([{"port": 53, "protocol": "UDP"}, {"port": 80}]);
            object
        };
        let ingress = json!({"loadBalancer": {"ingress": [{"ip": "10.0.0.3"}]}});
        let annotated =
            json!({"name": "a", "annotations": {"metallb.io/loadBalancerIPs": "10.0.0.1"}});
        let cases = [
            (service(annotated, json!({"type": "LoadBalancer"}), ingress.clone()), "10.0.0.1"),
            (
                service(
                    json!({"name": "a"}),
                    json!({"type": "LoadBalancer", "loadBalancerIP": "10.0.0.2"}),
                    json!({}),
                ),
                "10.0.0.2",
            ),
            (service(json!({"name": "a"}), json!({"type": "LoadBalancer"}), ingress), "10.0.0.3"),
        ];
        for (object, address) in cases {
            let mut trouble = Trouble::default();
            let found = read(&object, &mut trouble).unwrap();
            assert_eq!(found.wish.addresses[0].value, address);
            assert_eq!(found.ports[0], Port { protocol: "UDP", number: 53 });
            assert_eq!(found.ports.len(), 2);
        }
        let inner = json!({"spec": {"type": "ClusterIP"}});
        assert!(read(&inner, &mut Trouble::default()).is_none());
    }
}
