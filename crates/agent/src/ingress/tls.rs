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

/// TLS towards clients, with the Route's own certificate where it has one. Without a Route, too: clients
/// are to read why.
pub fn server(site: Option<&Site>, own: Option<&Identity>) -> anyhow::Result<Arc<ServerConfig>> {
    let (certificate, key) = match (site.and_then(|site| site.certificate.as_ref()), own) {
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

/// TLS towards pods. Trusted is who the Route says, and the authority of pods (`own`, PEM): on OpenShift
/// that is the default, and here it signs for pods whose own certificates are not there, as their images are not.
pub fn client(site: &Site, own: Option<&str>) -> anyhow::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for (pem, what) in [
        (site.trusted.as_deref(), "tls.destinationCACertificate"),
        (own, "the certificate of the authority of pods"),
    ] {
        for certificate in CertificateDer::pem_slice_iter(pem.unwrap_or_default().as_bytes()) {
            let certificate = certificate.with_context(|| format!("{what} is not PEM"))?;
            roots.add(certificate).with_context(|| format!("{what} is not a certificate"))?;
        }
    }
    anyhow::ensure!(
        !roots.is_empty(),
        "reencrypt needs tls.destinationCACertificate: whom the pods' certificates are trusted from"
    );
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
