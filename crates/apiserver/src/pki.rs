//! Certificates of one server: a certificate authority of its own, the server's certificate, the
//! administrator's, and the kubeconfig that carries them.
//!
//! | file in DIR (0700, files 0600) | life | when it is made again |
//! |---|---|---|
//! | `ca.crt`, `ca.key` | 10 years | never by itself: every kubeconfig trusts this one. A lost `ca.crt` is signed again by the same key |
//! | `server.crt`, `server.key` | 1 year | within 30 days of its end, unreadable, from another authority, or lacking a name |
//! | `admin.crt`, `admin.key` | 1 year | the same, and for another subject |
//!
//! Time is passed in. Every certificate begins an hour before it is made, for machines whose
//! clocks disagree. Files are replaced whole (written beside and renamed), so a crash leaves the
//! old pair, the new one, or a pair that does not match and is made again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use rcgen::KeyPair;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

mod certificate;
mod clients;
mod files;

pub use clients::ServerTls;

use certificate::{Authority, Purpose, Subject};

/// Names and addresses every server certificate is good for, beside the name of the host.
const SERVER_NAMES: &[&str] = &[
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "10.96.0.1",
    "fd00:10:96::1",
];

/// User of the administrator's certificate.
pub const ADMIN_USER: &str = "kubernetes-admin";
/// Group that may do everything.
pub const ADMIN_GROUP: &str = "system:masters";

/// What can go wrong with certificates, in words for whoever has to repair it.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A file could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried, for example `read`.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The certificate authority on disk cannot be used. It is never replaced silently: every
    /// kubeconfig that trusts it would stop working.
    #[error(
        "the certificate authority in {} cannot be used: {why}. Restore ca.crt and ca.key, or remove both to have a new authority made (every kubeconfig then has to be fetched again)",
        dir.display()
    )]
    Authority {
        /// Where it is.
        dir: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A certificate could not be made.
    #[error("cannot make a certificate for {subject:?}")]
    Issue {
        /// Common name.
        subject: String,
        /// Why not.
        #[source]
        source: rcgen::Error,
    },
    /// More organizations than a certificate made here can carry.
    #[error("a certificate for {subject:?} can carry two organizations, not {count}")]
    Organizations {
        /// Common name.
        subject: String,
        /// How many were asked for.
        count: usize,
    },
    /// The key that signs tokens cannot be used. A new one would make every token invalid.
    #[error("the token key {} cannot be used: {why}. Restore it, or remove it to have a new one made (every token then has to be asked for again)", path.display())]
    TokenKey {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// TLS refuses the certificates.
    #[error("the server's certificate or key cannot be used for TLS: {why}")]
    Tls {
        /// What rustls says.
        why: String,
    },
}

/// A certificate and its key, both PEM.
#[derive(Clone)]
pub struct Pair {
    /// `-----BEGIN CERTIFICATE-----`
    pub certificate: String,
    /// `-----BEGIN PRIVATE KEY-----`
    pub key: String,
}

/// All certificates of one server.
pub struct Pki {
    authority: Authority,
    server: Pair,
    admin: Pair,
}

impl Pki {
    /// Reads the certificates in `dir` and makes those that are missing or about to end.
    pub fn ensure(dir: &Path, now: Timestamp) -> Result<Self, PkiError> {
        Self::ensure_for(dir, &[], now)
    }

    /// As [`Pki::ensure`], for a server that also answers to other names or addresses.
    pub fn ensure_for(dir: &Path, names: &[String], now: Timestamp) -> Result<Self, PkiError> {
        files::private_dir(dir)?;
        let authority = load_authority(dir, now)?;
        let server = Subject {
            common_name: "landbridge-apiserver".to_owned(),
            organizations: Vec::new(),
            names: server_names(names),
            purpose: Purpose::Server,
        };
        let admin = Subject::client(ADMIN_USER, &[ADMIN_GROUP]);
        let server = load_pair(dir, "server", &server, &authority, now)?;
        let admin = load_pair(dir, "admin", &admin, &authority, now)?;
        Ok(Self { authority, server, admin })
    }

    /// Certificate of the authority, PEM: what clients trust.
    pub fn ca_pem(&self) -> &str {
        self.authority.certificate_pem()
    }

    /// Certificate and key of the administrator.
    pub fn admin(&self) -> &Pair {
        &self.admin
    }

    /// Certificate and key of the server.
    pub fn server(&self) -> &Pair {
        &self.server
    }

    /// TLS for the server: HTTP/2 and HTTP/1.1; client certificates are asked for but not demanded,
    /// so that a client without a good one gets a proper 401 instead of a TLS alert.
    pub fn server_tls(&self) -> Result<ServerTls, PkiError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(certificate_der(self.ca_pem())?).map_err(tls)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone())
            .allow_unauthenticated()
            .build()
            .map_err(tls)?;
        let key = PrivateKeyDer::from_pem_slice(self.server.key.as_bytes()).map_err(tls)?;
        let chain = vec![certificate_der(&self.server.certificate)?];
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(tls)?
            .with_client_cert_verifier(Arc::new(clients::AskLater(verifier.clone())))
            .with_single_cert(chain, key)
            .map_err(tls)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(ServerTls::new(config, verifier))
    }

    /// Makes a client certificate for another identity, good for a year; nothing is written.
    pub fn issue(
        &self,
        common_name: &str,
        organizations: &[&str],
        now: Timestamp,
    ) -> Result<Pair, PkiError> {
        self.authority.issue(&Subject::client(common_name, organizations), now)
    }

    /// Makes a certificate for another server with these names, good for a year; nothing is written.
    pub fn issue_server(
        &self,
        common_name: &str,
        names: &[String],
        now: Timestamp,
    ) -> Result<Pair, PkiError> {
        let subject = Subject {
            common_name: common_name.to_owned(),
            organizations: Vec::new(),
            names: names.iter().cloned().collect(),
            purpose: Purpose::Server,
        };
        self.authority.issue(&subject, now)
    }

    /// A kubeconfig with everything in it: cluster and context `landbridge`, namespace `default`.
    pub fn kubeconfig(&self, server_url: &str, user: &str, credentials: &Pair) -> String {
        let data = |pem: &str| BASE64.encode(pem);
        // JSON strings are YAML strings: quoting leaves nothing to chance.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             clusters:\n\
             - name: landbridge\n  cluster:\n    server: {server}\n    certificate-authority-data: {ca}\n\
             users:\n\
             - name: {user}\n  user:\n    client-certificate-data: {certificate}\n    client-key-data: {key}\n\
             contexts:\n\
             - name: landbridge\n  context:\n    cluster: landbridge\n    user: {user}\n    namespace: default\n\
             current-context: landbridge\n",
            server = quoted(server_url),
            user = quoted(user),
            ca = data(self.ca_pem()),
            certificate = data(&credentials.certificate),
            key = data(&credentials.key),
        )
    }

    /// The administrator's kubeconfig.
    pub fn admin_kubeconfig(&self, server_url: &str) -> String {
        self.kubeconfig(server_url, ADMIN_USER, &self.admin)
    }
}

/// Writes a file only its owner may read: beside the target first, then renamed over it.
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), PkiError> {
    files::write(path, content)
}

/// Content of a file only its owner may read; `None` when it is not there.
pub(crate) fn read_private(path: &Path) -> Result<Option<String>, PkiError> {
    files::read(path)
}

fn load_authority(dir: &Path, now: Timestamp) -> Result<Authority, PkiError> {
    let unusable = |why: String| PkiError::Authority { dir: dir.to_owned(), why };
    let certificate = files::read(&dir.join("ca.crt"))?;
    let key = match files::read(&dir.join("ca.key"))? {
        Some(pem) => KeyPair::from_pem(&pem)
            .map_err(|error| unusable(format!("ca.key is not a private key: {error}")))?,
        None if certificate.is_some() => {
            return Err(unusable("ca.key is missing, ca.crt is there".to_owned()));
        }
        None => {
            let key = certificate::new_key("landbridge-ca")?;
            files::write(&dir.join("ca.key"), key.serialize_pem().as_bytes())?;
            key
        }
    };
    if let Some(certificate) = certificate {
        return Authority::from_parts(certificate, key, now).map_err(unusable);
    }
    // The key alone is what a crash between the two files leaves, or a lost certificate.
    let authority = Authority::sign_itself(key, now)?;
    files::write(&dir.join("ca.crt"), authority.certificate_pem().as_bytes())?;
    Ok(authority)
}

fn load_pair(
    dir: &Path,
    name: &str,
    subject: &Subject,
    authority: &Authority,
    now: Timestamp,
) -> Result<Pair, PkiError> {
    let certificate_path = dir.join(format!("{name}.crt"));
    let key_path = dir.join(format!("{name}.key"));
    let stored = files::read(&certificate_path)?.zip(files::read(&key_path)?);
    let reason = match stored {
        None => "missing",
        Some((certificate, key)) => {
            let pair = Pair { certificate, key };
            match authority.reason_to_renew(&pair, subject, now) {
                None => return Ok(pair),
                Some(reason) => reason,
            }
        }
    };
    tracing::info!(certificate = name, reason, "making a certificate");
    let pair = authority.issue(subject, now)?;
    files::write(&key_path, pair.key.as_bytes())?;
    files::write(&certificate_path, pair.certificate.as_bytes())?;
    Ok(pair)
}

fn server_names(more: &[String]) -> BTreeSet<String> {
    let fixed = SERVER_NAMES.iter().map(|name| (*name).to_owned());
    fixed.chain(more.iter().cloned()).chain(host_name()).collect()
}

/// Name of this machine, when it can stand in a certificate.
fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim().to_ascii_lowercase();
    landbridge_machinery::names::is_subdomain(&name).then_some(name)
}

fn certificate_der(pem: &str) -> Result<CertificateDer<'static>, PkiError> {
    CertificateDer::from_pem_slice(pem.as_bytes()).map_err(tls)
}

#[allow(clippy::needless_pass_by_value)] // the shape map_err wants
fn tls(error: impl std::fmt::Display) -> PkiError {
    PkiError::Tls { why: error.to_string() }
}

#[cfg(test)]
mod tests;
