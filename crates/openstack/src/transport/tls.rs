//! Whom to believe: the authorities of the settings, those of the machine, or anybody.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::config::Trust;

/// The settings of connections; what is wrong with the certificates is told in words.
pub(super) fn config(trust: &Trust) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = if trust.is_insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
    } else {
        builder.with_root_certificates(roots(trust)?)
    };
    let Some((certificates, key)) = &trust.identity else {
        return Ok(builder.with_no_client_auth());
    };
    let certificates = read_certificates(certificates, "cert")?;
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| format!("key: there is no private key in PEM form in it: {error}"))?;
    builder
        .with_client_auth_cert(certificates, key)
        .map_err(|error| format!("cert and key do not fit together: {error}"))
}

fn roots(trust: &Trust) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match &trust.authorities {
        Some(pem) => {
            for certificate in read_certificates(pem, "cacert")? {
                roots.add(certificate).map_err(|error| {
                    format!("cacert: a certificate in it is no authority: {error}")
                })?;
            }
        }
        // A machine without any can still talk to whoever needs no TLS.
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

fn read_certificates(pem: &[u8], key: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(list) if list.is_empty() => {
            Err(format!("{key}: there is no certificate in PEM form in it"))
        }
        Ok(list) => Ok(list),
        Err(error) => Err(format!("{key}: it is not in PEM form: {error}")),
    }
}

/// Believes anybody, because the settings say so; whoever speaks must still hold the key they show.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
