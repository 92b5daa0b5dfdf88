//! The annotation as the OpenStack operators write it.
//!
//! Each network's interface is called like its definition, as far as that fits. Two long names
//! may then become one interface; the operators do not notice, so we say it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;

use super::{BadAnnotation, Selection};
use crate::json::Object;
use crate::names;

/// A network an operator wants its pods in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The definition.
    pub name: String,
    /// `ipam.gateway` of the definition, which becomes the pod's default route.
    pub gateway: Option<IpAddr>,
}

/// Two definitions whose interfaces would have one name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("networks {first} and {second} both have the interface {interface}, cut to 15 bytes")]
pub struct Collision {
    /// The one before.
    pub first: String,
    /// The one after.
    pub second: String,
    /// The name of both.
    pub interface: String,
}

/// The networks for the annotation, in order, and what is wrong with them.
pub fn request(namespace: &str, wanted: &[Wanted]) -> (Vec<Selection>, Vec<Collision>) {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut collisions = Vec::new();
    let mut networks = Vec::with_capacity(wanted.len());
    for Wanted { name, gateway } in wanted {
        let interface = names::cut_to_interface(name);
        if let Some(first) = seen.insert(interface, name) {
            let (first, second) = (first.to_owned(), name.clone());
            collisions.push(Collision { first, second, interface: interface.to_owned() });
        }
        networks.push(Selection {
            interface: interface.to_owned(),
            default_route: gateway.map(|gateway| vec![gateway]),
            ..Selection::new(namespace, name.clone())
        });
    }
    (networks, collisions)
}

/// `ipam.gateway` of a definition's configuration. An empty configuration has none.
pub fn gateway_of_definition(config: &str) -> Result<Option<IpAddr>, BadAnnotation> {
    if config.is_empty() {
        return Ok(None);
    }
    let config: Object = serde_json::from_str(config).map_err(BadAnnotation::Json)?;
    let gateway = config.get("ipam").and_then(|ipam| ipam.get("gateway")).and_then(Value::as_str);
    match gateway.unwrap_or_default() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| BadAnnotation::At {
            network: config.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            why: super::Why::Ip(text.to_owned()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::print;
    use super::*;

    fn wanted(name: &str, gateway: Option<&str>) -> Wanted {
        Wanted { name: name.into(), gateway: gateway.map(|text| text.parse().unwrap()) }
    }

    #[test]
    fn the_annotation_is_written_as_lib_common_writes_it() {
        let text = |list: &[Wanted]| print(&request("foo", list).0).unwrap();
        assert_eq!(text(&[]), "[]");
        assert_eq!(
            text(&[wanted("one", Some("172.17.0.1")), wanted("two", None)]),
            r#"[{"name":"one","namespace":"foo","interface":"one","default-route":["172.17.0.1"]},{"name":"two","namespace":"foo","interface":"two"}]"#
        );
    }

    #[test]
    fn long_names_are_cut_and_collisions_told() {
        let list = [wanted("a-very-long-network-1", None), wanted("a-very-long-network-2", None)];
        let (networks, collisions) = request("foo", &list);
        assert_eq!(networks[0].interface, "a-very-long-net");
        assert_eq!(
            collisions[0].to_string(),
            "networks a-very-long-network-1 and a-very-long-network-2 both have the interface \
             a-very-long-net, cut to 15 bytes"
        );
    }

    #[test]
    fn the_gateway_is_read_out_of_the_definition() {
        let gateway = |text| gateway_of_definition(text).map_err(|error| error.to_string());
        assert_eq!(gateway(""), Ok(None));
        assert_eq!(gateway(r#"{"ipam":{"gateway":""}}"#), Ok(None));
        let found = gateway(r#"{"ipam":{"gateway":"fd00::1"}}"#);
        assert_eq!(found, Ok(Some("fd00::1".parse().unwrap())));
        assert!(gateway("{").is_err());
        assert!(gateway(r#"{"ipam":{"gateway":"x"}}"#).is_err());
    }
}
