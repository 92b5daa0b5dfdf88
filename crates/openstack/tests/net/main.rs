//! The real transport over loopback: TLS, and everything that can happen to an answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use landbridge_openstack::config::Trust;
use landbridge_openstack::{Net, Transport as _, Trouble};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const FINE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// Reads one request and says this, whatever it was.
async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &str) {
    let mut seen = Vec::new();
    let mut buffer = [0; 1024];
    while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut buffer).await {
            Ok(count @ 1..) => seen.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Who answers every connection with this, with TLS or without.
async fn server(answer: &'static str, tls: Option<TlsAcceptor>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let tls = tls.clone();
            tokio::spawn(async move {
                match tls {
                    None => talk(stream, answer).await,
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            talk(stream, answer).await;
                        }
                    }
                }
            });
        }
    });
    port
}

async fn ask(net: &Net, url: String) -> Result<Bytes, Trouble> {
    let request = Request::get(url).body(Bytes::new()).unwrap();
    net.send(request).await.map(http::Response::into_body)
}

fn net(trust: &Trust) -> Net {
    Net::new(trust, Duration::from_millis(500)).unwrap()
}

/// An authority's PEM, and a server that it knows as `localhost`.
fn authority() -> (Vec<u8>, TlsAcceptor) {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], private)
        .unwrap();
    (issuer.pem().into_bytes(), TlsAcceptor::from(Arc::new(config)))
}

#[tokio::test]
async fn plain_http() {
    let port = server(FINE, None).await;
    let net = net(&Trust::default());
    for _ in 0..3 {
        let body = ask(&net, format!("http://localhost:{port}/x?y=1")).await.unwrap();
        assert_eq!(body, "{}");
    }
}

#[tokio::test]
async fn https_with_the_right_authority_only() {
    let (authority_pem, acceptor) = authority();
    let port = server(FINE, Some(acceptor)).await;
    let trusted = Trust { authorities: Some(authority_pem), ..Trust::default() };
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{port}/");
        assert_eq!(ask(&net(&trusted), url.clone()).await.unwrap(), "{}");
        let (other, _) = authority();
        let foreign = Trust { authorities: Some(other), ..Trust::default() };
        match ask(&net(&foreign), url.clone()).await.unwrap_err() {
            Trouble::Unreachable(why) => assert!(why.contains("invalid peer certificate"), "{why}"),
            other => panic!("{other:?}"),
        }
        let insecure = Trust { is_insecure: true, ..Trust::default() };
        assert_eq!(ask(&net(&insecure), url).await.unwrap(), "{}");
    }
}

#[test]
fn certificates_that_are_none_are_told_before_anything_is_asked() {
    let wrong = |trust: Trust| Net::new(&trust, Duration::from_secs(1)).err().unwrap();
    let authorities = Some(b"hello".to_vec());
    assert_eq!(
        wrong(Trust { authorities, ..Trust::default() }),
        "cacert: there is no certificate in PEM form in it"
    );
    let authorities = Some(b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----".to_vec());
    let told = wrong(Trust { authorities, ..Trust::default() });
    assert!(told.starts_with("cacert: it is not in PEM form: "), "{told}");
    let (pem, _) = authority();
    let told = wrong(Trust { identity: Some((pem, b"x".to_vec())), ..Trust::default() });
    assert!(told.starts_with("key: there is no private key in PEM form in it"), "{told}");
}

#[tokio::test]
async fn whether_anything_was_sent_is_known() {
    let net = net(&Trust::default());
    // Nobody listens there any more.
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    match ask(&net, format!("http://127.0.0.1:{port}/")).await.unwrap_err() {
        Trouble::Unreachable(why) => assert!(why.contains("refused"), "{why}"),
        other => panic!("{other:?}"),
    }
    for (answer, expected) in [
        ("", "connection closed before message completed"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}",
            "end of file before message length reached",
        ),
        ("nonsense\r\n\r\n", "invalid HTTP"),
    ] {
        let port = server(answer, None).await;
        match ask(&net, format!("http://127.0.0.1:{port}/")).await.unwrap_err() {
            Trouble::Lost(why) => assert!(why.contains(expected), "{why}"),
            other => panic!("{answer:?}: {other:?}"),
        }
    }
    // Somebody takes the request and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent = tokio::spawn(async move {
        let _kept = listener.accept().await;
        std::future::pending::<()>().await;
    });
    let error = ask(&net, format!("http://127.0.0.1:{port}/")).await.unwrap_err();
    assert_eq!(error, Trouble::Lost("none within 0.5 s".to_owned()));
    silent.abort();
}

#[tokio::test]
async fn an_answer_beyond_all_measure_is_not_read() {
    const HUGE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n{}";
    let port = server(HUGE, None).await;
    let error =
        ask(&net(&Trust::default()), format!("http://127.0.0.1:{port}/")).await.unwrap_err();
    assert_eq!(error, Trouble::Unreadable("it is larger than 67108864 bytes".to_owned()));
}
