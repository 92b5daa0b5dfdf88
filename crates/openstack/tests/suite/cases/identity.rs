//! Keystone: tokens, the catalogue, accounts.

use std::time::Duration;

use landbridge_openstack::config::{Authentication, Domain, Scope, User};
use landbridge_openstack::resources::{
    Endpoint, EndpointChange, NewEndpoint, NewProject, NewService, NewUser, Project, ProjectChange,
    Region, RegisteredService, Role, ServiceChange, User as Account, UserChange,
};
use landbridge_openstack::{
    Call, Client, Error, Method, Query, Reaction, Resource as _, Service, Settings,
};
use serde_json::{Value, json};

use crate::place::Place;

async fn me(client: &Client) -> Result<Vec<Project>, Error> {
    client.list::<Project>(&Query::all()).await
}

pub async fn logins(place: &Place) {
    // With the version in the URL and without, by names and by ids, for a project and for the system.
    let by_name = place.settings("admin");
    let mut versioned = by_name.clone();
    versioned.auth_url.push_str("/v3");
    let mut slashed = by_name.clone();
    slashed.auth_url.push('/');
    let account = place.admin.only::<Account>(&Query::all().with("name", "admin")).await;
    let account = account.unwrap().unwrap();
    let mut by_id = by_name.clone();
    by_id.authentication =
        Authentication::Password { user: User::Id(account.id), password: "secret".to_owned() };
    by_id.scope = Scope::ProjectId(place.project("admin").await);
    let mut domain = by_name.clone();
    domain.scope = Scope::ProjectName("admin".to_owned(), Domain::Id("default".to_owned()));
    for settings in [by_name, versioned, slashed, by_id, domain] {
        let told = format!("{settings:?}");
        let found = me(&Client::connect(settings).unwrap()).await;
        let found = found.unwrap_or_else(|error| panic!("{told}: {error}"));
        assert!(found.iter().any(|project| project.name == "service"), "{told}");
    }
}

pub async fn wrong_logins(place: &Place) {
    let wrong = |change: fn(&mut Settings)| {
        let mut settings = place.settings("member");
        change(&mut settings);
        Client::connect(settings).unwrap()
    };
    let password = wrong(|settings| {
        if let Authentication::Password { password, .. } = &mut settings.authentication {
            "wrong".clone_into(password);
        }
    });
    let project = wrong(|settings| settings.scope = Scope::ProjectId("nothing".to_owned()));
    for client in [password, project] {
        let error = me(&client).await.unwrap_err();
        assert_eq!(error.reaction(), Reaction::Credentials, "{error}");
        let refusal = error.refusal().unwrap();
        assert_eq!((refusal.status.as_u16(), refusal.kind.as_str()), (401, "Unauthorized"));
        assert!(refusal.request_id.as_ref().is_some_and(|id| id.starts_with("req-")), "{error}");
        assert!(!error.to_string().contains("secret") && !error.to_string().contains("wrong"));
    }
    let region = wrong(|settings| settings.region = Some("nowhere".to_owned()));
    let error = region.extensions().await.unwrap_err();
    assert_eq!(error.reaction(), Reaction::Setup);
    assert_eq!(
        error.to_string(),
        "cloud simple has no public endpoint of network in region nowhere: it has admin in \
         RegionOne, internal in RegionOne, public in RegionOne"
    );
    let nobody = wrong(|settings| "http://127.0.0.1:9".clone_into(&mut settings.auth_url));
    // Nobody is reached, however often it is tried.
    let error = me(&nobody).await.unwrap_err();
    assert_eq!(error.reaction(), Reaction::Retry, "{error}");
}

pub async fn application_credentials(place: &Place) {
    let account = place.admin.only::<Account>(&Query::all().with("name", "member")).await;
    let id = account.unwrap().unwrap().id;
    let path = format!("/users/{id}/application_credentials");
    let name = place.name("credential");
    let body = json!({"application_credential": {"name": name, "secret": "hush"}});
    let made = place.member.call(Call::post(Service::Identity, path.clone(), body)).await.unwrap();
    let credential = made.body["application_credential"]["id"].as_str().unwrap().to_owned();
    let secret = || "hush".to_owned();
    let by_id = Authentication::CredentialId { id: credential.clone(), secret: secret() };
    let by_name = Authentication::CredentialName {
        name,
        user: User::Name("member".to_owned(), Domain::Name("Default".to_owned())),
        secret: secret(),
    };
    for authentication in [by_id.clone(), by_name] {
        let mut settings = place.settings("member");
        settings.authentication = authentication;
        settings.scope = Scope::Own;
        let client = Client::connect(settings).unwrap();
        let networks = Call::get(Service::Network, "/networks");
        assert!(client.call(networks).await.unwrap().body["networks"].is_array());
    }
    let delete = Call::delete(Service::Identity, format!("{path}/{credential}"));
    place.member.call(delete).await.unwrap();
    let mut settings = place.settings("member");
    settings.authentication = by_id;
    settings.scope = Scope::Own;
    let error = me(&Client::connect(settings).unwrap()).await.unwrap_err();
    assert_eq!(error.reaction(), Reaction::Credentials, "{error}");
}

pub async fn a_revoked_token(place: &Place) {
    let client = Client::connect(place.settings("admin")).unwrap();
    me(&client).await.unwrap();
    // A token of its own, so that nobody else is thrown out.
    let login = Call::post(Service::Identity, "/auth/tokens", place.settings("admin").login());
    let reply = client.call(login).await.unwrap();
    let token = reply.headers["x-subject-token"].to_str().unwrap().to_owned();
    let mut settings = place.settings("admin");
    settings.authentication = Authentication::Token(token);
    let borrowed = Client::connect(settings).unwrap();
    me(&borrowed).await.unwrap();
    let mut revoke = Call::new(Service::Identity, Method::DELETE, "/auth/tokens");
    revoke.subject = Some(reply.headers["x-subject-token"].clone());
    client.call(revoke).await.unwrap();
    // It cannot be renewed with itself. A real Keystone has been seen to take a token for a moment longer.
    let mut refused = me(&borrowed).await.err();
    for _ in 0..40 {
        if refused.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
        refused = me(&borrowed).await.err();
    }
    let error = refused.expect("a revoked token is refused");
    assert_eq!(error.reaction(), Reaction::Credentials, "{error}");
    // Whoever has a password notices nothing.
    me(&client).await.unwrap();
}

pub async fn catalogue(place: &Place) {
    let admin = &place.admin;
    let name = place.name("glance");
    let new = NewService {
        name: Some(name.clone()),
        type_: Some("image-of-a-test".to_owned()),
        description: Some("first".to_owned()),
        enabled: Some(true),
    };
    let service: RegisteredService = admin.create(&new).await.unwrap();
    assert_eq!((service.name.as_str(), service.type_.as_str()), (&*name, "image-of-a-test"));
    let change = ServiceChange {
        description: Some("second".to_owned()),
        enabled: Some(false),
        ..ServiceChange::default()
    };
    let service = admin.update::<RegisteredService>(&service.id, &change, None).await.unwrap();
    assert_eq!((service.description.as_str(), service.enabled), ("second", false));
    let regions: Vec<Region> = admin.list(&Query::all()).await.unwrap();
    assert!(regions.iter().any(|region| region.id == "RegionOne"), "{regions:?}");
    let new = NewEndpoint {
        service_id: Some(service.id.clone()),
        interface: Some("public".to_owned()),
        url: Some("http://glance:9292".to_owned()),
        region_id: Some("RegionOne".to_owned()),
        enabled: Some(true),
    };
    let endpoint: Endpoint = admin.create(&new).await.unwrap();
    assert!(endpoint.is_trace(&new));
    let change =
        EndpointChange { url: Some("http://glance:80".to_owned()), ..EndpointChange::default() };
    let endpoint = admin.update::<Endpoint>(&endpoint.id, &change, None).await.unwrap();
    assert_eq!(endpoint.url, "http://glance:80");
    let of_service = Query::all().with("service_id", service.id.as_str());
    let found = admin.only::<Endpoint>(&of_service).await.unwrap();
    assert_eq!(found.as_ref(), Some(&endpoint));
    admin.delete::<Endpoint>(&endpoint.id).await.unwrap();
    admin.delete::<Endpoint>(&endpoint.id).await.unwrap();
    admin.delete::<RegisteredService>(&service.id).await.unwrap();
    assert_eq!(admin.find::<RegisteredService>(&service.id).await.unwrap(), None);
}

pub async fn accounts(place: &Place) {
    let admin = &place.admin;
    let new = NewProject {
        name: Some(place.name("project")),
        description: Some("of a test".to_owned()),
        domain_id: Some("default".to_owned()),
        ..NewProject::default()
    };
    let project: Project = admin.create(&new).await.unwrap();
    let error = admin.create::<Project>(&new).await.unwrap_err();
    assert_eq!((error.status(), error.reaction()), (Some(409), Reaction::Conflict));
    let name = place.name("user");
    let new = NewUser {
        name: Some(name.clone()),
        domain_id: Some("default".to_owned()),
        password: Some("first".to_owned()),
        ..NewUser::default()
    };
    let user: Account = admin.create(&new).await.unwrap();
    let role = admin.only::<Role>(&Query::all().with("name", "member")).await.unwrap().unwrap();
    admin.grant(&project.id, &user.id, &role.id).await.unwrap();
    admin.grant(&project.id, &user.id, &role.id).await.unwrap();
    let change = UserChange { password: Some("second".to_owned()), ..UserChange::default() };
    admin.update::<Account>(&user.id, &change, None).await.unwrap();
    let mut settings = place.settings("member");
    settings.authentication =
        Authentication::Password { user: User::Id(user.id.clone()), password: "second".to_owned() };
    settings.scope = Scope::ProjectId(project.id.clone());
    let client = Client::connect(settings).unwrap();
    let found = client.call(Call::get(Service::Network, "/networks")).await.unwrap();
    assert!(matches!(&found.body["networks"], Value::Array(_)));
    let change = ProjectChange { enabled: Some(false), ..ProjectChange::default() };
    let project = admin.update::<Project>(&project.id, &change, None).await.unwrap();
    assert!(!project.enabled);
    admin.delete::<Account>(&user.id).await.unwrap();
    admin.delete::<Project>(&project.id).await.unwrap();
}
