//! Query parameters, read once and checked.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::status::{ApiError, ApiResult};

use crate::path::percent_decode;

/// What an unknown or doubled field leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Silence.
    Ignore,
    /// A `Warning` header.
    #[default]
    Warn,
    /// Refusal.
    Strict,
}

/// How `resourceVersion` of a list is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    /// At least that new.
    NotOlderThan,
    /// Exactly then.
    Exact,
}

/// All parameters the server understands; others are ignored, as upstream does.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// `labelSelector`.
    pub label_selector: String,
    /// `fieldSelector`.
    pub field_selector: String,
    /// `limit`; 0 is no limit.
    pub limit: usize,
    /// `continue`.
    pub continuation: String,
    /// `resourceVersion`; `None` when unset.
    pub resource_version: Option<u64>,
    /// `resourceVersionMatch`.
    pub version_match: Option<VersionMatch>,
    /// `watch`.
    pub watch: bool,
    /// `allowWatchBookmarks`.
    pub bookmarks: bool,
    /// `sendInitialEvents`.
    pub send_initial_events: Option<bool>,
    /// `timeoutSeconds` of a list or watch.
    pub timeout_seconds: Option<u64>,
    /// `dryRun=All`.
    pub dry_run: bool,
    /// `fieldValidation`.
    pub field_validation: FieldValidation,
    /// `fieldManager`.
    pub field_manager: String,
    /// `force` of an apply.
    pub force: bool,
    /// `propagationPolicy` of a delete.
    pub propagation: Option<String>,
    /// `gracePeriodSeconds` of a delete.
    pub grace_period: Option<i64>,
    /// `includeObject` of a table.
    pub include_object: Option<String>,
    /// `pretty`, or a browser asking.
    pub pretty: bool,
    /// A health endpoint should list its checks.
    pub verbose: bool,
}

impl Query {
    /// Reads a query string.
    pub fn parse(text: &str) -> ApiResult<Self> {
        let mut query = Self::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            query.set(&decode(key)?, decode(value)?)?;
        }
        query.check()?;
        Ok(query)
    }

    fn set(&mut self, key: &str, value: String) -> ApiResult<()> {
        match key {
            "labelSelector" => self.label_selector = value,
            "fieldSelector" => self.field_selector = value,
            // Upstream takes a negative limit for none.
            "limit" => self.limit = usize::try_from(number::<i64>(key, &value)?).unwrap_or(0),
            "continue" => self.continuation = value,
            "resourceVersion" if value.is_empty() => {}
            "resourceVersion" => self.resource_version = Some(revision(&value)?),
            "resourceVersionMatch" => self.version_match = version_match(&value)?,
            "watch" => self.watch = boolean(&value),
            "allowWatchBookmarks" => self.bookmarks = boolean(&value),
            "sendInitialEvents" => self.send_initial_events = Some(boolean(&value)),
            "timeoutSeconds" => self.timeout_seconds = Some(number(key, &value)?),
            "dryRun" => self.dry_run = dry_run(&value)?,
            "fieldValidation" => self.field_validation = field_validation(&value)?,
            "fieldManager" => self.field_manager = value,
            "force" => self.force = boolean(&value),
            "propagationPolicy" => self.propagation = Some(value),
            "gracePeriodSeconds" => self.grace_period = Some(number(key, &value)?),
            "includeObject" => self.include_object = Some(value),
            "pretty" => self.pretty = boolean(&value),
            "verbose" => self.verbose = true,
            _ => {}
        }
        Ok(())
    }

    /// Combinations upstream refuses.
    fn check(&self) -> ApiResult<()> {
        let forbidden = |field: &str, why: &str| {
            Err(invalid_option("ListOptions", FieldError::forbidden(&FieldPath::new(field), why)))
        };
        if self.watch {
            match (self.send_initial_events, self.version_match) {
                (Some(_), Some(VersionMatch::NotOlderThan)) | (None, None) => {}
                (Some(_), _) => {
                    return forbidden(
                        "resourceVersionMatch",
                        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                    );
                }
                (None, Some(_)) => {
                    return forbidden(
                        "resourceVersionMatch",
                        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                    );
                }
            }
            return Ok(());
        }
        if self.send_initial_events.is_some() {
            return forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
        }
        match self.version_match {
            Some(_) if self.resource_version.is_none() => forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ),
            Some(_) if !self.continuation.is_empty() => forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden when continue is provided",
            ),
            Some(VersionMatch::Exact) if self.resource_version == Some(0) => forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            ),
            _ => Ok(()),
        }
    }
}

/// `+` is a blank in queries, unlike in paths.
fn decode(text: &str) -> ApiResult<String> {
    let text = text.replace('+', " ");
    percent_decode(&text).map(std::borrow::Cow::into_owned).ok_or_else(|| {
        ApiError::bad_request(format!("malformed escape in query parameter {text:?}"))
    })
}

fn boolean(value: &str) -> bool {
    // Upstream: present but empty is true; only these two words are false.
    !matches!(value, "false" | "0")
}

fn number<T: std::str::FromStr>(key: &str, value: &str) -> ApiResult<T> {
    value.parse().map_err(|_| {
        ApiError::bad_request(format!(
            "invalid query parameter {key}={value:?}: not a number in range"
        ))
    })
}

fn revision(value: &str) -> ApiResult<u64> {
    value.parse().map_err(|_| {
        let message = format!(
            "resourceVersion: Invalid value: {value:?}: strconv.ParseUint: parsing {value:?}: invalid syntax"
        );
        ApiError::bad_request(message)
    })
}

fn version_match(value: &str) -> ApiResult<Option<VersionMatch>> {
    match value {
        "" => Ok(None),
        "NotOlderThan" => Ok(Some(VersionMatch::NotOlderThan)),
        "Exact" => Ok(Some(VersionMatch::Exact)),
        other => Err(unsupported(
            "ListOptions",
            "resourceVersionMatch",
            other,
            &["Exact", "NotOlderThan", ""],
        )),
    }
}

/// 422 about a parameter, as if it were a field of upstream's options object.
pub fn invalid_option(options: &str, error: FieldError) -> ApiError {
    ApiError::invalid(&GroupKind::new("meta.k8s.io", options), "", &[error])
}

/// 422: the parameter has none of the values it may have.
pub fn unsupported(options: &str, field: &str, value: &str, supported: &[&str]) -> ApiError {
    invalid_option(options, FieldError::not_supported(&FieldPath::new(field), value, supported))
}

fn dry_run(value: &str) -> ApiResult<bool> {
    match value {
        "" => Ok(false),
        "All" => Ok(true),
        other => Err(unsupported("CreateOptions", "dryRun", other, &["All"])),
    }
}

fn field_validation(value: &str) -> ApiResult<FieldValidation> {
    match value {
        "" | "Warn" => Ok(FieldValidation::Warn),
        "Ignore" => Ok(FieldValidation::Ignore),
        "Strict" => Ok(FieldValidation::Strict),
        other => Err(unsupported(
            "CreateOptions",
            "fieldValidation",
            other,
            &["", "Ignore", "Strict", "Warn"],
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_clients_send() {
        let query = Query::parse(
            "labelSelector=a%3Db%2Cc&limit=500&resourceVersion=0&watch=1&allowWatchBookmarks=true&timeoutSeconds=5",
        )
        .expect("query");
        assert_eq!(query.label_selector, "a=b,c");
        assert_eq!(query.limit, 500);
        assert_eq!(query.resource_version, Some(0));
        assert!(query.watch && query.bookmarks);
        assert_eq!(query.timeout_seconds, Some(5));
    }

    #[test]
    fn refuses_what_upstream_refuses() {
        for (text, code) in [
            ("limit=x", 400),
            ("resourceVersion=abc", 400),
            ("dryRun=Some", 422),
            ("fieldValidation=Maybe", 422),
            ("resourceVersionMatch=Exact", 422),
            ("watch=true&sendInitialEvents=true", 422),
            ("sendInitialEvents=true", 422),
            ("labelSelector=%f", 400),
        ] {
            assert_eq!(Query::parse(text).expect_err(text).code, code, "{text}");
        }
    }
}
