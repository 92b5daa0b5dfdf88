//! What an installation may set for all objects.

/// Where a DNSMasq's image comes from when nobody names one: upstream's own fallback.
const DNSMASQ_IMAGE: &str =
    "quay.io/podified-antelope-centos9/openstack-neutron-server:current-podified";

/// Environment variables that name the DNSMasq image: today's, then that of the seeds' time.
const DNSMASQ_IMAGE_VARIABLES: [&str; 2] =
    ["RELATED_IMAGE_INFRA_DNSMASQ_IMAGE_URL_DEFAULT", "INFRA_DNSMASQ_IMAGE_URL_DEFAULT"];

/// The domain of Routes when nobody names one. The name ends in what is reserved for tests.
const INGRESS_DOMAIN: &str = "apps.landbridge.test";

/// Values that fill fields left empty and that differ from one installation to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// `spec.containerImage` of a DNSMasq.
    pub dnsmasq_image: String,
    /// Routes without a host get one below this domain.
    pub ingress_domain: String,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { dnsmasq_image: DNSMASQ_IMAGE.to_owned(), ingress_domain: INGRESS_DOMAIN.to_owned() }
    }
}

impl Defaults {
    /// Reads the variables upstream's operators read. The caller brings the environment, so that
    /// this crate stays free of it: `Defaults::from_variables(|name| std::env::var(name).ok())`.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let image = DNSMASQ_IMAGE_VARIABLES
            .into_iter()
            .find_map(|name| variable(name).filter(|value| !value.is_empty()));
        image.map_or_else(Self::default, |dnsmasq_image| Self { dnsmasq_image, ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image_with(variables: &[(&str, &str)]) -> String {
        let find = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Defaults::from_variables(find).dnsmasq_image
    }

    #[test]
    fn todays_variable_wins_and_empty_ones_do_not_count() {
        let today = "RELATED_IMAGE_INFRA_DNSMASQ_IMAGE_URL_DEFAULT";
        let seed = "INFRA_DNSMASQ_IMAGE_URL_DEFAULT";
        assert_eq!(image_with(&[]), DNSMASQ_IMAGE);
        assert_eq!(image_with(&[(seed, "old")]), "old");
        assert_eq!(image_with(&[(seed, "old"), (today, "new")]), "new");
        assert_eq!(image_with(&[(seed, "old"), (today, "")]), "old");
    }
}
