//! Certificates: those of Routes, or the ingress's own; and trust in those of pods.

use std::sync::Arc;

use anyhow::Context as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::sites::Site;

/// A certificate and its key, PEM.
#[derive(Clone)]
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

/// TLS towards clients, with the Route's own certificate where it has one.
pub fn server(site: &Site, own: Option<&Identity>) -> anyhow::Result<Arc<ServerConfig>> {
    let (certificate, key) = match (&site.certificate, own) {
        (Some((certificate, key)), _) => (certificate, key),
        (None, Some(own)) => (&own.certificate, &own.key),
        (None, None) => anyhow::bail!("the ingress has no certificate of its own"),
    };
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(certificate.as_bytes())
            .collect::<Result<_, _>>()
            .context("the certificate is not PEM")?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).context("the key is not PEM")?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("certificate and key do not go together")?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// TLS towards pods: trusted is who the Route says, and nobody else.
pub fn client(site: &Site) -> anyhow::Result<Arc<ClientConfig>> {
    let pem = site.trusted.as_deref().context(
        "reencrypt needs tls.destinationCACertificate: whom the pods' certificates are trusted from",
    )?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.context("destinationCACertificate is not PEM")?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
