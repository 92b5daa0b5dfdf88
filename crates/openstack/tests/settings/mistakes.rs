//! Every mistake is told with file, cloud and key, and never with a password.

use proptest::prelude::*;

use super::read;

fn mistake(text: &str) -> String {
    read(text, &[], &[]).unwrap_err().to_string()
}

/// A cloud with these keys besides those it needs.
fn with(keys: &str) -> String {
    let auth = "auth: {auth_url: 'http://k', user_id: u, password: tiger, project_id: z}";
    mistake(&format!("{{clouds: {{x: {{{auth}, {keys}}}}}}}"))
}

/// A cloud with just this in `auth`.
fn auth(keys: &str) -> String {
    mistake(&format!("{{clouds: {{x: {{auth: {{{keys}}}}}}}}}"))
}

#[test]
fn files_that_are_none() {
    for (text, expected) in [
        ("[]", "clouds.yaml: it must hold keys and values"),
        ("", "clouds.yaml: it has no key clouds with a cloud in it"),
        ("clouds:", "clouds.yaml: it has no key clouds with a cloud in it"),
        ("clouds: {}", "clouds.yaml: it has no key clouds with a cloud in it"),
        ("clouds: [a]", "clouds.yaml: clouds must hold one entry for each cloud, by name"),
        ("clouds: {x: 7}", "clouds.yaml: cloud x must have keys and values"),
        (
            "clouds: {x: {}, y: {}}",
            "clouds.yaml has several clouds (x, y): choose one with OS_CLOUD",
        ),
        (
            "clouds: {x: {profile: vendor}}",
            "clouds.yaml: cloud x: profile vendor is in no clouds-public.yaml",
        ),
    ] {
        assert_eq!(mistake(text), expected, "{text}");
    }
    let broken = mistake("clouds:\n  x:\n    auth: {password: tiger\n  y: [");
    assert!(broken.starts_with("clouds.yaml: "), "{broken}");
    assert!(!broken.contains("tiger"), "{broken}");
    let error = read("clouds: {x: {}, y: {}}", &[("OS_CLOUD", "z")], &[]).unwrap_err();
    assert_eq!(error.to_string(), "clouds.yaml has no cloud z; it has x, y");
}

#[test]
fn keys_that_are_missing() {
    for (keys, expected) in [
        ("", "auth_url is missing"),
        ("auth_url: 'http://k'", "username is missing (or user_id)"),
        (
            "auth_url: 'http://k', username: u, password: tiger",
            "user_domain_name is missing (names are unique only within a domain; most often it is Default)",
        ),
        ("auth_url: 'http://k', user_id: u", "password is missing"),
        ("auth_url: 'http://k', user_id: u, password: ' '", "password is missing"),
        (
            "auth_url: 'http://k', user_id: u, password: tiger",
            "project_name is missing (or project_id, domain_name, domain_id, system_scope: without one there is no catalogue)",
        ),
        (
            "auth_url: 'http://k', user_id: u, password: tiger, project_name: z",
            "project_domain_name is missing (names are unique only within a domain; most often it is Default)",
        ),
        (
            "auth_url: 'http://k', application_credential_id: i",
            "application_credential_secret is missing",
        ),
    ] {
        assert_eq!(auth(keys), format!("clouds.yaml: cloud x: {expected}"), "{keys}");
    }
}

#[test]
fn values_that_cannot_be() {
    for (keys, expected) in [
        (
            "auth_type: v2password",
            "auth_type: v2password is not supported: it may be password, v3password, v3applicationcredential or v3token",
        ),
        ("interface: inside", "interface: inside cannot be: it may be public, internal or admin"),
        ("endpoint_type: 7", "interface: 7 cannot be: it may be public, internal or admin"),
        (
            "compute_interface: x",
            "compute_interface: x cannot be: it may be public, internal or admin",
        ),
        ("verify: perhaps", "verify: it must be true or false"),
        ("region_name: [a]", "region_name: it must be a text"),
        ("region_name: true", "region_name: it must be a text; put it in quotes"),
        ("regions: a", "regions: it must be a list of names"),
        ("regions: [{values: {}}]", "regions[0]: it has no name"),
        ("system_scope: some", "system_scope: some cannot be: there is only all"),
        ("api_timeout: never", "api_timeout: it must be a number of seconds between 0.1 and 3600"),
        ("api_timeout: 0", "api_timeout: it must be a number of seconds between 0.1 and 3600"),
        (
            "compute_default_microversion: 2.90",
            "compute_default_microversion: put it in quotes: numbers lose their last 0",
        ),
        ("cacert: no.pem", "cacert: cannot read no.pem: there is no such file"),
        (
            "network_endpoint_override: x",
            "network_endpoint_override: it must begin with http:// or https://",
        ),
        (
            "network_endpoint_override: 'ftp://x'",
            "network_endpoint_override: it must begin with http:// or https://",
        ),
        (
            "image_endpoint: 'http://u:tiger@x'",
            "image_endpoint: user and password do not belong into the URL",
        ),
        ("image_endpoint: 'http://x y'", "image_endpoint: it is no URL"),
    ] {
        assert_eq!(with(keys), format!("clouds.yaml: cloud x: {expected}"), "{keys}");
        assert!(!with(keys).contains("tiger"));
    }
}

proptest! {
    #[test]
    fn whatever_is_written_is_answered(text in ".{0,200}") {
        let _ = read(&text, &[], &[]);
    }

    #[test]
    fn whatever_a_key_holds_is_answered(
        key in "[a-z_]{3,12}|auth_url|regions|auth_type|verify|api_timeout|auth|profile|interface",
        value in "[0-9]{1,30}|true|null|\\[\\]|\\[1\\]|\\{\\}|'.{0,20}'|-.inf|1e400",
    ) {
        let auth = "auth: {auth_url: 'http://k', user_id: u, password: tiger, project_id: z}";
        let told = read(&format!("{{clouds: {{x: {{{auth}, {key}: {value}}}}}}}"), &[], &[]);
        if let Err(mistake) = told {
            prop_assert!(!mistake.to_string().contains("tiger"));
        }
    }
}
