//! Which OpenStack service listens on which ports, found by where it is configured.
//!
//! A control plane holds one section per service (`spec.cinder.template.cinderAPI`); each service
//! also has kinds of its own (`CinderAPI`). Both lead here: the names of the sections, from the
//! inside out, and then the kind.

/// A port as MetalLB tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: &'static str,
    /// The number.
    pub number: u16,
}

/// How the Service of a section is named.
#[derive(Clone, Copy, PartialEq)]
enum Naming {
    /// `cinder-internal`, or with the name of the instance `glance-default-internal`.
    Endpoint,
    /// Always the same.
    Fixed,
    /// Like the instance (`rabbitmq-cell1`).
    Instance,
}

struct Entry {
    /// Sections and kinds, in lower case.
    places: &'static [&'static str],
    service: &'static str,
    naming: Naming,
    tcp: &'static [u16],
    udp: &'static [u16],
}

const fn api(places: &'static [&'static str], service: &'static str, tcp: &'static [u16]) -> Entry {
    Entry { places, service, naming: Naming::Endpoint, tcp, udp: &[] }
}

const CATALOGUE: &[Entry] = &[
    api(&["keystone", "keystoneapi"], "keystone", &[5000]),
    api(&["placement", "placementapi"], "placement", &[8778]),
    api(
        &["glanceapis", "glanceapi", "glanceapiinternal", "glanceapiexternal", "glance"],
        "glance",
        &[9292],
    ),
    api(&["cinderapi"], "cinder", &[8776]),
    api(&["neutron", "neutronapi"], "neutron", &[9696]),
    api(&["novaapi", "apiservicetemplate"], "nova", &[8774]),
    api(&["novametadata", "metadataservicetemplate"], "nova-metadata", &[8775]),
    api(&["novanovncproxy", "novncproxyservicetemplate"], "nova-novncproxy", &[6080]),
    api(&["heatapi"], "heat-api", &[8004]),
    api(&["heatcfnapi"], "heat-cfnapi", &[8000]),
    api(&["heatengine"], "heat-engine", &[]),
    api(&["barbicanapi"], "barbican", &[9311]),
    api(&["manilaapi"], "manila", &[8786]),
    api(&["swiftproxy"], "swift", &[8080]),
    api(&["octaviaapi", "octavia"], "octavia", &[9876]),
    api(&["designateapi"], "designate", &[9001]),
    api(&["ironicapi"], "ironic", &[6385]),
    api(&["ironicinspector"], "ironic-inspector", &[5050]),
    api(&["aodh", "autoscaling"], "aodh", &[8042]),
    api(&["cloudkitty"], "cloudkitty", &[8889]),
    api(&["watcher", "watcherapi"], "watcher", &[9322]),
    api(&["logging"], "telemetry-logging", &[10514]),
    Entry {
        places: &["horizon"],
        service: "horizon",
        naming: Naming::Fixed,
        tcp: &[80, 443],
        udp: &[],
    },
    Entry {
        places: &["dns", "dnsmasq"],
        service: "dnsmasq",
        naming: Naming::Endpoint,
        tcp: &[53],
        udp: &[53],
    },
    Entry {
        places: &["rabbitmq", "rabbitmqcluster"],
        service: "rabbitmq",
        naming: Naming::Instance,
        tcp: &[5671, 5672, 15671, 15672],
        udp: &[],
    },
    Entry {
        places: &["galera", "mariadb"],
        service: "galera",
        naming: Naming::Instance,
        tcp: &[3306],
        udp: &[],
    },
    Entry {
        places: &["memcached"],
        service: "memcached",
        naming: Naming::Instance,
        tcp: &[11211, 11212],
        udp: &[],
    },
    Entry {
        places: &["redis"],
        service: "redis",
        naming: Naming::Instance,
        tcp: &[6379, 26379],
        udp: &[],
    },
];

/// A service and where it listens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listening {
    /// Name of the Service that is made.
    pub service: String,
    /// Its ports; empty when it is not in the catalogue.
    pub ports: Vec<Port>,
}

/// Where a block about a Service stands.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    /// The sections it stands in, outermost first, below `spec`.
    pub sections: &'a [&'a str],
    /// Kind of the object.
    pub kind: &'a str,
    /// Name of the object.
    pub name: &'a str,
    /// `internal` or `public`, when said.
    pub endpoint: Option<&'a str>,
    /// `NB` or `SB`, for the databases of OVN.
    pub database: Option<&'a str>,
}

/// Finds the service.
pub fn find(spot: Spot<'_>) -> Listening {
    let Spot { sections, kind, name, endpoint, database } = spot;
    if let Some(database) = database {
        let (service, tcp) = match database {
            "SB" => ("ovsdbserver-sb", &[6642, 6644]),
            _ => ("ovsdbserver-nb", &[6641, 6643]),
        };
        return Listening { service: service.to_owned(), ports: ports(tcp, &[]) };
    }
    let found = sections
        .iter()
        .enumerate()
        .rev()
        .find_map(|(i, section)| Some((entry(section, sections)?, Some(i))))
        .or_else(|| Some((entry(kind, sections)?, None)));
    let Some((entry, depth)) = found else {
        let service = sections.last().map_or(name, |section| *section);
        return Listening { service: join(service, None, endpoint), ports: Vec::new() };
    };
    // Services with one endpoint, which need not be named.
    let endpoint = endpoint.or(match entry.service {
        "nova-metadata" => Some("internal"),
        "nova-novncproxy" => Some("public"),
        _ => None,
    });
    let instance = instance(entry, sections, depth, name);
    let service = match entry.naming {
        Naming::Fixed => entry.service.to_owned(),
        Naming::Instance => instance.unwrap_or(entry.service).to_owned(),
        Naming::Endpoint => join(entry.service, instance, endpoint),
    };
    Listening { service, ports: ports(entry.tcp, entry.udp) }
}

fn entry(section: &str, sections: &[&str]) -> Option<&'static Entry> {
    let section = section.to_ascii_lowercase();
    // Watcher calls its API as Nova does.
    let inside = |name: &str| sections.iter().any(|section| section.eq_ignore_ascii_case(name));
    let section =
        if section == "apiservicetemplate" && inside("watcher") { "watcher" } else { &section };
    CATALOGUE.iter().find(|entry| entry.places.contains(&section))
}

/// What tells several of a kind apart: the key below `glanceAPIs` or `templates`, or the cell.
fn instance<'a>(
    entry: &Entry,
    sections: &[&'a str],
    depth: Option<usize>,
    name: &'a str,
) -> Option<&'a str> {
    let Some(depth) = depth else {
        let named = entry.naming == Naming::Instance || entry.service == "dnsmasq";
        return named.then_some(name);
    };
    let after = |key: &str| {
        let at = sections.iter().position(|section| *section == key)?;
        sections.get(at + 1).copied()
    };
    match entry.service {
        "glance" if sections[depth] == "glanceAPIs" => sections.get(depth + 1).copied(),
        "dnsmasq" => Some("dns"),
        "nova-metadata" | "nova-novncproxy" => after("cellTemplates"),
        _ if entry.naming == Naming::Instance => after("templates"),
        _ => None,
    }
}

fn join(service: &str, instance: Option<&str>, endpoint: Option<&str>) -> String {
    let parts = [Some(service), instance, endpoint];
    parts.into_iter().flatten().collect::<Vec<_>>().join("-")
}

fn ports(tcp: &[u16], udp: &[u16]) -> Vec<Port> {
    let tcp = tcp.iter().map(|number| Port { protocol: "TCP", number: *number });
    let udp = udp.iter().map(|number| Port { protocol: "UDP", number: *number });
    tcp.chain(udp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_and_kinds_lead_to_services() {
        let cases: [(&str, &str, Option<&str>, &str, usize); 14] = [
            (
                "nova.template.metadataServiceTemplate",
                "OpenStackControlPlane",
                None,
                "nova-metadata-internal",
                1,
            ),
            (
                "keystone.template",
                "OpenStackControlPlane",
                Some("internal"),
                "keystone-internal",
                1,
            ),
            (
                "glance.template.glanceAPIs.default",
                "OpenStackControlPlane",
                Some("internal"),
                "glance-default-internal",
                1,
            ),
            ("glanceAPIInternal", "Glance", Some("internal"), "glance-internal", 1),
            (
                "nova.template.apiServiceTemplate",
                "OpenStackControlPlane",
                Some("internal"),
                "nova-internal",
                1,
            ),
            (
                "nova.template.cellTemplates.cell1.noVNCProxyServiceTemplate",
                "OpenStackControlPlane",
                Some("public"),
                "nova-novncproxy-cell1-public",
                1,
            ),
            (
                "watcher.template.apiServiceTemplate",
                "OpenStackControlPlane",
                Some("internal"),
                "watcher-internal",
                1,
            ),
            (
                "rabbitmq.templates.rabbitmq-cell1",
                "OpenStackControlPlane",
                None,
                "rabbitmq-cell1",
                4,
            ),
            ("rabbitmq.templates.rabbitmq", "OpenStackControlPlane", None, "rabbitmq", 4),
            ("dns.template", "OpenStackControlPlane", None, "dnsmasq-dns", 2),
            ("", "DNSMasq", None, "dnsmasq-thing", 2),
            ("", "CinderAPI", Some("public"), "cinder-public", 1),
            (
                "heat.template.heatEngine",
                "OpenStackControlPlane",
                Some("internal"),
                "heat-engine-internal",
                0,
            ),
            ("strange.template", "OpenStackControlPlane", Some("internal"), "template-internal", 0),
        ];
        for (sections, kind, endpoint, service, ports) in cases {
            let sections: Vec<_> = sections.split('.').filter(|s| !s.is_empty()).collect();
            let spot = Spot { sections: &sections, kind, name: "thing", endpoint, database: None };
            let found = find(spot);
            assert_eq!((found.service.as_str(), found.ports.len()), (service, ports));
        }
        let spot =
            Spot { sections: &["ovn"], kind: "", name: "", endpoint: None, database: Some("SB") };
        assert_eq!(find(spot).service, "ovsdbserver-sb");
    }
}
