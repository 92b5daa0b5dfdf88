//! Making and judging single certificates.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData as _, date_time_ymd,
};
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::X509Certificate;

use super::{Pair, PkiError};

const DAY: i64 = 24 * 60 * 60;
const AUTHORITY_LIFE: i64 = 3650 * DAY;
const LEAF_LIFE: i64 = 365 * DAY;
/// A certificate this close to its end is made again.
const RENEW_BEFORE: i64 = 30 * DAY;
/// Clocks of other machines may be this much behind ours.
const SKEW: i64 = 60 * 60;
const AUTHORITY_NAME: &str = "landbridge-ca";

/// What a certificate is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Server,
    Client,
}

/// Whom a certificate names.
pub(super) struct Subject {
    pub common_name: String,
    pub organizations: Vec<String>,
    /// DNS names and addresses.
    pub names: BTreeSet<String>,
    pub purpose: Purpose,
}

impl Subject {
    pub(super) fn client(common_name: &str, organizations: &[&str]) -> Self {
        Self {
            common_name: common_name.to_owned(),
            organizations: organizations.iter().map(|&o| o.to_owned()).collect(),
            names: BTreeSet::new(),
            purpose: Purpose::Client,
        }
    }
}

/// User and groups a client certificate stands for: common name and organizations. `None` when it
/// cannot be read or names nobody. Whether to trust it was decided before, by TLS.
pub fn identity(certificate_der: &[u8]) -> Option<(String, Vec<String>)> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate_der).ok()?;
    let (user, groups) = subject_of(&certificate);
    (!user.is_empty()).then_some((user, groups))
}

fn subject_of(certificate: &X509Certificate<'_>) -> (String, Vec<String>) {
    let subject = certificate.subject();
    let text = |attribute: &x509_parser::prelude::AttributeTypeAndValue<'_>| {
        attribute.as_str().map(str::to_owned).ok()
    };
    let user = subject.iter_common_name().find_map(text).unwrap_or_default();
    (user, subject.iter_organization().filter_map(text).collect())
}

/// The authority that signs everything else.
pub(super) struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
    key_id: Vec<u8>,
}

impl Authority {
    /// A new certificate for the key.
    pub(super) fn sign_itself(key: KeyPair, now: Timestamp) -> Result<Self, PkiError> {
        let mut params = authority_params();
        set_life(&mut params, now, AUTHORITY_LIFE);
        let certificate = params.self_signed(&key).map_err(failed(AUTHORITY_NAME))?.pem();
        let key_id = params.key_identifier(&key);
        Ok(Self { certificate, issuer: Issuer::new(params, key), key_id })
    }

    /// The authority that was stored; the error says what is wrong with it.
    pub(super) fn from_parts(
        certificate: String,
        key: KeyPair,
        now: Timestamp,
    ) -> Result<Self, String> {
        let params = authority_params();
        let key_id = params.key_identifier(&key);
        with_certificate(&certificate, |parsed| {
            if parsed.public_key().raw != key.subject_public_key_info() {
                return Err("ca.crt and ca.key do not belong together".to_owned());
            }
            if subject_of(parsed).0 != AUTHORITY_NAME || !parsed.is_ca() {
                return Err(format!("ca.crt is not a certificate of {AUTHORITY_NAME}"));
            }
            let end = parsed.validity().not_after;
            if end.timestamp() <= now.as_second() {
                return Err(format!("ca.crt has expired on {end}"));
            }
            Ok(())
        })
        .ok_or("ca.crt is not a certificate")??;
        Ok(Self { certificate, issuer: Issuer::new(params, key), key_id })
    }

    pub(super) fn certificate_pem(&self) -> &str {
        &self.certificate
    }

    /// A new key and a certificate for it.
    pub(super) fn issue(&self, subject: &Subject, now: Timestamp) -> Result<Pair, PkiError> {
        let failed = || failed(&subject.common_name);
        let names: Vec<String> = subject.names.iter().cloned().collect();
        let mut params = CertificateParams::new(names).map_err(failed())?;
        params.distinguished_name = distinguished_name(subject)?;
        params.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = vec![match subject.purpose {
            Purpose::Server => ExtendedKeyUsagePurpose::ServerAuth,
            Purpose::Client => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.use_authority_key_identifier_extension = true;
        set_life(&mut params, now, LEAF_LIFE);
        let key = new_key(&subject.common_name)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed())?;
        Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// Why a stored certificate has to be made again; `None` when it is good.
    pub(super) fn reason_to_renew(
        &self,
        pair: &Pair,
        wanted: &Subject,
        now: Timestamp,
    ) -> Option<&'static str> {
        let Ok(key) = KeyPair::from_pem(&pair.key) else { return Some("key unreadable") };
        let judge = |parsed: &X509Certificate<'_>| {
            let validity = parsed.validity();
            if parsed.public_key().raw != key.subject_public_key_info() {
                Some("certificate and key do not belong together")
            } else if validity.not_after.timestamp() < now.as_second().saturating_add(RENEW_BEFORE)
            {
                Some("expires within 30 days")
            } else if validity.not_before.timestamp() > now.as_second() {
                Some("not valid yet")
            } else if !self.has_signed(parsed) {
                Some("signed by another authority")
            } else if subject_of(parsed)
                != (wanted.common_name.clone(), wanted.organizations.clone())
            {
                Some("made for someone else")
            } else if !names_of(parsed).is_superset(&wanted.names) {
                Some("lacks a name or address of this host")
            } else {
                None
            }
        };
        with_certificate(&pair.certificate, judge).unwrap_or(Some("certificate unreadable"))
    }

    /// By the identifier of our key, which is a hash of it: this sorts out leftovers, the
    /// signature itself is judged by TLS.
    fn has_signed(&self, certificate: &X509Certificate<'_>) -> bool {
        certificate.extensions().iter().any(|extension| match extension.parsed_extension() {
            ParsedExtension::AuthorityKeyIdentifier(id) => {
                id.key_identifier.as_ref().is_some_and(|id| id.0 == self.key_id)
            }
            _ => false,
        })
    }
}

/// A new P-256 key.
pub(super) fn new_key(for_whom: &str) -> Result<KeyPair, PkiError> {
    KeyPair::generate().map_err(failed(for_whom))
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, AUTHORITY_NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
    ];
    params
}

fn distinguished_name(subject: &Subject) -> Result<DistinguishedName, PkiError> {
    // rcgen keeps one value per type; the organization's number spelled out is a second type.
    let types = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    if subject.organizations.len() > types.len() {
        return Err(PkiError::Organizations {
            subject: subject.common_name.clone(),
            count: subject.organizations.len(),
        });
    }
    let mut name = DistinguishedName::new();
    for (kind, organization) in types.into_iter().zip(&subject.organizations) {
        name.push(kind, organization.as_str());
    }
    name.push(DnType::CommonName, subject.common_name.as_str());
    Ok(name)
}

fn set_life(params: &mut CertificateParams, now: Timestamp, seconds: i64) {
    let at = |second: i64| {
        let since_epoch = Duration::from_secs(u64::try_from(second).unwrap_or(0));
        date_time_ymd(1970, 1, 1) + since_epoch
    };
    params.not_before = at(now.as_second().saturating_sub(SKEW));
    params.not_after = at(now.as_second().saturating_add(seconds));
}

fn with_certificate<T>(pem: &str, judge: impl FnOnce(&X509Certificate<'_>) -> T) -> Option<T> {
    let (_, pem) = parse_x509_pem(pem.as_bytes()).ok()?;
    let certificate = pem.parse_x509().ok()?;
    Some(judge(&certificate))
}

fn names_of(certificate: &X509Certificate<'_>) -> BTreeSet<String> {
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return BTreeSet::new() };
    names.value.general_names.iter().filter_map(name_text).collect()
}

fn name_text(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let v6 = || <[u8; 16]>::try_from(*bytes).map(IpAddr::from);
            v4.or_else(|_| v6()).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

fn failed(subject: &str) -> impl FnOnce(rcgen::Error) -> PkiError {
    let subject = subject.to_owned();
    move |source| PkiError::Issue { subject, source }
}
