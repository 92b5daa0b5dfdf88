//! Figures in Prometheus' form, under MetalLB's names.

use std::fmt::Write as _;
use std::net::IpAddr;

use landbridge_l2::announcer::Counts;

use super::plan::Plan;
use super::wire::Report;

/// Where they are served, as MetalLB's speakers did; only on the node itself.
pub const PORT: u16 = 7472;

type Figure = fn(&Counts) -> u64;

const PER_ADDRESS: [(&str, &str, Figure); 3] = [
    ("requests_received", "ARP and NDP requests for an address held here", |c| c.requests),
    ("responses_sent", "Answers sent for an address held here", |c| c.responses),
    ("gratuitous_sent", "Frames sent unasked for an address held here", |c| c.gratuitous),
];

/// All of them as text.
pub fn render(node: &str, plan: &Plan, report: &Report, stale: bool) -> String {
    let mut text = String::new();
    for (name, help, figure) in PER_ADDRESS {
        let _ = writeln!(text, "# HELP metallb_layer2_{name} {help}");
        let _ = writeln!(text, "# TYPE metallb_layer2_{name} counter");
        for (ip, counts) in &report.counts {
            let _ = writeln!(text, "metallb_layer2_{name}{{ip=\"{ip}\"}} {}", figure(counts));
        }
    }
    gauge(&mut text, "metallb_speaker_announced", "Services announced from this node");
    for (service, ip) in announced(plan, report) {
        let labels = format!(
            "ip=\"{ip}\",node=\"{}\",protocol=\"layer2\",service=\"{}\"",
            escape(node),
            escape(&service)
        );
        let _ = writeln!(text, "metallb_speaker_announced{{{labels}}} 1");
    }
    let loaded = "1 once the configuration was read";
    single(&mut text, "metallb_k8s_client_config_loaded_bool", loaded, 1);
    let help = "1 while a part of the configuration cannot be read";
    single(&mut text, "metallb_k8s_client_config_stale_bool", help, u64::from(stale));
    let members = report.live.len() as u64 + 1;
    single(&mut text, "landbridge_members_live", "Agents that live, this one included", members);
    let help = "1 when this agent takes part in announcing";
    single(&mut text, "landbridge_members_ready", help, u64::from(report.ready));
    let help = "Datagrams on the port of members that were not authentic";
    single(&mut text, "landbridge_members_refused", help, report.refused);
    text
}

fn announced(plan: &Plan, report: &Report) -> Vec<(String, IpAddr)> {
    let held = report.held.iter().filter(|(_, works)| **works);
    let units = held.filter_map(|(key, _)| plan.units.get(key));
    let services = units.flat_map(|unit| &unit.services);
    services
        .flat_map(|((namespace, name), service)| {
            service.addresses.iter().map(move |ip| (format!("{namespace}/{name}"), *ip))
        })
        .collect()
}

fn gauge(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
}

fn single(text: &mut String, name: &str, help: &str, value: u64) {
    gauge(text, name, help);
    let _ = writeln!(text, "{name} {value}");
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
