//! What keys mean, whatever they are called.

use std::collections::BTreeMap;
use std::time::Duration;

use landbridge_openstack::config::files::Source;
use landbridge_openstack::config::{Interface, Settings, Texts};
use landbridge_openstack::{Service, config::Trust};
use serde_json::json;

use super::{read, settings};

const USUAL: &str = "
clouds:
  lab:
    auth:
      auth_url: http://keystone:5000/v3/
      username: admin
      password: tiger
      user_domain_name: Default
      project_name: demo
      project_domain_id: default
    region_name: one
    interface: internalURL
    network_endpoint_override: http://127.0.0.1:9696
    compute_default_microversion: '2.90'
    network_interface: admin
    api_timeout: 7
    cacert: ca.pem
";

#[test]
fn the_usual_file() {
    let found = read(USUAL, &[], &[("ca.pem", "PEM")]).unwrap();
    assert_eq!(found.cloud, "lab");
    assert_eq!(found.auth_url, "http://keystone:5000/v3");
    assert_eq!(found.region.as_deref(), Some("one"));
    assert_eq!(found.interface_of(Service::Compute), Interface::Internal);
    assert_eq!(found.interface_of(Service::Network), Interface::Admin);
    assert_eq!(found.overrides[&Service::Network], "http://127.0.0.1:9696");
    assert_eq!(found.patience, Duration::from_secs(7));
    assert_eq!(found.microversion.as_deref(), Some("2.90"));
    assert_eq!(found.trust, Trust { authorities: Some(b"PEM".to_vec()), ..Trust::default() });
    assert_eq!(
        found.login(),
        json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": "admin", "domain": {"name": "Default"}, "password": "tiger"}}},
            "scope": {"project": {"name": "demo", "domain": {"id": "default"}}},
        }})
    );
}

/// A cloud with this in `auth`, and the login it leads to.
fn login(auth: &str, beside: &str) -> serde_json::Value {
    let text = format!(
        "{{clouds: {{x: {{auth: {{auth_url: 'http://k', {auth}}}, user_domain_id: default, {beside}}}}}}}"
    );
    read(&text, &[], &[]).unwrap().login()["auth"].clone()
}

#[test]
fn every_way_to_log_in() {
    let user = json!({"name": "u", "domain": {"id": "default"}});
    let by_id = login("user_id: '17', password: p, project_id: '42'", "");
    assert_eq!(by_id["identity"]["password"]["user"], json!({"id": "17", "password": "p"}));
    assert_eq!(by_id["scope"], json!({"project": {"id": "42"}}));
    // Numbers are written without quotes, and dashes instead of underscores.
    let odd = login("username: 7, password: 1234, tenant-id: 42", "");
    assert_eq!(odd["identity"]["password"]["user"]["password"], "1234");
    assert_eq!(odd["scope"], json!({"project": {"id": "42"}}));
    // Beside `auth` instead of in it.
    let beside = login("username: u", "password: p, project_id: z");
    assert_eq!(beside["scope"], json!({"project": {"id": "z"}}));
    let system = login("username: u, password: p, system_scope: all", "");
    assert_eq!(system["scope"], json!({"system": {"all": true}}));
    let domain = login("username: u, password: p, domain_name: d", "");
    assert_eq!(domain["scope"], json!({"domain": {"name": "d"}}));

    let credential = login("application_credential_id: i, application_credential_secret: s", "");
    let expected = json!({"methods": ["application_credential"],
        "application_credential": {"id": "i", "secret": "s"}});
    assert_eq!(credential, json!({"identity": expected}), "they have a scope of their own");
    let named = login(
        "application_credential_name: n, application_credential_secret: s, username: u, project_id: ignored",
        "auth_type: v3applicationcredential",
    );
    let expected = json!({"methods": ["application_credential"],
        "application_credential": {"name": "n", "secret": "s", "user": user}});
    assert_eq!(named, json!({"identity": expected}));
    let token = login("token: t, project_id: z", "auth_type: v3token");
    assert_eq!(token["identity"], json!({"methods": ["token"], "token": {"id": "t"}}));
}

#[test]
fn whom_to_believe() {
    let trust = |keys: &str| {
        let auth = "auth: {auth_url: 'https://k', user_id: u, password: p, project_id: z}";
        let text = format!("{{clouds: {{x: {{{auth}, {keys}}}}}}}");
        read(&text, &[], &[("a", "A"), ("b", "B")]).unwrap().trust
    };
    assert!(trust("verify: false").is_insecure);
    assert!(trust("insecure: true").is_insecure);
    assert!(trust("insecure: 'yes'").is_insecure);
    assert!(!trust("verify: true, insecure: ''").is_insecure);
    assert_eq!(trust("cert: a, key: b").identity, Some((b"A".to_vec(), b"B".to_vec())));
    assert_eq!(trust("cert: a").identity, Some((b"A".to_vec(), b"A".to_vec())));
}

#[test]
fn profiles_below_and_secrets_above() {
    let texts = Texts {
        clouds: Some(Source::new(
            "clouds.yaml",
            "clouds: {x: {profile: vendor, auth: {username: u, project_id: z}, region_name: two}}",
        )),
        secure: Some(Source::new("secure.yaml", "clouds: {x: {auth: {password: hidden}}, y: {}}")),
        public: Some(Source::new(
            "clouds-public.yaml",
            "public-clouds:
               base: {auth: {auth_url: 'http://old', user_domain_name: D}, interface: internal}
               vendor: {profile: base, auth: {auth_url: 'http://vendor:5000'}, region_name: one}",
        )),
    };
    let found = settings(&texts, &[], &[]).unwrap();
    assert_eq!(found.auth_url, "http://vendor:5000");
    assert_eq!(found.region.as_deref(), Some("two"));
    assert_eq!(found.interface, Interface::Internal);
    let user = json!({"name": "u", "domain": {"name": "D"}, "password": "hidden"});
    assert_eq!(found.login()["auth"]["identity"]["password"]["user"], user);
}

#[test]
fn the_environment_describes_a_cloud() {
    let variables = [
        ("OS_AUTH_URL", "http://env:5000"),
        ("OS_USERNAME", "u"),
        ("OS_PASSWORD", "p"),
        ("OS_TENANT_NAME", "z"),
        ("OS_PROJECT_DOMAIN_NAME", "Default"),
        ("OS_USER_DOMAIN_NAME", "Default"),
        ("OS_REGION_NAME", "three"),
        ("OS_ENDPOINT_TYPE", "adminURL"),
        ("OS_IDENTITY_API_VERSION", "3"),
        ("OS_CACERT", ""),
    ];
    for texts in [
        Texts::default(),
        Texts { clouds: Some(Source::new("clouds.yaml", USUAL)), ..Texts::default() },
    ] {
        let found = settings(&texts, &variables, &[]).unwrap();
        assert_eq!(found.auth_url, "http://env:5000");
        assert_eq!(found.cloud, "envvars");
        assert_eq!(found.region.as_deref(), Some("three"));
        assert_eq!(found.interface, Interface::Admin);
    }
    // Named, the file's is meant.
    let named: Vec<_> = variables.into_iter().chain([("OS_CLOUD", "lab")]).collect();
    let found = read(USUAL, &named, &[("ca.pem", "")]).unwrap();
    assert_eq!(found.auth_url, "http://keystone:5000/v3");
    assert_eq!(found.region.as_deref(), Some("three"), "but for the region");
    // Other programs have variables like these.
    let found = read(USUAL, &[("OS_TYPE", "linux"), ("OS_VERSION", "12")], &[("ca.pem", "")]);
    assert_eq!(found.unwrap().cloud, "lab");
}

#[test]
fn a_secret_is_all_there_is() {
    let mut data = BTreeMap::from([
        ("clouds.yaml".to_owned(), USUAL.as_bytes().to_vec()),
        ("cacert".to_owned(), b"CA".to_vec()),
    ]);
    let told = |data: &BTreeMap<String, Vec<u8>>, cloud| {
        Settings::of_secret("cloud", data, cloud).map_err(|mistake| mistake.to_string())
    };
    assert_eq!(
        told(&data, None).unwrap_err(),
        "Secret cloud, key clouds.yaml: cloud lab: cacert: cannot read ca.pem: Secret cloud has no \
         key ca.pem"
    );
    data.insert("ca.pem".to_owned(), b"PEM".to_vec());
    assert_eq!(told(&data, Some("lab")).unwrap().trust.authorities, Some(b"PEM".to_vec()));
    let without = USUAL.replace("cacert: ca.pem", "");
    data.insert("clouds.yaml".to_owned(), without.into_bytes());
    assert_eq!(told(&data, None).unwrap().trust.authorities, Some(b"CA".to_vec()));
    data.insert("secure.yaml".to_owned(), b"clouds: {lab: {auth: {password: other}}}".to_vec());
    let found = told(&data, None).unwrap();
    assert_eq!(found.login()["auth"]["identity"]["password"]["user"]["password"], "other");
    assert_eq!(
        told(&data, Some("prod")).unwrap_err(),
        "Secret cloud, key clouds.yaml has no cloud prod; it has lab"
    );
    data.insert("clouds.yaml".to_owned(), vec![0xff]);
    assert!(
        told(&data, None).unwrap_err().starts_with("Secret cloud, key clouds.yaml: it is no text")
    );
    data.remove("clouds.yaml");
    assert_eq!(told(&data, None).unwrap_err(), "Secret cloud: it has no key clouds.yaml");
}
