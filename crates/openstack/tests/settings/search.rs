//! Files are looked for where openstacksdk looks for them.

use std::fs;
use std::path::Path;

use landbridge_openstack::config::{Environment, load};

fn cloud(auth_url: &str) -> String {
    format!(
        "clouds: {{x: {{auth: {{auth_url: '{auth_url}', user_id: u, password: p, project_id: z}}}}}}"
    )
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn surroundings(root: &Path) -> Environment {
    let text = |path: &Path| path.display().to_string();
    Environment {
        variables: [
            ("HOME".to_owned(), text(&root.join("home"))),
            ("XDG_CONFIG_DIRS".to_owned(), text(&root.join("site"))),
        ]
        .into(),
        directory: root.join("here"),
    }
}

#[test]
fn the_nearest_file_wins() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut environment = surroundings(root);
    let found = |environment: &Environment| {
        load(environment, None).map(|settings| settings.auth_url).map_err(|m| m.to_string())
    };
    let none = found(&environment).unwrap_err();
    assert!(none.starts_with("no cloud is known: there is no clouds.yaml in "), "{none}");
    assert!(none.contains("home/.config/openstack") && none.contains("/etc/openstack"), "{none}");
    // Farthest first, so that every next one is nearer.
    let places = [
        ("site/openstack/clouds.yaml", "http://site"),
        ("home/.config/openstack/clouds.json", "http://user-json"),
        ("home/.config/openstack/clouds.yml", "http://user-yml"),
        ("home/.config/openstack/clouds.yaml", "http://user"),
        ("here/clouds.yaml", "http://here"),
    ];
    for (place, url) in places {
        let text = cloud(url);
        put(&root.join(place), &text);
        assert_eq!(found(&environment).unwrap(), url, "{place}");
    }
    put(&root.join("named.yaml"), &cloud("http://named"));
    let variables = &mut environment.variables;
    variables.insert("OS_CLIENT_CONFIG_FILE".to_owned(), "../named.yaml".to_owned());
    assert_eq!(found(&environment).unwrap(), "http://named");
    fs::remove_file(root.join("named.yaml")).unwrap();
    let error = found(&environment).unwrap_err();
    assert!(error.ends_with("named.yaml: there is no such file"), "{error}");
}

#[test]
fn what_is_secret_may_be_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let environment = surroundings(root);
    put(&root.join("here/clouds.yaml"), &cloud("http://here"));
    let secret = "clouds: {x: {auth: {password: hidden}, cacert: '~/ca.pem'}}";
    put(&root.join("home/.config/openstack/secure.yaml"), secret);
    put(&root.join("home/ca.pem"), "PEM");
    let found = load(&environment, Some("x")).unwrap();
    let user = &found.login()["auth"]["identity"]["password"]["user"];
    assert_eq!(user["password"], "hidden");
    assert_eq!(found.trust.authorities, Some(b"PEM".to_vec()));
}

#[test]
fn a_file_beyond_all_measure_is_not_read() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(&root.join("here/clouds.yaml"), &"#".repeat(2 << 20));
    let error = load(&surroundings(root), None).unwrap_err().to_string();
    assert!(error.ends_with("it is larger than 1048576 bytes"), "{error}");
}
