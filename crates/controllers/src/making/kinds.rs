//! The kinds that are read and written.

macro_rules! kinds {
    ($($kind:ident $group:literal $version:literal $plural:literal $role:ident;)*) => {
        /// One kind. The order is that of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(#[doc = concat!("`", $group, "`, `", stringify!($kind), "`.")] $kind,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// As in `kind:` of a manifest.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind),)* }
            }

            /// Group, version, name in URLs.
            pub fn resource(self) -> (&'static str, &'static str, &'static str) {
                match self { $(Self::$kind => ($group, $version, $plural),)* }
            }

            /// What the kind is to the controllers.
            pub fn role(self) -> Role {
                match self { $(Self::$kind => Role::$role,)* }
            }
        }
    };
}

/// What a kind is to the controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The control plane: services are made of it.
    Plane,
    /// A service: Services, Routes, workloads and records are made of it.
    Service,
    /// Names and their servers: what serves names is made of it.
    Names,
    /// Made of a service.
    Made,
    /// Only looked at.
    Seen,
}

kinds! {
    OpenStackControlPlane "core.openstack.org" "v1beta1" "openstackcontrolplanes" Plane;
    KeystoneAPI "keystone.openstack.org" "v1beta1" "keystoneapis" Service;
    PlacementAPI "placement.openstack.org" "v1beta1" "placementapis" Service;
    Glance "glance.openstack.org" "v1beta1" "glances" Service;
    GlanceAPI "glance.openstack.org" "v1beta1" "glanceapis" Service;
    Cinder "cinder.openstack.org" "v1beta1" "cinders" Service;
    NeutronAPI "neutron.openstack.org" "v1beta1" "neutronapis" Service;
    Nova "nova.openstack.org" "v1beta1" "nova" Service;
    Heat "heat.openstack.org" "v1beta1" "heats" Service;
    Horizon "horizon.openstack.org" "v1beta1" "horizons" Service;
    Barbican "barbican.openstack.org" "v1beta1" "barbicans" Service;
    Manila "manila.openstack.org" "v1beta1" "manilas" Service;
    Swift "swift.openstack.org" "v1beta1" "swifts" Service;
    Octavia "octavia.openstack.org" "v1beta1" "octavias" Service;
    Designate "designate.openstack.org" "v1beta1" "designates" Service;
    Ironic "ironic.openstack.org" "v1beta1" "ironics" Service;
    Telemetry "telemetry.openstack.org" "v1beta1" "telemetries" Service;
    Watcher "watcher.openstack.org" "v1beta1" "watchers" Service;
    Galera "mariadb.openstack.org" "v1beta1" "galeras" Service;
    RabbitMq "rabbitmq.openstack.org" "v1beta1" "rabbitmqs" Service;
    RabbitmqCluster "rabbitmq.com" "v1beta1" "rabbitmqclusters" Service;
    Memcached "memcached.openstack.org" "v1beta1" "memcacheds" Service;
    Redis "redis.openstack.org" "v1beta1" "redises" Service;
    OVNDBCluster "ovn.openstack.org" "v1beta1" "ovndbclusters" Service;
    OVNNorthd "ovn.openstack.org" "v1beta1" "ovnnorthds" Service;
    OVNController "ovn.openstack.org" "v1beta1" "ovncontrollers" Service;
    DNSData "network.openstack.org" "v1beta1" "dnsdata" Names;
    DNSMasq "network.openstack.org" "v1beta1" "dnsmasqs" Names;
    KeystoneEndpoint "keystone.openstack.org" "v1beta1" "keystoneendpoints" Made;
    KeystoneService "keystone.openstack.org" "v1beta1" "keystoneservices" Made;
    Route "route.openshift.io" "v1" "routes" Made;
    Service "" "v1" "services" Made;
    Deployment "apps" "v1" "deployments" Made;
    StatefulSet "apps" "v1" "statefulsets" Made;
    DaemonSet "apps" "v1" "daemonsets" Made;
    NetworkAttachmentDefinition "k8s.cni.cncf.io" "v1" "network-attachment-definitions" Made;
    ConfigMap "" "v1" "configmaps" Made;
    ServiceAccount "" "v1" "serviceaccounts" Made;
    Role "rbac.authorization.k8s.io" "v1" "roles" Made;
    RoleBinding "rbac.authorization.k8s.io" "v1" "rolebindings" Made;
    IPSet "network.openstack.org" "v1beta1" "ipsets" Seen;
    Topology "topology.openstack.org" "v1beta1" "topologies" Seen;
    Pod "" "v1" "pods" Seen;
}

impl Kind {
    /// As in `apiVersion:` of a manifest.
    pub fn api_version(self) -> String {
        let (group, version, _) = self.resource();
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
    }

    /// The kind of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether something is made of objects of this kind.
    pub fn is_planned(self) -> bool {
        matches!(self.role(), Role::Plane | Role::Service | Role::Names)
    }

    /// The kinds that are made of this one, in the order in which they are taken away again: first
    /// what tells others about a service, last what it stands on.
    pub fn makes(self) -> &'static [&'static [Self]] {
        const WORKLOADS: &[Kind] = &[Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet];
        match self {
            Self::OpenStackControlPlane => &[
                &[
                    Self::PlacementAPI,
                    Self::Glance,
                    Self::Cinder,
                    Self::NeutronAPI,
                    Self::Nova,
                    Self::Heat,
                    Self::Horizon,
                    Self::Barbican,
                    Self::Manila,
                    Self::Swift,
                    Self::Octavia,
                    Self::Designate,
                    Self::Ironic,
                    Self::Telemetry,
                    Self::Watcher,
                ],
                // Whatever is registered in it takes itself out first.
                &[Self::KeystoneAPI],
                &[Self::OVNController, Self::OVNNorthd],
                &[Self::OVNDBCluster],
                &[Self::Galera, Self::RabbitMq, Self::Memcached, Self::Redis],
                &[Self::DNSMasq],
            ],
            // Nobody is sent there any more, then nobody answers, then nobody has to.
            Self::DNSMasq => &[
                &[Self::Service],
                &[Self::Deployment],
                &[
                    Self::DNSData,
                    Self::ConfigMap,
                    Self::RoleBinding,
                    Self::Role,
                    Self::ServiceAccount,
                ],
            ],
            Self::DNSData => &[&[Self::ConfigMap]],
            kind if kind.role() == Role::Service => &[
                &[Self::KeystoneEndpoint],
                &[Self::KeystoneService],
                &[Self::Route],
                &[Self::Service, Self::DNSData],
                WORKLOADS,
                &[Self::NetworkAttachmentDefinition],
            ],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use landbridge_api::foreign::controlplane::{KINDS, SECTIONS, VERSION};

    use super::*;

    #[test]
    fn the_kinds_are_those_of_the_api() {
        for known in KINDS {
            let kind = Kind::find(known.kind).expect(known.kind);
            assert_eq!(kind.resource(), (known.group, VERSION, known.plural));
            assert_eq!(kind.role(), Role::Service);
        }
    }

    #[test]
    fn everything_a_control_plane_makes_is_taken_away_again() {
        let stages = Kind::OpenStackControlPlane.makes();
        let all: Vec<Kind> = stages.iter().flat_map(|stage| stage.iter().copied()).collect();
        for section in SECTIONS {
            use landbridge_api::foreign::controlplane::Makes;
            let kinds = match section.makes {
                Makes::One { kind, .. } | Makes::Many { kind, .. } => vec![kind],
                Makes::Ovn => vec!["OVNDBCluster", "OVNNorthd", "OVNController"],
            };
            for kind in kinds {
                assert!(all.contains(&Kind::find(kind).unwrap()), "{kind}");
            }
        }
    }
}
