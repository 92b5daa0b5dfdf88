//! Where the services are.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::config::Settings;
use crate::{Error, Service};

/// What Keystone says about where the services are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue(Vec<Place>);

/// One endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    type_: String,
    interface: String,
    region: String,
    url: String,
}

impl Catalogue {
    /// Reads the catalogue of a token; what is no endpoint is left out.
    pub fn read(catalogue: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let services = catalogue.as_array().into_iter().flatten();
        Self(
            services
                .flat_map(|service| {
                    let endpoints = service["endpoints"].as_array().into_iter().flatten();
                    endpoints.map(|endpoint| Place {
                        type_: text(&service["type"]),
                        interface: text(&endpoint["interface"]),
                        region: match text(&endpoint["region_id"]) {
                            empty if empty.is_empty() => text(&endpoint["region"]),
                            region => region,
                        },
                        url: text(&endpoint["url"]).trim_end_matches('/').to_owned(),
                    })
                })
                .collect(),
        )
    }

    /// Where a service is, by interface and region.
    pub fn endpoint(&self, settings: &Settings, service: Service) -> Result<String, Error> {
        let interface = settings.interface_of(service);
        let own = || self.0.iter().filter(|place| place.type_ == service.type_());
        let in_region =
            |place: &&Place| settings.region.as_ref().is_none_or(|region| place.region == *region);
        let found = own().filter(in_region).find(|place| place.interface == interface.name());
        match found {
            Some(place) => Ok(place.url.clone()),
            None => Err(Error::NoEndpoint {
                cloud: settings.cloud.clone(),
                service: service.type_(),
                interface: interface.name(),
                region: settings.region.clone(),
                have: self.have(own()),
            }),
        }
    }

    /// What there is instead.
    fn have<'p>(&self, own: impl Iterator<Item = &'p Place>) -> String {
        let own: BTreeSet<String> =
            own.map(|place| format!("{} in {}", place.interface, place.region)).collect();
        if !own.is_empty() {
            return format!("it has {}", own.into_iter().collect::<Vec<_>>().join(", "));
        }
        let types: BTreeSet<&str> = self.0.iter().map(|place| place.type_.as_str()).collect();
        if types.is_empty() {
            return "its catalogue is empty".to_owned();
        }
        format!("its catalogue has {}", types.into_iter().collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::Interface;

    fn catalogue() -> Catalogue {
        let at = |interface: &str, region: &str, url: &str| json!({"interface": interface, "region_id": region, "region": region, "url": url});
        Catalogue::read(&json!([
            {"type": "network", "name": "neutron", "endpoints": [
                at("internal", "one", "http://inside:9696/"), at("public", "one", "http://outside:9696"),
                at("public", "two", "http://far:9696"),
            ]},
            {"type": "identity", "endpoints": [{"interface": "public", "region": "one", "url": "http://k/v3"}]},
            {"type": "odd"}, 7,
        ]))
    }

    fn settings() -> Settings {
        Settings::simple("http://k", "u", "p", "x")
    }

    #[test]
    fn endpoints_are_found_by_interface_and_region() {
        let find = |interface, region: Option<&str>| {
            let mut settings = settings();
            settings.interface = interface;
            settings.region = region.map(str::to_owned);
            catalogue().endpoint(&settings, Service::Network).map_err(|error| error.to_string())
        };
        assert_eq!(find(Interface::Public, None).unwrap(), "http://outside:9696");
        assert_eq!(find(Interface::Public, Some("two")).unwrap(), "http://far:9696");
        assert_eq!(find(Interface::Internal, None).unwrap(), "http://inside:9696");
        assert_eq!(
            find(Interface::Admin, Some("two")).unwrap_err(),
            "cloud simple has no admin endpoint of network in region two: it has internal in one, \
             public in one, public in two"
        );
    }

    #[test]
    fn one_service_may_be_asked_elsewhere() {
        let mut settings = settings();
        settings.interfaces.insert(Service::Network, Interface::Internal);
        let catalogue = catalogue();
        assert_eq!(catalogue.endpoint(&settings, Service::Network).unwrap(), "http://inside:9696");
        assert_eq!(catalogue.endpoint(&settings, Service::Identity).unwrap(), "http://k/v3");
    }

    #[test]
    fn what_is_missing_is_told_with_what_there_is() {
        let error = catalogue().endpoint(&settings(), Service::Compute).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cloud simple has no public endpoint of compute: its catalogue has identity, network"
        );
        let error = Catalogue::read(&Value::Null).endpoint(&settings(), Service::Compute);
        assert!(error.unwrap_err().to_string().ends_with("its catalogue is empty"));
    }
}
