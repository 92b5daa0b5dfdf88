//! Acting as somebody else, as `kubectl --as` asks for.

use http::HeaderMap;
use landbridge_machinery::rbac::Attributes;
use landbridge_machinery::status::{ApiError, ApiResult};

use super::subject;
use crate::identity::Identity;
use crate::path::percent_decode;
use crate::server::Inner;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// Whom a request wants to act as.
#[derive(Debug)]
pub struct Wanted(Identity);

/// Reads the headers; `None` when there are none of these.
pub fn wanted(headers: &HeaderMap) -> ApiResult<Option<Wanted>> {
    let mut identity = Identity::default();
    let mut any = false;
    for (name, value) in headers {
        let name = name.as_str();
        if !name.starts_with("impersonate-") {
            continue;
        }
        any = true;
        let value = value
            .to_str()
            .map_err(|_| ApiError::bad_request(format!("the header {name} is not plain text")))?;
        match name {
            USER => value.clone_into(&mut identity.user),
            UID => value.clone_into(&mut identity.uid),
            GROUP => identity.groups.push(value.to_owned()),
            _ => match name.strip_prefix(EXTRA).and_then(percent_decode) {
                Some(key) => {
                    identity.extra.entry(key.to_lowercase()).or_default().push(value.to_owned());
                }
                None => return Err(ApiError::bad_request(format!("unknown header {name}"))),
            },
        }
    }
    if any && identity.user.is_empty() {
        return Err(ApiError::bad_request(
            "requested to impersonate groups, a uid or extra fields without impersonating a user",
        ));
    }
    Ok(any.then_some(Wanted(identity)))
}

impl Wanted {
    /// The other identity, if the sender may act as it: every part of it needs to be allowed.
    pub fn authorized(self, server: &Inner, sender: &Identity) -> ApiResult<Identity> {
        let Self(mut identity) = self;
        let ask = |group: &str, resource: &str, sub: &str, namespace: &str, name: &str| {
            let wanted = Attributes {
                user: &sender.user,
                groups: &sender.groups,
                verb: "impersonate",
                group,
                resource,
                subresource: sub,
                name,
                namespace,
                path: None,
            };
            super::authorize(server, &wanted, "")
        };
        let account = subject::account(&identity.user);
        match account {
            Some((namespace, name)) => ask("", "serviceaccounts", "", namespace, name)?,
            None => ask("", "users", "", "", &identity.user)?,
        }
        for group in &identity.groups {
            ask("", "groups", "", "", group)?;
        }
        if !identity.uid.is_empty() {
            ask(AUTHENTICATION, "uids", "", "", &identity.uid)?;
        }
        for (key, values) in &identity.extra {
            for value in values {
                ask(AUTHENTICATION, "userextras", key, "", value)?;
            }
        }
        if let (Some((namespace, _)), true) = (account, identity.groups.is_empty()) {
            identity.groups = subject::account_groups(namespace);
        }
        let standing = if identity.user == subject::ANONYMOUS {
            subject::UNAUTHENTICATED
        } else {
            subject::AUTHENTICATED
        };
        if !identity.has_group(subject::AUTHENTICATED) && !identity.has_group(standing) {
            identity.groups.push(standing.to_owned());
        }
        Ok(identity)
    }
}
