//! TLS of a responder, without its socket: bytes of the wire in, bytes of the client out, and back.
//!
//! A client that greets with TLS is answered with TLS, on every port: which of its ports a container would
//! encrypt nobody says. The certificate is for the name that the client asks for.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection};

use super::authority::{Authority, Pair};

/// The type of a TLS record that greets; no word of another protocol begins with it.
const HANDSHAKE: u8 = 22;
/// So many names are remembered; names are for free to whoever asks.
const NAMES: usize = 64;

/// Whether a connection begins with TLS.
pub fn greets(bytes: &[u8]) -> bool {
    bytes.first() == Some(&HANDSHAKE)
}

/// Certificates by name, made when they are asked for.
pub struct Certificates {
    authority: Authority,
    known: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificates")
    }
}

impl Certificates {
    /// Of an authority.
    pub fn new(authority: Authority) -> Self {
        Self { authority, known: Mutex::default() }
    }

    fn of(&self, name: &str) -> io::Result<Arc<CertifiedKey>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = known.get(name) {
            return Ok(Arc::clone(key));
        }
        let Pair { certificate, key } = self.authority.sign(name, Timestamp::now())?;
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(io::Error::other)?;
        let certified = CertifiedKey::from_der(
            vec![certificate.map_err(io::Error::other)?],
            key,
            &rustls::crypto::ring::default_provider(),
        );
        let certified = Arc::new(certified.map_err(io::Error::other)?);
        if known.len() >= NAMES {
            known.clear();
        }
        known.insert(name.to_owned(), Arc::clone(&certified));
        Ok(certified)
    }
}

/// Chooses the certificate for one connection: who names no host means the address.
#[derive(Debug)]
struct Chooser {
    certificates: Arc<Certificates>,
    here: IpAddr,
}

impl ResolvesServerCert for Chooser {
    fn resolve(&self, greeting: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = greeting.server_name().map_or_else(|| self.here.to_string(), str::to_owned);
        self.certificates.of(&name).ok()
    }
}

/// The TLS of one connection.
pub struct Secure {
    tls: ServerConnection,
}

impl Secure {
    /// A connection at an address of the pod.
    pub fn new(certificates: &Arc<Certificates>, here: IpAddr) -> Result<Self, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chooser = Chooser { certificates: Arc::clone(certificates), here };
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(chooser));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let mut tls = ServerConnection::new(Arc::new(config))?;
        // How much waits is limited by who reads.
        tls.set_buffer_limit(None);
        Ok(Self { tls })
    }

    /// The name the client asked for, once it has.
    pub fn name(&self) -> Option<&str> {
        self.tls.server_name()
    }

    /// Takes in what was received, and returns what the client said in it. After an error the client is
    /// still told what was wrong with it.
    pub fn receive(&mut self, mut bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut said = Vec::new();
        while !bytes.is_empty() {
            self.tls.read_tls(&mut bytes)?;
            let state = self.tls.process_new_packets().map_err(io::Error::other)?;
            let length = said.len();
            said.resize(length + state.plaintext_bytes_to_read(), 0);
            self.tls.reader().read_exact(&mut said[length..])?;
        }
        Ok(said)
    }

    /// What goes onto the wire for these words to the client, and whatever else waits.
    pub fn send(&mut self, words: &mut Vec<u8>, wire: &mut Vec<u8>) -> io::Result<()> {
        self.tls.writer().write_all(words)?;
        words.clear();
        while self.tls.wants_write() {
            self.tls.write_tls(wire)?;
        }
        Ok(())
    }

    /// Nothing more is said after this.
    pub fn end(&mut self) {
        self.tls.send_close_notify();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::*;

    fn client(trusted: &Pair, name: &str) -> ClientConnection {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(trusted.certificate.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        ClientConnection::new(Arc::new(config), name.to_owned().try_into().unwrap()).unwrap()
    }

    /// Talks until both are silent, in pieces of so many bytes; what the server heard comes back.
    fn talk(
        client: &mut ClientConnection,
        server: &mut Secure,
        piece: usize,
    ) -> io::Result<String> {
        let mut heard = Vec::new();
        loop {
            let mut wire = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut wire).unwrap();
            }
            let mut said = Vec::new();
            for piece in wire.chunks(piece) {
                said.extend(server.receive(piece)?);
            }
            heard.extend_from_slice(&said);
            let mut back = Vec::new();
            server.send(&mut said, &mut back)?;
            if wire.is_empty() && back.is_empty() {
                return Ok(String::from_utf8(heard).unwrap());
            }
            let mut back = &back[..];
            while !back.is_empty() {
                client.read_tls(&mut back).unwrap();
                client.process_new_packets().map_err(io::Error::other)?;
            }
        }
    }

    fn server(pair: &Pair) -> Secure {
        let certificates = Certificates::new(Authority::of_key(&pair.key).unwrap());
        Secure::new(&Arc::new(certificates), IpAddr::from([10, 244, 0, 2])).unwrap()
    }

    #[test]
    fn whatever_name_is_asked_for_is_certified_and_bytes_pass() {
        let pair = Authority::create(Timestamp::now()).unwrap();
        let long = format!("{}.{}.svc", "a".repeat(63), "b".repeat(63));
        for name in ["glance-internal.openstack.svc", "shop.example.test", "10.244.0.2", &long] {
            for piece in [1, 7, 100_000] {
                let (mut client, mut server) = (client(&pair, name), server(&pair));
                client.writer().write_all(b"hello").unwrap();
                assert_eq!(talk(&mut client, &mut server, piece).unwrap(), "hello", "{name}");
                let mut echo = [0; 5];
                client.reader().read_exact(&mut echo).unwrap();
                assert_eq!(&echo, b"hello");
                let asked = (!name.starts_with("10.")).then_some(name);
                assert_eq!(server.name(), asked);
            }
        }
    }

    #[test]
    fn who_does_not_trust_the_authority_does_not_talk() {
        let (ours, theirs) = (
            Authority::create(Timestamp::now()).unwrap(),
            Authority::create(Timestamp::now()).unwrap(),
        );
        let (mut client, mut server) = (client(&theirs, "a.test"), server(&ours));
        let error = talk(&mut client, &mut server, 1000).unwrap_err();
        assert!(error.to_string().contains("invalid peer certificate"), "{error}");
    }

    #[test]
    fn nonsense_is_an_error_and_the_client_is_told() {
        let mut server = server(&Authority::create(Timestamp::now()).unwrap());
        assert!(greets(&[HANDSHAKE, 3]) && !greets(b"GET") && !greets(b""));
        // A greeting without anything in it.
        assert!(server.receive(&[HANDSHAKE, 3, 1, 0, 4, 1, 0, 0, 0]).is_err());
        let mut wire = Vec::new();
        server.send(&mut Vec::new(), &mut wire).unwrap();
        assert_eq!(wire.first(), Some(&21), "an alert");
    }
}
