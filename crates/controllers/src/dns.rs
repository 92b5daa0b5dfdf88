//! Names: what serves them, and where they come from.
//!
//! ```text
//!  Services with a name ─▶ DNSData <dnsmasq>-svc ──┐
//!  IPSets, if asked for ─▶ DNSData <dnsmasq>-ipsets┤
//!  DNSData of others ──────────────────────────────┴▶ ConfigMap, label dnsmasqhosts ─┐
//!  ConfigMaps made by hand, with that label ─────────────────────────────────────────┤
//!  DNSMasq ─▶ ConfigMap of options, Service, ServiceAccount, Role, RoleBinding       │
//!          └▶ Deployment ◀───────────────────────────────────────────────────────────┘
//! ```
//!
//! Names, forms and texts are those of the infra-operator, so that either of the two can take over from
//! the other. Where an entry cannot be answered as it is written it is named in a condition that `Ready`
//! does not care about, because upstream takes everything, and the other entries are answered.
//!
//! | module | idea |
//! |---|---|
//! | [`data`] | DNSData: its ConfigMap |
//! | [`server`] | DNSMasq: everything that is made of it, and how it is doing |
//! | [`deployment`] | what runs the name server, in both generations and for both programs |
//! | [`options`] | the file with options, and those that the name server would refuse |
//! | [`sources`] | the ConfigMaps that one name server answers from |
//! | [`entries`] | addresses and their names, and what is wrong with them |
//! | [`registration`] | names of Services with virtual addresses |
//! | [`publication`] | names of IPSets |
//! | [`spread`] | many texts in few ConfigMaps |
//! | [`digest`] | whether something changed |
//! | [`domain`] | who is concerned by what |

pub mod data;
pub mod deployment;
pub mod digest;
pub mod domain;
pub mod entries;
pub mod options;
pub mod publication;
pub mod registration;
pub mod server;
pub mod sources;
pub mod spread;

use std::future::Future;
use std::sync::Arc;

use self::domain::Names;

/// Under this name the writes appear in managedFields.
pub const MANAGER: &str = "landbridge-dns";

/// What can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether DNSMasq and DNSData are acted on. On a cluster with the infra-operator they are its.
    pub is_on: bool,
    /// How Landbridge's image is called: the last part of its path, without tag and digest.
    pub own_image: String,
    /// Whether every image is taken for Landbridge's: where images are not run, its server answers.
    pub is_always_own: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { is_on: true, own_image: "landbridge".to_owned(), is_always_own: false }
    }
}

impl Settings {
    /// Whether an image runs `landbridge dns`.
    pub fn is_own(&self, image: &str) -> bool {
        let path = image.split('@').next().unwrap_or_default();
        let last = path.rsplit('/').next().unwrap_or_default();
        self.is_always_own || last.split(':').next() == Some(&*self.own_image)
    }
}

/// Serves all names until `stop` is done.
pub async fn run(client: kube::Client, settings: Settings, stop: impl Future<Output = ()>) {
    if settings.is_on {
        crate::making::driver::run(client, Arc::new(Names::new(settings)), stop).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_image_is_known_by_its_name() {
        let settings = Settings::default();
        for own in [
            "landbridge",
            "landbridge:1.0",
            "registry.example:5000/site/landbridge",
            "registry.example:5000/landbridge:1.0",
            "registry.example/site/landbridge@sha256:00ff",
        ] {
            assert!(settings.is_own(own), "{own}");
        }
        for other in ["", "registry.example/landbridge/dnsmasq", "landbridge-x", "x:landbridge"] {
            assert!(!settings.is_own(other), "{other}");
        }
        let lab = Settings { is_always_own: true, ..Settings::default() };
        assert!(lab.is_own("registry.example/openstack-neutron-server:current"));
    }
}
