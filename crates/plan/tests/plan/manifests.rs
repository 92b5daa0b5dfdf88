//! The seed's own manifests with their contradictions, and a plan that fits.

use crate::support::{folder, lines, report};

#[test]
fn the_reference_plan_fits() {
    let findings = report(&folder("reference")).findings;
    assert!(findings.is_empty(), "{findings:#?}");
}

/// The numbers are those of the table of contradictions in the seed.
#[test]
fn every_contradiction_of_the_seed_is_found() {
    let found = lines(&folder("seed"));
    let expected = [
        // 1: the NetConfig swallows the attachment's range and the pool.
        "LB101 NetConfig/netconfig NetworkAttachmentDefinition/internalapi",
        "LB101 NetConfig/netconfig IPAddressPool/internalapi",
        // 2: the same on the storage network.
        "LB101 NetConfig/netconfig NetworkAttachmentDefinition/storage",
        // 3: VLANs and prefixes are other ones than the attachments' and the node policy's.
        "LB201 NetConfig/netconfig NetworkAttachmentDefinition/storage NodeNetworkConfigurationPolicy/osp",
        "LB201 NetConfig/netconfig NetworkAttachmentDefinition/tenant NodeNetworkConfigurationPolicy/osp",
        "LB202 NetworkAttachmentDefinition/tenant NetConfig/netconfig",
        "LB204 NetConfig/netconfig NetworkAttachmentDefinition/tenant",
        "LB206 DNSData/somehosts NetConfig/netconfig",
        // 4: MTU 9000 over an interface of 1500.
        "LB203 NetConfig/netconfig NodeNetworkConfigurationPolicy/osp",
        "LB207 IPSet/edpm-compute-0 NetConfig/netconfig",
        // 7: there is no pool ctlplane.
        "LB301 OpenStackControlPlane/openstack-network-isolation",
        // 8: names match in lower case only.
        "LB602 NetConfig/netconfig NetworkAttachmentDefinition/internalapi",
        "LB602 NetConfig/netconfig NetworkAttachmentDefinition/storage",
        "LB602 NetConfig/netconfig NetworkAttachmentDefinition/tenant",
        // 9: networkAttachents (twice) and storge.
        "LB601 Glance/glance",
        "LB601 Glance/glance",
        "LB603 DNSData/somehosts",
        // 10: one address for all workers.
        "LB501 NodeNetworkConfigurationPolicy/osp",
        // Not in the table: the next hop of External is in the range that is handed out.
        "LB105 NetConfig/netconfig",
    ];
    let mut expected = expected.map(str::to_owned).to_vec();
    let mut found = found;
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_message_names_both_ranges_and_what_they_share() {
    let objects = folder("seed");
    let report = report(&objects);
    let overlap = report.findings.iter().find(|finding| finding.code == "LB101").unwrap();
    assert_eq!(
        overlap.message,
        "172.17.0.10-172.17.0.250 of NetConfig netconfig, network InternalApi and \
         172.17.0.30-172.17.0.70 of NetworkAttachmentDefinition openstack/internalapi share \
         172.17.0.30-172.17.0.70 (41 addresses)"
    );
    let [first, second] = &overlap.subjects[..] else { panic!("{overlap:?}") };
    assert_eq!(first.path.as_str(), "spec.networks[1].subnets[0].allocationRanges[0]");
    assert_eq!(second.path.as_str(), "spec.config");
    assert_eq!(second.inner.as_ref().unwrap().as_str(), "ipam.range_start");
}

/// Snapshots: `LANDBRIDGE_BLESS=1` writes them anew.
#[test]
fn plans_print_as_tables() {
    for name in ["seed", "reference"] {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/data/{name}.plan.txt"));
        let text = report(&folder(name)).plan.to_string();
        if std::env::var_os("LANDBRIDGE_BLESS").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(&file).unwrap(), "{}", file.display());
    }
}

#[test]
fn plans_serialise() {
    let plan = report(&folder("reference")).plan;
    let value = serde_json::to_value(&plan).unwrap();
    let segments = value["segments"].as_array().unwrap();
    let names: Vec<_> = segments.iter().map(|segment| segment["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "ctlplane",
            "datacentre",
            "designate",
            "designateext",
            "external",
            "internalapi",
            "octavia",
            "storage",
            "storagemgmt",
            "tenant"
        ]
    );
    let internal = &segments[5];
    assert_eq!(internal["vlan"], 20);
    assert_eq!(internal["subnets"][0]["unowned"][0], "172.17.0.0-172.17.0.4");
    assert_eq!(internal["ranges"][1]["by"], "MetalLB");
    assert_eq!(internal["ranges"][1]["taken"], 3);
    assert_eq!(internal["ranges"][1]["free"], 8);
}
