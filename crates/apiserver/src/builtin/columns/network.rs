//! Services, their endpoints, and network policies.

use landbridge_machinery::object;
use landbridge_machinery::table::{Column, Columns, age};
use serde_json::Value;

use super::read::{NONE, first_three, join, labels, list, number, selector, text, text_or};

pub(super) fn service() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Type", "How the service is exposed."),
        Column::new("Cluster-IP", "Virtual address inside the cluster."),
        Column::new("External-IP", "Addresses outside the cluster."),
        Column::new("Port(s)", "Ports, node ports and protocols."),
        Column::age(),
        Column::new("Selector", "Labels of the pods behind the service.").wide(),
    ];
    Columns::Computed(columns, |it, now| {
        let spec = &it["spec"];
        let cluster_ip = text_or(&spec["clusterIPs"][0], text_or(&spec["clusterIP"], NONE));
        vec![
            object::name(it).into(),
            service_type(it).into(),
            cluster_ip.into(),
            external_ip(it).into(),
            ports(&spec["ports"]).into(),
            age(it, now).into(),
            labels(&spec["selector"]).into(),
        ]
    })
}

fn service_type(service: &Value) -> &str {
    text_or(&service["spec"]["type"], "ClusterIP")
}

fn external_ip(service: &Value) -> String {
    let given = list(&service["spec"]["externalIPs"]).iter().map(text).map(str::to_owned);
    let mut addresses: Vec<String> = match service_type(service) {
        "ClusterIP" | "NodePort" => Vec::new(),
        "LoadBalancer" => balancer_addresses(service),
        "ExternalName" => return text(&service["spec"]["externalName"]).to_owned(),
        _ => return "<unknown>".to_owned(),
    };
    addresses.extend(given);
    match (addresses.is_empty(), service_type(service)) {
        (false, _) => addresses.join(","),
        (true, "LoadBalancer") => "<pending>".to_owned(),
        (true, _) => NONE.to_owned(),
    }
}

/// What the load balancer has assigned, sorted as upstream's set is.
fn balancer_addresses(service: &Value) -> Vec<String> {
    let mut addresses: Vec<String> = list(&service["status"]["loadBalancer"]["ingress"])
        .iter()
        .map(|ingress| text_or(&ingress["ip"], text(&ingress["hostname"])).to_owned())
        .filter(|address| !address.is_empty())
        .collect();
    addresses.sort();
    addresses.dedup();
    addresses
}

fn ports(value: &Value) -> String {
    let line = |port: &Value| {
        let (own, protocol) = (number(&port["port"]), text_or(&port["protocol"], "TCP"));
        match number(&port["nodePort"]) {
            0 => format!("{own}/{protocol}"),
            node => format!("{own}:{node}/{protocol}"),
        }
    };
    match list(value) {
        [] => NONE.to_owned(),
        ports => join(ports.iter().map(line), ","),
    }
}

pub(super) fn endpoints() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Endpoints", "Addresses and ports behind the service."),
        Column::age(),
    ];
    Columns::Computed(columns, |it, now| {
        vec![object::name(it).into(), subsets(&it["subsets"]).into(), age(it, now).into()]
    })
}

fn subsets(value: &Value) -> String {
    let subsets = list(value);
    if subsets.is_empty() {
        return NONE.to_owned();
    }
    let mut found = Vec::new();
    for subset in subsets {
        let addresses = list(&subset["addresses"]);
        let ports = list(&subset["ports"]);
        // A headless service may have no ports at all.
        if ports.is_empty() {
            found.extend(addresses.iter().map(|address| text(&address["ip"]).to_owned()));
        }
        for port in ports {
            let port = number(&port["port"]);
            found.extend(addresses.iter().map(|address| host_port(text(&address["ip"]), port)));
        }
    }
    first_three(&found)
}

fn host_port(host: &str, port: i64) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

pub(super) fn endpoint_slice() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("AddressType", "Family of the addresses."),
        Column::new("Ports", "Ports of every endpoint."),
        Column::new("Endpoints", "Addresses of the endpoints."),
        Column::age(),
    ];
    Columns::Computed(columns, |it, now| {
        let endpoints = list(&it["endpoints"]).iter();
        let addresses: Vec<String> = endpoints
            .flat_map(|endpoint| list(&endpoint["addresses"]))
            .map(|address| text(address).to_owned())
            .collect();
        let ports: Vec<String> = list(&it["ports"]).iter().map(slice_port).collect();
        vec![
            object::name(it).into(),
            text(&it["addressType"]).into(),
            or_unset(first_three(&ports)).into(),
            or_unset(first_three(&addresses)).into(),
            age(it, now).into(),
        ]
    })
}

/// A port without a number is every port, unless it has a name.
fn slice_port(port: &Value) -> String {
    port["port"]
        .as_i64()
        .map_or_else(|| text_or(&port["name"], "*").to_owned(), |port| port.to_string())
}

fn or_unset(line: String) -> String {
    if line.is_empty() { "<unset>".to_owned() } else { line }
}

pub(super) fn network_policy() -> Columns {
    let columns = vec![
        Column::name(),
        Column::new("Pod-Selector", "Labels of the pods the policy is about."),
        Column::age(),
    ];
    Columns::Computed(columns, |it, now| {
        let pods = selector(&it["spec"]["podSelector"]);
        vec![object::name(it).into(), pods.into(), age(it, now).into()]
    })
}
