//! The conditions of enactments and policies: types, reasons, messages and times as upstream has them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use landbridge_api::foreign::nmstate::objects::Condition;

const SUCCESS: &str = "SuccessfullyConfigured";
const FAILED: &str = "FailedToConfigure";
const RETRYING: &str = "Retrying";
const PROGRESSING: &str = "ConfigurationProgressing";
const LIMIT: &str = "MaxUnavailableLimitReached";
const ABORTED: &str = "ConfigurationAborted";
const NO_NODE: &str = "NoMatchingNode";

/// A condition's text may have so many bytes; a longer one is cut.
const TEXT_BYTES: usize = 8 * 1024;

/// How a policy is doing on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing was done yet.
    Unknown,
    Applying,
    Available,
    /// It failed, and is tried again.
    Retrying(String),
    /// It failed for good.
    Failing(String),
    /// Too many others are at it.
    Pending,
    /// Too many others have failed.
    Aborted(String),
}

/// How a policy is doing on all of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    NoNode(String),
    Degraded(String),
    Progressing(String),
    Available(String),
}

/// Type, status, reason, message.
type Row<'a> = (&'static str, &'static str, &'static str, &'a str);

impl Progress {
    /// The conditions of the enactment.
    pub fn conditions(&self, before: &[Condition], now: Timestamp) -> Vec<Condition> {
        const AVAILABLE: &str = "Available";
        const FAILING: &str = "Failing";
        const AT_WORK: &str = "Progressing";
        const WAITING: &str = "Pending";
        const GIVEN_UP: &str = "Aborted";
        let rows: [Row<'_>; 5] = match self {
            Self::Unknown => [
                (AVAILABLE, "Unknown", "", ""),
                (FAILING, "Unknown", "", ""),
                (AT_WORK, "Unknown", "", ""),
                (WAITING, "Unknown", "", ""),
                (GIVEN_UP, "Unknown", "", ""),
            ],
            Self::Applying => [
                (AVAILABLE, "Unknown", PROGRESSING, ""),
                (FAILING, "Unknown", PROGRESSING, ""),
                (AT_WORK, "True", PROGRESSING, "Applying desired state"),
                (WAITING, "False", PROGRESSING, ""),
                (GIVEN_UP, "False", PROGRESSING, ""),
            ],
            Self::Available => [
                (AVAILABLE, "True", SUCCESS, "successfully reconciled"),
                (FAILING, "False", SUCCESS, ""),
                (AT_WORK, "False", SUCCESS, ""),
                (WAITING, "False", SUCCESS, ""),
                (GIVEN_UP, "False", SUCCESS, ""),
            ],
            Self::Retrying(message) => [
                (AVAILABLE, "False", RETRYING, ""),
                (FAILING, "True", RETRYING, message),
                (AT_WORK, "True", RETRYING, message),
                (WAITING, "False", RETRYING, ""),
                // The reason is upstream's, and scripts may look for it.
                (GIVEN_UP, "False", SUCCESS, ""),
            ],
            Self::Failing(message) => [
                (AVAILABLE, "False", FAILED, ""),
                (FAILING, "True", FAILED, message),
                (AT_WORK, "False", FAILED, ""),
                (WAITING, "False", FAILED, ""),
                (GIVEN_UP, "False", SUCCESS, ""),
            ],
            Self::Pending => {
                let message = "Waiting for progressing nodes to finish";
                [
                    (AVAILABLE, "False", LIMIT, ""),
                    (FAILING, "False", LIMIT, ""),
                    (AT_WORK, "False", LIMIT, message),
                    (WAITING, "True", LIMIT, message),
                    (GIVEN_UP, "False", LIMIT, ""),
                ]
            }
            Self::Aborted(message) => [
                (AVAILABLE, "False", ABORTED, ""),
                (FAILING, "False", ABORTED, ""),
                (AT_WORK, "False", ABORTED, ""),
                (WAITING, "False", ABORTED, ""),
                (GIVEN_UP, "True", ABORTED, message),
            ],
        };
        rows.into_iter().map(|row| dated(row, before, now)).collect()
    }
}

impl Standing {
    /// The conditions of the policy.
    pub fn conditions(&self, before: &[Condition], now: Timestamp) -> Vec<Condition> {
        let rows: [Row<'_>; 4] = match self {
            Self::NoNode(message) => [
                ("Available", "False", NO_NODE, ""),
                ("Degraded", "False", NO_NODE, ""),
                ("Progressing", "False", NO_NODE, ""),
                ("Ignored", "True", NO_NODE, message),
            ],
            Self::Degraded(message) => [
                ("Available", "False", FAILED, ""),
                ("Degraded", "True", FAILED, message),
                // The reason is upstream's, and scripts may look for it.
                ("Progressing", "False", PROGRESSING, ""),
                ("Ignored", "False", FAILED, ""),
            ],
            Self::Progressing(message) => [
                ("Available", "Unknown", PROGRESSING, ""),
                ("Degraded", "Unknown", PROGRESSING, ""),
                ("Progressing", "True", PROGRESSING, message),
                ("Ignored", "False", PROGRESSING, ""),
            ],
            Self::Available(message) => [
                ("Available", "True", SUCCESS, message),
                ("Degraded", "False", SUCCESS, ""),
                ("Progressing", "False", SUCCESS, ""),
                ("Ignored", "False", SUCCESS, ""),
            ],
        };
        rows.into_iter().map(|row| dated(row, before, now)).collect()
    }
}

/// Whether two lists say the same, whenever they said it.
pub fn same_words(one: &[Condition], other: &[Condition]) -> bool {
    fn words(list: &[Condition]) -> impl Iterator<Item = (&str, &str, &str, &str)> {
        list.iter().map(|c| (&*c.type_, &*c.status, &*c.reason, &*c.message))
    }
    words(one).eq(words(other))
}

fn dated(
    (type_, status, reason, message): Row<'_>,
    before: &[Condition],
    now: Timestamp,
) -> Condition {
    let kept = before.iter().find(|old| old.type_ == type_ && old.status == status);
    let kept = kept.and_then(|old| old.last_transition_time.clone());
    // To the second, as the API keeps it.
    let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: cut(message, TEXT_BYTES),
        last_heartbeat_time: Some(now.clone()),
        last_transition_time: Some(kept.unwrap_or(now)),
    }
}

/// A text of at most so many bytes.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most.saturating_sub(4)).rev().find(|end| text.is_char_boundary(*end));
    format!("{} ...", &text[..end.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// `Type=Status/Reason: message`, one a line.
    fn said(conditions: &[Condition]) -> String {
        let line = |c: &Condition| {
            let reason = if c.reason.is_empty() { String::new() } else { format!("/{}", c.reason) };
            let message =
                if c.message.is_empty() { String::new() } else { format!(": {}", c.message) };
            format!("{}={}{reason}{message}", c.type_, c.status)
        };
        conditions.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_state_of_an_enactment() {
        let cases = [
            (
                Progress::Unknown,
                "Available=Unknown\nFailing=Unknown\nProgressing=Unknown\nPending=Unknown\nAborted=Unknown",
            ),
            (
                Progress::Applying,
                "Available=Unknown/ConfigurationProgressing\nFailing=Unknown/ConfigurationProgressing\nProgressing=True/ConfigurationProgressing: Applying desired state\nPending=False/ConfigurationProgressing\nAborted=False/ConfigurationProgressing",
            ),
            (
                Progress::Available,
                "Available=True/SuccessfullyConfigured: successfully reconciled\nFailing=False/SuccessfullyConfigured\nProgressing=False/SuccessfullyConfigured\nPending=False/SuccessfullyConfigured\nAborted=False/SuccessfullyConfigured",
            ),
            (
                Progress::Retrying("again".into()),
                "Available=False/Retrying\nFailing=True/Retrying: again\nProgressing=True/Retrying: again\nPending=False/Retrying\nAborted=False/SuccessfullyConfigured",
            ),
            (
                Progress::Failing("broke".into()),
                "Available=False/FailedToConfigure\nFailing=True/FailedToConfigure: broke\nProgressing=False/FailedToConfigure\nPending=False/FailedToConfigure\nAborted=False/SuccessfullyConfigured",
            ),
            (
                Progress::Pending,
                "Available=False/MaxUnavailableLimitReached\nFailing=False/MaxUnavailableLimitReached\nProgressing=False/MaxUnavailableLimitReached: Waiting for progressing nodes to finish\nPending=True/MaxUnavailableLimitReached: Waiting for progressing nodes to finish\nAborted=False/MaxUnavailableLimitReached",
            ),
            (
                Progress::Aborted("others".into()),
                "Available=False/ConfigurationAborted\nFailing=False/ConfigurationAborted\nProgressing=False/ConfigurationAborted\nPending=False/ConfigurationAborted\nAborted=True/ConfigurationAborted: others",
            ),
        ];
        for (progress, expected) in cases {
            assert_eq!(said(&progress.conditions(&[], at(1))), expected, "{progress:?}");
        }
    }

    #[test]
    fn every_state_of_a_policy() {
        let cases = [
            (
                Standing::NoNode("none".into()),
                "Available=False/NoMatchingNode\nDegraded=False/NoMatchingNode\nProgressing=False/NoMatchingNode\nIgnored=True/NoMatchingNode: none",
            ),
            (
                Standing::Degraded("bad".into()),
                "Available=False/FailedToConfigure\nDegraded=True/FailedToConfigure: bad\nProgressing=False/ConfigurationProgressing\nIgnored=False/FailedToConfigure",
            ),
            (
                Standing::Progressing("1/3".into()),
                "Available=Unknown/ConfigurationProgressing\nDegraded=Unknown/ConfigurationProgressing\nProgressing=True/ConfigurationProgressing: 1/3\nIgnored=False/ConfigurationProgressing",
            ),
            (
                Standing::Available("3/3".into()),
                "Available=True/SuccessfullyConfigured: 3/3\nDegraded=False/SuccessfullyConfigured\nProgressing=False/SuccessfullyConfigured\nIgnored=False/SuccessfullyConfigured",
            ),
        ];
        for (standing, expected) in cases {
            assert_eq!(said(&standing.conditions(&[], at(1))), expected, "{standing:?}");
        }
    }

    #[test]
    fn a_heartbeat_is_new_each_time_and_a_transition_only_with_the_status() {
        let first = Progress::Applying.conditions(&[], at(10));
        let again = Progress::Applying.conditions(&first, at(20));
        let done = Progress::Available.conditions(&again, at(30));
        let times = |list: &[Condition], type_: &str| {
            let one = list.iter().find(|c| c.type_ == type_).unwrap();
            let second = |time: &Option<Time>| time.as_ref().unwrap().0.as_second();
            (second(&one.last_heartbeat_time), second(&one.last_transition_time))
        };
        assert_eq!(times(&again, "Progressing"), (20, 10));
        assert_eq!(times(&done, "Progressing"), (30, 30));
        assert_eq!(times(&done, "Pending"), (30, 10), "False before and after");
        assert!(same_words(&first, &again) && !same_words(&again, &done));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("ääääääää", 9), "ää ...");
        assert!(cut(&"x".repeat(100_000), TEXT_BYTES).len() <= TEXT_BYTES);
    }
}
