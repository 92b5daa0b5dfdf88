//! Errors as the protocol tells them.
//!
//! The reference plugins wrap every error of their own in number 999, also those about the
//! configuration; only what their common frame checks has a number of its own. Runtimes have seen
//! nothing else for years, so the numbers are kept.

use std::error::Error;

use landbridge_cni::config::{BadNetwork, Input};
use landbridge_cni::{CniError, Code, Coded};

pub(crate) type Outcome<T> = Result<T, CniError>;

/// An error of the plugin's own.
pub(crate) fn internal(text: impl Into<String>) -> CniError {
    CniError::new(Code::INTERNAL, text)
}

/// A key of the configuration that this plugin cannot honour.
pub(crate) fn unsupported(text: impl Into<String>) -> CniError {
    CniError::new(Code::UNSUPPORTED_FIELD, text)
}

/// An error of a configuration or its arguments.
pub(crate) fn refused(error: &dyn Coded) -> CniError {
    CniError { details: error.details(), ..internal(error.to_string()) }
}

/// An error whose number the frame tells.
pub(crate) fn coded(error: &dyn Coded, input: &Input) -> CniError {
    error.report(input.version.as_str())
}

/// An error of what every plugin reads. The frame tells names, versions and what is no JSON; the
/// rest is found by the plugin.
pub(crate) fn of_input(error: &BadNetwork) -> CniError {
    match error {
        BadNetwork::WrongType("name" | "cniVersion") => {
            CniError::new(Code::DECODING_FAILURE, error.to_string())
        }
        BadNetwork::Json(_) | BadNetwork::Name(_) | BadNetwork::Version(_) => error.report(""),
        _ => refused(error),
    }
}

/// The error in the version the caller speaks.
pub(crate) fn in_version(mut error: CniError, input: &Input) -> CniError {
    input.version.as_str().clone_into(&mut error.cni_version);
    error
}

/// An error with all its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(found) = cause {
        text = format!("{text}: {found}");
        cause = found.source();
    }
    text
}

/// Says what was being done when something failed.
pub(crate) trait Context<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Outcome<T>;
}

impl<T, E: Error> Context<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Outcome<T> {
        self.map_err(|error| internal(format!("{}: {}", what(), chain(&error))))
    }
}
