//! DNSMasq: what is filled in, refused and pointed out.

use landbridge_api::Defaults;
use landbridge_machinery::gvk::GroupVersionKind;
use landbridge_machinery::hooks::{Operation, Request};
use serde_json::{Value, json};

use crate::support::{World, changed, object, refusals};

fn good() -> Value {
    object(
        "DNSMasq",
        "dnsmasq",
        json!({"options": [{"key": "server", "values": ["192.168.122.1"]}]}),
    )
}

#[test]
fn image_and_local_are_filled_in() {
    let image = Defaults::default().dnsmasq_image;
    let local = json!({"key": "local", "values": ["/openstack.svc/"]});
    let server = json!({"key": "server", "values": ["192.168.122.1"]});
    let example = json!({"key": "local", "values": ["/example.com/"]});
    let cases = [
        (json!({}), json!({"containerImage": image, "options": [local]})),
        (Value::Null, json!({"containerImage": image, "options": [local]})),
        (json!({"containerImage": "x"}), json!({"containerImage": "x", "options": [local]})),
        (
            json!({"containerImage": "", "options": [server]}),
            json!({"containerImage": image, "options": [server, local]}),
        ),
        (
            json!({"containerImage": null, "options": [example]}),
            json!({"containerImage": image, "options": [example]}),
        ),
        (json!({"options": null}), json!({"containerImage": image, "options": [local]})),
        // What the schema will refuse is left alone.
        (json!({"options": "x"}), json!({"containerImage": image, "options": "x"})),
        (json!({"options": [1]}), json!({"containerImage": image, "options": [1, local]})),
        (json!("x"), json!("x")),
    ];
    for (given, expected) in cases {
        let mutated = World::default().mutate(object("DNSMasq", "dnsmasq", given.clone()));
        assert_eq!(mutated["spec"], expected, "{given}");
        assert_eq!(World::default().mutate(mutated.clone()), mutated, "twice is once");
    }
}

#[test]
fn an_installation_names_its_image() {
    let defaults =
        Defaults { dnsmasq_image: "registry.local/dns:1".to_owned(), ..Defaults::default() };
    let hooks = landbridge_api::hooks_with(&defaults, "network.openstack.org", "DNSMasq").unwrap();
    let mut object = good();
    let request = Request {
        operation: Operation::Create,
        kind: &GroupVersionKind::new("network.openstack.org", "v1beta1", "DNSMasq"),
        namespace: Some("openstack"),
        name: "dnsmasq",
        old: None,
        user: "tester",
        dry_run: false,
        objects: &World::default(),
    };
    hooks.mutate(&request, &mut object).unwrap();
    assert_eq!(object["spec"]["containerImage"], "registry.local/dns:1");
}

#[test]
fn what_is_refused() {
    let control = "must not contain line breaks or other control characters";
    let cases = [
        (
            json!({"topologyRef": {"name": "spread", "namespace": "other"}}),
            vec![
                r#"spec.topologyRef.namespace: Invalid value: "other": Customizing namespace field is not supported"#.to_owned(),
            ],
        ),
        (
            json!({"options": [{"key": "server", "values": ["1.1.1.1", "2.2.2.2\nuser=root"]}]}),
            vec![format!(
                r#"spec.options[0].values[1]: Invalid value: "2.2.2.2\nuser=root": {control}"#
            )],
        ),
        (
            json!({"override": {"service": {"spec": {"type": "Balancer", "sessionAffinity": "IP"}}}}),
            vec![
                r#"spec.override.service.spec.type: Unsupported value: "Balancer": supported values: "ClusterIP", "NodePort", "LoadBalancer", "ExternalName""#.to_owned(),
                r#"spec.override.service.spec.sessionAffinity: Unsupported value: "IP": supported values: "None", "ClientIP""#.to_owned(),
            ],
        ),
    ];
    for (spec, expected) in cases {
        let bad = object("DNSMasq", "dnsmasq", spec);
        assert_eq!(refusals(World::default().create(&bad)), expected);
        assert_eq!(refusals(World::default().update(&good(), &bad)), expected);
        let labelled = changed(&bad, |o| o["metadata"]["labels"] = json!({"a": "b"}));
        assert_eq!(World::default().update(&bad, &labelled), Ok(vec![]), "spec unchanged");
        assert_eq!(World::default().delete(&bad), Ok(vec![]));
    }
}

#[test]
fn both_generations_pass() {
    let seed = json!({
        "externalEndpoints": [{"ipAddressPool": "ctlplane", "loadBalancerIPs": ["192.168.122.80"]}],
        "debug": {"service": true},
    });
    let today = json!({
        "override": {"service": {
            "metadata": {"annotations": {"metallb.universe.tf/address-pool": "ctlplane"}},
            "spec": {"type": "LoadBalancer", "externalTrafficPolicy": ""},
        }},
        "topologyRef": {"name": "spread", "namespace": "openstack"},
        "nodeSelector": {},
    });
    for spec in [seed, today] {
        let mut world = World::default();
        assert_eq!(world.apply(object("DNSMasq", "dnsmasq", spec)), Ok(vec![]));
    }
}

#[test]
fn what_is_pointed_out() {
    let object = object(
        "DNSMasq",
        "dnsmasq",
        json!({
            "externalEndpoints": [{"ipAddressPool": "ctlplane", "loadBalancerIPs": ["x"]}],
            "override": {"service": {}},
        }),
    );
    let expected = [
        r#"spec.externalEndpoints[0].loadBalancerIPs[0]: "x" is not an IP address"#,
        "spec.externalEndpoints: override.service is given as well and wins; give only one of them",
    ];
    assert_eq!(World::default().create(&object).unwrap(), expected);
}

#[test]
fn the_schema_refuses() {
    let cases = [
        (json!({"options": [{"key": "user", "values": []}]}), "spec.options[0].key"),
        (json!({"options": [{"key": "server"}]}), "spec.options[0].values"),
        (json!({"replicas": -1}), "spec.replicas"),
        (json!({"externalEndpoints": [{"ipAddressPool": ""}]}), "ipAddressPool"),
    ];
    for (spec, path) in cases {
        let texts = refusals(World::default().apply(object("DNSMasq", "dnsmasq", spec)));
        assert!(texts.len() == 1 && texts[0].contains(path), "{texts:?}");
    }
}
