//! The kinds a control plane is made of: which section of an OpenStackControlPlane stands for which
//! kind, and what each kind is called.
//!
//! The sections of an OpenStackControlPlane hold templates; each template is the spec of an object of
//! a kind of its own, which users may also write by themselves. The schemas of both are made from
//! this table, and the controllers follow it.

/// One kind. All of them live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceKind {
    /// API group.
    pub group: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Name in URLs.
    pub plural: &'static str,
}

/// The version of all of these kinds.
pub const VERSION: &str = "v1beta1";
/// The group of OpenStackControlPlane.
pub const GROUP: &str = "core.openstack.org";
/// The kind with all the sections.
pub const KIND: &str = "OpenStackControlPlane";

const fn kind(group: &'static str, kind: &'static str, plural: &'static str) -> ServiceKind {
    ServiceKind { group, kind, plural }
}

/// Every kind that stands for a service, or for a part of one that the documents write by itself.
pub static KINDS: &[ServiceKind] = &[
    kind("keystone.openstack.org", "KeystoneAPI", "keystoneapis"),
    kind("placement.openstack.org", "PlacementAPI", "placementapis"),
    kind("glance.openstack.org", "Glance", "glances"),
    kind("glance.openstack.org", "GlanceAPI", "glanceapis"),
    kind("cinder.openstack.org", "Cinder", "cinders"),
    kind("neutron.openstack.org", "NeutronAPI", "neutronapis"),
    kind("nova.openstack.org", "Nova", "nova"),
    kind("heat.openstack.org", "Heat", "heats"),
    kind("horizon.openstack.org", "Horizon", "horizons"),
    kind("barbican.openstack.org", "Barbican", "barbicans"),
    kind("manila.openstack.org", "Manila", "manilas"),
    kind("swift.openstack.org", "Swift", "swifts"),
    kind("octavia.openstack.org", "Octavia", "octavias"),
    kind("designate.openstack.org", "Designate", "designates"),
    kind("ironic.openstack.org", "Ironic", "ironics"),
    kind("telemetry.openstack.org", "Telemetry", "telemetries"),
    kind("watcher.openstack.org", "Watcher", "watchers"),
    kind("mariadb.openstack.org", "Galera", "galeras"),
    kind("rabbitmq.openstack.org", "RabbitMq", "rabbitmqs"),
    kind("rabbitmq.com", "RabbitmqCluster", "rabbitmqclusters"),
    kind("memcached.openstack.org", "Memcached", "memcacheds"),
    kind("redis.openstack.org", "Redis", "redises"),
    kind("ovn.openstack.org", "OVNDBCluster", "ovndbclusters"),
    kind("ovn.openstack.org", "OVNNorthd", "ovnnorthds"),
    kind("ovn.openstack.org", "OVNController", "ovncontrollers"),
];

/// What a section makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Makes {
    /// `template` is the spec of one object.
    One {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: &'static str,
    },
    /// Each entry of `templates` is the spec of an object of that name. Without `templates`, and
    /// only where there is a usual name, one object.
    Many {
        /// Their kind.
        kind: &'static str,
        /// The one that is made when none is named (first generation).
        usual: Option<&'static str>,
    },
    /// The databases, the daemon between them and the controllers on the nodes.
    Ovn,
}

/// One section of an OpenStackControlPlane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its field below `spec`.
    pub name: &'static str,
    /// What it is called in conditions.
    pub title: &'static str,
    /// The condition that says how it is doing.
    pub condition: &'static str,
    /// Whether it is wanted when the section is there and does not say.
    pub enabled: bool,
    /// What it makes.
    pub makes: Makes,
}

const fn one(
    name: &'static str,
    title: &'static str,
    condition: &'static str,
    enabled: bool,
    kind: &'static str,
) -> Section {
    Section { name, title, condition, enabled, makes: Makes::One { kind, name } }
}

const fn many(
    name: &'static str,
    title: &'static str,
    condition: &'static str,
    enabled: bool,
    makes: Makes,
) -> Section {
    Section { name, title, condition, enabled, makes }
}

/// The sections of both generations.
pub static SECTIONS: &[Section] = &[
    one("barbican", "Barbican", "OpenStackControlPlaneBarbicanReady", true, "Barbican"),
    one("cinder", "Cinder", "OpenStackControlPlaneCinderReady", true, "Cinder"),
    one("designate", "Designate", "OpenStackControlPlaneDesignateReady", false, "Designate"),
    Section {
        name: "dns",
        title: "DNS",
        // Upstream's constant, not its name, stands in the objects.
        condition: "OpenStackControlPlaneDNSReadyCondition",
        enabled: true,
        makes: Makes::One { kind: "DNSMasq", name: "dns" },
    },
    many(
        "galera",
        "MariaDB",
        "OpenStackControlPlaneMariaDBReady",
        true,
        Makes::Many { kind: "Galera", usual: None },
    ),
    one("glance", "Glance", "OpenStackControlPlaneGlanceReady", true, "Glance"),
    one("heat", "Heat", "OpenStackControlPlaneHeatReady", false, "Heat"),
    one("horizon", "Horizon", "OpenStackControlPlaneHorizonReady", false, "Horizon"),
    one("ironic", "Ironic", "OpenStackControlPlaneIronicReady", false, "Ironic"),
    one("keystone", "KeystoneAPI", "OpenStackControlPlaneKeystoneAPIReady", true, "KeystoneAPI"),
    one("manila", "Manila", "OpenStackControlPlaneManilaReady", false, "Manila"),
    many(
        "mariadb",
        "MariaDB",
        "OpenStackControlPlaneMariaDBReady",
        true,
        Makes::Many { kind: "Galera", usual: None },
    ),
    many(
        "memcached",
        "Memcached",
        "OpenStackControlPlaneMemcachedReady",
        true,
        Makes::Many { kind: "Memcached", usual: Some("memcached") },
    ),
    one("neutron", "Neutron", "OpenStackControlPlaneNeutronReady", true, "NeutronAPI"),
    one("nova", "Nova", "OpenStackControlPlaneNovaReady", true, "Nova"),
    one("octavia", "Octavia", "OpenStackControlPlaneOctaviaReady", false, "Octavia"),
    Section {
        name: "ovn",
        title: "OVN",
        condition: "OpenStackControlPlaneOVNReady",
        enabled: true,
        makes: Makes::Ovn,
    },
    one(
        "placement",
        "PlacementAPI",
        "OpenStackControlPlanePlacementAPIReady",
        true,
        "PlacementAPI",
    ),
    many(
        "rabbitmq",
        "RabbitMQ",
        "OpenStackControlPlaneRabbitMQReady",
        true,
        Makes::Many { kind: "RabbitMq", usual: None },
    ),
    many(
        "redis",
        "Redis",
        "OpenStackControlPlaneRedisReady",
        false,
        Makes::Many { kind: "Redis", usual: Some("redis") },
    ),
    one("swift", "Swift", "OpenStackControlPlaneSwiftReady", true, "Swift"),
    one("telemetry", "Telemetry", "OpenStackControlPlaneTelemetryReady", true, "Telemetry"),
    one("watcher", "Watcher", "OpenStackControlPlaneWatcherReady", false, "Watcher"),
];

impl Section {
    /// Whether something is to be made of this section of a spec. A section that is not there is
    /// not wanted, whatever its default.
    pub fn is_wanted(&self, spec: &serde_json::Value) -> bool {
        let section = &spec[self.name];
        section.is_object() && section["enabled"].as_bool().unwrap_or(self.enabled)
    }
}

/// The section of that name.
pub fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

/// The kind of that name.
pub fn service_kind(name: &str) -> Option<&'static ServiceKind> {
    KINDS.iter().find(|known| known.kind == name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_section_makes_a_kind_that_exists() {
        for section in SECTIONS {
            let (Makes::One { kind, .. } | Makes::Many { kind, .. }) = section.makes else {
                continue;
            };
            assert!(kind == "DNSMasq" || service_kind(kind).is_some(), "{kind}");
        }
        let names: Vec<_> = SECTIONS.iter().map(|section| section.name).collect();
        assert!(names.is_sorted(), "sections are found by eye");
    }

    #[test]
    fn absent_sections_are_not_wanted_and_defaults_count_otherwise() {
        let cases = [
            ("keystone", json!({}), false),
            ("keystone", json!({"keystone": {}}), true),
            ("keystone", json!({"keystone": {"enabled": false}}), false),
            ("manila", json!({"manila": {"template": {}}}), false),
            ("manila", json!({"manila": {"enabled": true}}), true),
            ("dns", json!({"dns": null}), false),
        ];
        for (name, spec, wanted) in cases {
            assert_eq!(section(name).unwrap().is_wanted(&spec), wanted, "{name} {spec}");
        }
    }
}
