//! The authority of the lab's pods: who signs the certificates that responders show.
//!
//! On a cluster the certificates of pods are in Secrets, and OpenShift has an authority of its own that
//! signs those of Services and that its router trusts. Images are not run here and Secrets are not
//! mounted, so a responder signs for whatever name it is asked for. That is why this is an authority
//! apart: it is trusted for pods, by the lab's ingress and by whoever is given its certificate, and the
//! API's knows nothing of it.

use std::io;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

const NAME: &str = "landbridge-service-ca";
const DAY: i64 = 24 * 60 * 60;
const AUTHORITY_LIFE: i64 = 3650 * DAY;
const LEAF_LIFE: i64 = 365 * DAY;
/// Clocks may be this much behind ours.
const SKEW: i64 = 60 * 60;

/// A certificate and its key, PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// See the [module](self).
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new one.
    pub fn create(now: Timestamp) -> io::Result<Pair> {
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let mut params = params();
        live(&mut params, now, AUTHORITY_LIFE);
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// The one that has this key. Its certificate says nothing that is not known.
    pub fn of_key(pem: &str) -> io::Result<Self> {
        let key = KeyPair::from_pem(pem).map_err(io::Error::other)?;
        Ok(Self { issuer: Issuer::new(params(), key) })
    }

    /// A certificate for a server, by a host name or an address.
    pub fn sign(&self, name: &str, now: Timestamp) -> io::Result<Pair> {
        let mut params = CertificateParams::new(vec![name.to_owned()]).map_err(io::Error::other)?;
        params.distinguished_name = called(name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        live(&mut params, now, LEAF_LIFE);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(io::Error::other)?;
        Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

fn params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = called(NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
}

fn called(name: &str) -> DistinguishedName {
    let mut called = DistinguishedName::new();
    // A common name has 64 characters at most; names that count are the alternative ones.
    called.push(DnType::CommonName, name.chars().take(64).collect::<String>());
    called
}

fn live(params: &mut CertificateParams, now: Timestamp, seconds: i64) {
    let at = |second: i64| {
        let since = Duration::from_secs(u64::try_from(second).unwrap_or(0));
        date_time_ymd(1970, 1, 1) + since
    };
    params.not_before = at(now.as_second().saturating_sub(SKEW));
    params.not_after = at(now.as_second().saturating_add(seconds));
}
