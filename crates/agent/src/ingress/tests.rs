//! TLS through the ingress to a responder, in every way a Route can ask for.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use landbridge_api::foreign::route::Route;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::requests::{Ingress, connection};
use super::{Credentials, Door, Identity, sites};
use crate::responder::authority::{Authority, Pair};
use crate::responder::{Container, Port, Protocol, ResponderConfig};
use crate::services::Seen;

/// A responder in a thread, for as long as the tests run; with or without TLS.
fn responder(authority: Option<&Pair>) -> SocketAddr {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = free.local_addr().unwrap();
    drop(free);
    // It is read before the first client is taken.
    let dir = tempfile::tempdir().unwrap();
    let key: Option<PathBuf> = authority.map(|pair| {
        std::fs::write(dir.path().join("key"), &pair.key).unwrap();
        dir.path().join("key")
    });
    let port = Port { number: at.port(), protocol: Protocol::Tcp };
    let config = ResponderConfig {
        namespace: "n".into(),
        pod: "web-0".into(),
        containers: vec![Container {
            name: "web".into(),
            ports: vec![port],
            log: Some("/dev/null".into()),
        }],
        authority: key,
        ..ResponderConfig::default()
    };
    std::thread::spawn(move || crate::responder::run(config));
    while std::net::TcpStream::connect(at).is_err() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    at
}

/// An ingress with one Route to a pod.
fn ingress(tls: &Value, pod: SocketAddr, credentials: Credentials) -> Arc<Ingress> {
    let route: Route = serde_json::from_value(json!({
        "metadata": {"namespace": "n", "name": "web"},
        "spec": {"host": "web.apps.test", "to": {"kind": "Service", "name": "web"}, "tls": tls},
        "status": {"ingress": [{"conditions": [{"type": "Admitted", "status": "True"}]}]},
    }))
    .unwrap();
    let service: Service = serde_json::from_value(json!({
        "metadata": {"namespace": "n", "name": "web"}, "spec": {"ports": [{"port": 443}]}}))
    .unwrap();
    let slice = serde_json::from_value(json!({"addressType": "IPv4",
        "metadata": {"namespace": "n", "name": "s", "labels": {"kubernetes.io/service-name": "web"}},
        "ports": [{"port": pod.port()}],
        "endpoints": [{"addresses": [pod.ip().to_string()], "conditions": {"ready": true}}]}))
    .unwrap();
    let mut seen = Seen::default();
    seen.services.insert(("n".into(), "web".into()), Arc::new(service));
    seen.slices.insert(("n".into(), "s".into()), Arc::new(slice));
    let ingress = Ingress::new(credentials);
    ingress.set(sites::sites([route].iter(), &seen, &BTreeSet::new()));
    Arc::new(ingress)
}

/// What a client by TLS is told that trusts one authority; an error in words.
async fn ask(ingress: &Arc<Ingress>, host: &str, trusted: &str) -> Result<String, String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap()).unwrap();
    let config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    let (near, far) = tokio::io::duplex(64 * 1024);
    tokio::spawn(connection(Arc::clone(ingress), far, None, Door::Secure));
    let name = host.to_owned().try_into().unwrap();
    let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, near).await;
    request(stream.map_err(|error| error.to_string())?, host).await
}

async fn request(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    host: &str,
) -> Result<String, String> {
    let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

struct Scene {
    /// Signs the ingress's own certificate.
    lab: Pair,
    /// Signs those of pods.
    pods: Pair,
    credentials: Credentials,
}

fn scene() -> Scene {
    let lab = Authority::create(Timestamp::now()).unwrap();
    let pods = Authority::create(Timestamp::now()).unwrap();
    let own = Authority::of_key(&lab.key).unwrap().sign("*.apps.test", Timestamp::now()).unwrap();
    let identity = Identity { certificate: own.certificate, key: own.key };
    let credentials =
        Credentials { identity: Some(identity), pods: Some(pods.certificate.clone()) };
    Scene { lab, pods, credentials }
}

#[tokio::test]
async fn every_way_of_tls_reaches_a_pod() {
    let Scene { lab, pods, credentials } = scene();
    let pod = responder(Some(&pods));
    // Who is trusted, and what the pod saw.
    for (tls, trusted, sees) in [
        (json!({"termination": "edge"}), &lab, None),
        (json!({"termination": "reencrypt"}), &lab, Some("TLS for web.n.svc")),
        (json!({"termination": "passthrough"}), &pods, Some("TLS for web.apps.test")),
        // A manifest from elsewhere: it names the authority of pods that are not run here.
        (
            json!({"termination": "reencrypt", "destinationCACertificate": lab.certificate}),
            &lab,
            Some("TLS for web.n.svc"),
        ),
    ] {
        let ingress = ingress(&tls, pod, credentials.clone());
        let answer = ask(&ingress, "web.apps.test", &trusted.certificate).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{tls}: {answer}");
        assert!(answer.contains("pod n/web-0"), "{tls}: {answer}");
        match sees {
            Some(words) => assert!(answer.contains(words), "{tls}: {answer}"),
            None => assert!(!answer.contains("TLS for"), "{tls}: {answer}"),
        }
        let other = if std::ptr::eq(trusted, &raw const lab) { &pods } else { &lab };
        let error = ask(&ingress, "web.apps.test", &other.certificate).await.unwrap_err();
        assert!(error.contains("invalid peer certificate"), "{tls}: {error}");
    }
}

#[tokio::test]
async fn what_cannot_be_encrypted_says_what_to_do() {
    let Scene { lab, pods, credentials } = scene();
    let reencrypt = json!({"termination": "reencrypt"});
    let strangers = Authority::create(Timestamp::now()).unwrap();
    let (plain, secure) = (responder(None), responder(Some(&strangers)));
    let nobody = Credentials { pods: None, ..credentials.clone() };
    let bad = json!({"termination": "reencrypt", "destinationCACertificate":
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"});
    for (tls, pod, credentials, words) in [
        // The pod speaks plain HTTP.
        (&reencrypt, plain, &credentials, "termination edge is the one to use"),
        // Its certificate is of somebody else.
        (&reencrypt, secure, &credentials, "invalid peer certificate"),
        (&reencrypt, secure, &nobody, "reencrypt needs tls.destinationCACertificate"),
        (&bad, secure, &credentials, "tls.destinationCACertificate is not a certificate"),
    ] {
        let ingress = ingress(tls, pod, credentials.clone());
        let answer = ask(&ingress, "web.apps.test", &lab.certificate).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 503"), "{words}: {answer}");
        assert!(answer.contains(words) && answer.contains("Route n/web"), "{words}: {answer}");
    }
    drop(pods);
}

#[tokio::test]
async fn a_host_without_a_route_is_told_by_tls_too() {
    let Scene { lab, pods, credentials } = scene();
    let ingress = ingress(&json!({"termination": "edge"}), responder(Some(&pods)), credentials);
    let answer = ask(&ingress, "nothere.apps.test", &lab.certificate).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("no Route is served for nothere.apps.test/"), "{answer}");
    assert!(answer.contains("web.apps.test"), "{answer}");
}
