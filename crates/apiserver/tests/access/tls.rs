//! Certificates and tokens over a real connection.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};
use kube::config::{AuthInfo, Config, KubeConfigOptions, Kubeconfig};
use kube::{Client, Error};
use landbridge_apiserver::pki::Pki;

use crate::world::{World, rule};

async fn client(kubeconfig: Kubeconfig) -> Client {
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.expect("kubeconfig");
    Client::try_from(config).expect("client")
}

async fn code(client: &Client, namespace: &str) -> u16 {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    match maps.list(&ListParams::default()).await {
        Ok(_) => 200,
        Err(Error::Api(status)) => status.code,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn certificates_and_tokens_prove_who_one_is() {
    let world = World::new().await;
    let pki = Pki::ensure(&world.dir.path().join("pki"), Timestamp::now()).expect("certificates");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("port");
    let url = format!("https://{}", listener.local_addr().expect("address"));
    let (server, tls) = (world.server.clone(), pki.server_tls().expect("tls"));
    let serving =
        tokio::spawn(async move { server.serve_tls(listener, tls, std::future::pending()).await });

    world.role("default", "reader", rule("", &["configmaps"], &["list"])).await;
    world.bind("default", "Role", "reader", "bob").await;
    world.account("default", "robot").await;
    world.bind("default", "Role", "reader", "system:serviceaccount:default:robot").await;

    let pair = pki.issue("bob", &["dev"], Timestamp::now()).expect("certificate");
    let bob = Kubeconfig::from_yaml(&pki.kubeconfig(&url, "bob", &pair)).expect("kubeconfig");
    let bob_client = client(bob.clone()).await;
    assert_eq!(code(&bob_client, "default").await, 200);
    assert_eq!(code(&bob_client, "kube-system").await, 403);

    let with = |auth: AuthInfo| {
        let mut kubeconfig = bob.clone();
        for user in &mut kubeconfig.auth_infos {
            user.auth_info = Some(auth.clone());
        }
        client(kubeconfig)
    };
    let token = world.token_of("default", "robot").await;
    let robot = with(AuthInfo { token: Some(token.into()), ..AuthInfo::default() }).await;
    assert_eq!(code(&robot, "default").await, 200);
    assert_eq!(code(&robot, "kube-system").await, 403);
    let forged =
        with(AuthInfo { token: Some("a.b.c".to_owned().into()), ..AuthInfo::default() }).await;
    assert_eq!(code(&forged, "default").await, 401);
    let stranger = with(AuthInfo::default()).await;
    assert_eq!(code(&stranger, "default").await, 401);
    serving.abort();
}
