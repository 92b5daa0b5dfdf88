use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::certificate::identity;
use super::*;
use crate::identity::Identity;

const DAY: i64 = 24 * 60 * 60;

/// The real time: TLS looks at the clock of the machine.
fn now() -> Timestamp {
    Timestamp::now()
}

fn days(from: Timestamp, days: i64) -> Timestamp {
    Timestamp::from_second(from.as_second() + days * DAY).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn read(dir: &TempDir, name: &str) -> String {
    fs::read_to_string(dir.path().join(name)).unwrap()
}

fn temp() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn files_are_for_their_owner_only() {
    let parent = temp();
    let dir = parent.path().join("state/pki");
    Pki::ensure(&dir, now()).unwrap();
    assert_eq!(mode(&dir), 0o700);
    let mut names: Vec<_> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["admin.crt", "admin.key", "ca.crt", "ca.key", "server.crt", "server.key"],
        "all there, no temporary file left"
    );
    for name in names {
        assert_eq!(mode(&dir.join(&name)), 0o600, "{name}");
    }
    // Files that were opened up are closed again.
    fs::set_permissions(dir.join("ca.key"), fs::Permissions::from_mode(0o644)).unwrap();
    Pki::ensure(&dir, now()).unwrap();
    assert_eq!(mode(&dir.join("ca.key")), 0o600);
}

#[test]
fn good_certificates_stay_as_they_are() {
    let dir = temp();
    Pki::ensure(dir.path(), now()).unwrap();
    let before = ["ca.crt", "server.crt", "admin.crt"].map(|name| read(&dir, name));
    Pki::ensure(dir.path(), days(now(), 300)).unwrap();
    assert_eq!(["ca.crt", "server.crt", "admin.crt"].map(|name| read(&dir, name)), before);
}

#[test]
fn certificates_are_renewed_thirty_days_before_their_end_by_the_same_authority() {
    let dir = temp();
    let start = now();
    Pki::ensure(dir.path(), start).unwrap();
    let (ca, server, admin) =
        (read(&dir, "ca.crt"), read(&dir, "server.crt"), read(&dir, "admin.crt"));
    Pki::ensure(dir.path(), days(start, 334)).unwrap();
    assert_eq!(read(&dir, "server.crt"), server, "31 days are enough");
    Pki::ensure(dir.path(), days(start, 336)).unwrap();
    assert_ne!(read(&dir, "server.crt"), server);
    assert_ne!(read(&dir, "admin.crt"), admin);
    assert_eq!(read(&dir, "ca.crt"), ca);
}

#[test]
fn what_cannot_be_used_is_made_again() {
    let dir = temp();
    Pki::ensure(dir.path(), now()).unwrap();
    let good = read(&dir, "server.crt");
    let spoil: [(&str, Option<&str>); 4] = [
        ("server.crt", Some("rubbish")),
        ("server.crt", None),
        ("server.key", Some("")),
        ("server.key", Some(&read(&dir, "admin.key"))),
    ];
    for (name, content) in spoil {
        match content {
            Some(text) => fs::write(dir.path().join(name), text).unwrap(),
            None => fs::remove_file(dir.path().join(name)).unwrap(),
        }
        let pki = Pki::ensure(dir.path(), now()).unwrap();
        pki.server_tls().unwrap();
        assert_ne!(read(&dir, "server.crt"), good, "{name} {content:?}");
    }
}

#[test]
fn certificates_of_another_authority_or_for_someone_else_are_made_again() {
    let (ours, theirs) = (temp(), temp());
    Pki::ensure(ours.path(), now()).unwrap();
    Pki::ensure(theirs.path(), now()).unwrap();
    for name in ["server.crt", "server.key"] {
        fs::copy(theirs.path().join(name), ours.path().join(name)).unwrap();
    }
    let foreign = read(&ours, "server.crt");
    Pki::ensure(ours.path(), now()).unwrap();
    assert_ne!(read(&ours, "server.crt"), foreign);

    let pki = Pki::ensure(ours.path(), now()).unwrap();
    let guest = pki.issue("guest", &[], now()).unwrap();
    fs::write(ours.path().join("admin.crt"), &guest.certificate).unwrap();
    fs::write(ours.path().join("admin.key"), &guest.key).unwrap();
    let pki = Pki::ensure(ours.path(), now()).unwrap();
    assert_ne!(pki.admin().certificate, guest.certificate);
}

#[test]
fn a_new_name_makes_a_new_server_certificate() {
    let dir = temp();
    Pki::ensure(dir.path(), now()).unwrap();
    let before = read(&dir, "server.crt");
    Pki::ensure_for(dir.path(), &["192.0.2.7".into()], now()).unwrap();
    let with_name = read(&dir, "server.crt");
    assert_ne!(with_name, before);
    Pki::ensure(dir.path(), now()).unwrap();
    assert_eq!(read(&dir, "server.crt"), with_name, "one name too many does no harm");
}

#[test]
fn a_damaged_authority_is_refused_in_words_that_help() {
    let dir = temp();
    Pki::ensure(dir.path(), now()).unwrap();
    let (certificate, key) = (read(&dir, "ca.crt"), read(&dir, "ca.key"));
    let fail = || match Pki::ensure(dir.path(), now()) {
        Err(error @ PkiError::Authority { .. }) => error.to_string(),
        other => panic!("expected an unusable authority, got {:?}", other.err()),
    };

    fs::write(dir.path().join("ca.key"), read(&dir, "admin.key")).unwrap();
    assert!(fail().contains("do not belong together"));
    fs::write(dir.path().join("ca.key"), "rubbish").unwrap();
    assert!(fail().contains("not a private key"));
    fs::remove_file(dir.path().join("ca.key")).unwrap();
    assert!(fail().contains("ca.key is missing"));
    fs::write(dir.path().join("ca.key"), &key).unwrap();
    fs::write(dir.path().join("ca.crt"), "rubbish").unwrap();
    let words = fail();
    assert!(words.contains("not a certificate") && words.contains("remove both"), "{words}");
    fs::write(dir.path().join("ca.crt"), &certificate).unwrap();
    assert!(matches!(
        Pki::ensure(dir.path(), days(now(), 3651)),
        Err(PkiError::Authority { why, .. }) if why.contains("expired")
    ));
}

#[test]
fn a_lost_authority_certificate_is_signed_again_by_the_same_key() {
    let dir = temp();
    Pki::ensure(dir.path(), now()).unwrap();
    let server = read(&dir, "server.crt");
    fs::remove_file(dir.path().join("ca.crt")).unwrap();
    Pki::ensure(dir.path(), now()).unwrap();
    assert_eq!(read(&dir, "server.crt"), server, "still good");
}

#[test]
fn the_server_certificate_names_what_clients_call() {
    let dir = temp();
    let pki = Pki::ensure(dir.path(), now()).unwrap();
    let pem = x509_parser::pem::parse_x509_pem(pki.server().certificate.as_bytes()).unwrap().1;
    let certificate = pem.parse_x509().unwrap();
    let sans = certificate.subject_alternative_name().unwrap().unwrap().value.to_owned();
    let text = format!("{:?}", sans.general_names);
    for name in ["localhost", "kubernetes.default.svc.cluster.local"] {
        assert!(text.contains(&format!("DNSName({name:?})")), "{name} in {text}");
    }
    assert!(
        text.contains("IPAddress([0a, 60, 00, 01])") || text.contains("[10, 96, 0, 1]"),
        "{text}"
    );
    let validity = certificate.validity();
    let start = validity.not_before.timestamp();
    let age = now().as_second() - start;
    assert!((3600..3700).contains(&age), "begins an hour before: {age}");
    assert_eq!((validity.not_after.timestamp() - start - 3600) / DAY, 365);
}

#[test]
fn identities_are_common_name_and_organizations() {
    let dir = temp();
    let pki = Pki::ensure(dir.path(), now()).unwrap();
    let who = |pair: &Pair| identity(&certificate_der(&pair.certificate).unwrap());
    assert_eq!(who(pki.admin()), Some((ADMIN_USER.to_owned(), vec![ADMIN_GROUP.to_owned()])));
    let node = pki.issue("system:node:a", &["system:nodes", "Zürich"], now()).unwrap();
    assert_eq!(
        who(&node),
        Some(("system:node:a".to_owned(), vec!["system:nodes".to_owned(), "Zürich".to_owned()]))
    );
    assert_eq!(who(&pki.issue("alone", &[], now()).unwrap()), Some(("alone".to_owned(), vec![])));
    assert!(matches!(
        pki.issue("many", &["a", "b", "c"], now()),
        Err(PkiError::Organizations { count: 3, .. })
    ));
    assert_eq!(identity(b"rubbish"), None);
}

#[test]
fn the_kubeconfig_carries_everything() {
    let dir = temp();
    let pki = Pki::ensure(dir.path(), now()).unwrap();
    let text = pki.admin_kubeconfig("https://127.0.0.1:6443");
    for line in [
        "current-context: landbridge",
        "    server: \"https://127.0.0.1:6443\"",
        "    namespace: default",
        "    user: \"kubernetes-admin\"",
    ] {
        assert!(text.lines().any(|l| l == line), "{line:?} is not in\n{text}");
    }
    let data = |key: &str| {
        let line = text.lines().find(|l| l.trim_start().starts_with(key)).unwrap();
        String::from_utf8(BASE64.decode(line.split(": ").nth(1).unwrap()).unwrap()).unwrap()
    };
    assert_eq!(data("certificate-authority-data"), pki.ca_pem());
    assert_eq!(data("client-certificate-data"), pki.admin().certificate);
    assert_eq!(data("client-key-data"), pki.admin().key);
}

/// Shakes hands over an in-memory pipe; returns the identity the server saw and the protocol.
async fn handshake(
    pki: &Pki,
    trusted: &str,
    credentials: Option<&Pair>,
) -> std::io::Result<(Option<Identity>, Option<Vec<u8>>)> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(certificate_der(trusted).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match credentials {
        None => builder.with_no_client_auth(),
        Some(pair) => {
            let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
            let chain = vec![certificate_der(&pair.certificate).unwrap()];
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (near, far) = tokio::io::duplex(64 * 1024);
    let tls = pki.server_tls().unwrap();
    let acceptor = TlsAcceptor::from(tls.config.clone());
    let server = async {
        let mut stream = acceptor.accept(far).await?;
        stream.write_all(b"x").await?;
        stream.flush().await?;
        let session = stream.get_ref().1;
        let who = session.peer_certificates().and_then(|chain| tls.identity(chain));
        std::io::Result::Ok((who, session.alpn_protocol().map(<[u8]>::to_vec)))
    };
    let client = async {
        let connector = TlsConnector::from(Arc::new(config));
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = connector.connect(name, near).await?;
        stream.read_u8().await
    };
    let (server, client) = tokio::join!(server, client);
    let seen = server?;
    client?;
    Ok(seen)
}

#[tokio::test]
async fn tls_knows_our_clients_and_lets_strangers_ask() {
    let (ours, theirs) = (temp(), temp());
    let pki = Pki::ensure(ours.path(), now()).unwrap();
    let other = Pki::ensure(theirs.path(), now()).unwrap();
    let ca = pki.ca_pem();

    let (who, protocol) = handshake(&pki, ca, Some(pki.admin())).await.unwrap();
    assert_eq!(who.unwrap().user, ADMIN_USER);
    assert_eq!(protocol.unwrap(), b"h2");

    let (who, _) = handshake(&pki, ca, None).await.unwrap();
    assert_eq!(who, None, "no certificate is fine: the answer is a 401");

    let (who, _) = handshake(&pki, ca, Some(other.admin())).await.unwrap();
    assert_eq!(who, None, "not signed by us: proves nothing");
    assert!(handshake(&pki, other.ca_pem(), None).await.is_err(), "client trusts someone else");

    // What a restart reads from disk works as well as what was just made.
    fs::remove_file(ours.path().join("ca.crt")).unwrap();
    let again = Pki::ensure(ours.path(), now()).unwrap();
    handshake(&again, ca, Some(pki.admin())).await.unwrap();
    let guest = Pki::ensure(ours.path(), now()).unwrap().issue("guest", &[], now()).unwrap();
    assert_eq!(handshake(&again, ca, Some(&guest)).await.unwrap().0.unwrap().user, "guest");
}
