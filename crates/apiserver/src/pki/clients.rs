//! Who a client is, as far as its certificate proves it.
//!
//! A certificate we cannot trust does not end the handshake: the client would see a broken
//! connection and nobody would know why. It proves nothing, so the request is answered with 401,
//! as kube-apiserver does. The proof that the client holds the key is always demanded.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme};

use super::certificate;
use crate::identity::Identity;

/// TLS settings of a server, and the judge of its clients' certificates.
#[derive(Clone)]
pub struct ServerTls {
    /// Settings for the acceptor.
    pub config: Arc<ServerConfig>,
    clients: Arc<dyn ClientCertVerifier>,
}

impl ServerTls {
    /// Settings with the strict verifier of our own authority.
    pub(super) fn new(config: ServerConfig, clients: Arc<dyn ClientCertVerifier>) -> Self {
        Self { config: Arc::new(config), clients }
    }

    /// The identity a certificate chain proves; `None` when it is not of our authority, out of
    /// date, or names nobody.
    pub fn identity(&self, chain: &[CertificateDer<'_>]) -> Option<Identity> {
        let (end, intermediates) = chain.split_first()?;
        self.clients.verify_client_cert(end, intermediates, UnixTime::now()).ok()?;
        certificate::identity(end).map(|(user, groups)| Identity {
            user,
            groups,
            ..Identity::default()
        })
    }
}

/// Lets every certificate through the handshake; [`ServerTls::identity`] judges it afterwards.
#[derive(Debug)]
pub(super) struct AskLater(pub(super) Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for AskLater {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _end: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
