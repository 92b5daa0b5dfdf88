//! How a kind says how it is doing: the condition of the OpenStack operators.
//!
//! It differs from Kubernetes' own condition by `severity`, and by having no
//! `observedGeneration`. In a list `Ready` stands first and the others follow by type, because the
//! columns of `kubectl get` show the first entry.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One aspect of an object's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which aspect this is about, in CamelCase. `Ready` sums up all the others.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether the aspect is as it should be.
    pub status: ConditionStatus,
    /// How bad it is when the status is False; empty otherwise.
    #[serde(default, skip_serializing_if = "Severity::is_none")]
    pub severity: Severity,
    /// When status, severity, reason or message last changed.
    #[schemars(schema_with = "crate::crd::timestamp")]
    pub last_transition_time: Time,
    /// Why, as one word for programs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, in words for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    // Variants carry no doc comments: they would turn the schema's enum into a `oneOf`.
    True,
    False,
    Unknown,
}

/// What a False condition asks of the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Severity {
    // Nothing goes on until somebody acts.
    Error,
    // It is tried again by itself.
    Warning,
    // Work in progress.
    Info,
    // The condition is not False.
    #[default]
    #[serde(rename = "")]
    None,
}

impl Severity {
    /// Whether there is nothing to say.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The condition that sums up all the others.
pub const READY: &str = "Ready";

/// The conditions of one object while a controller works them out.
///
/// Transition times come from the state before wherever nothing has changed, so a controller may
/// work out the same conditions again and again without changing the object.
#[derive(Clone, Debug, Default)]
pub struct Conditions(Vec<Draft>);

/// A condition without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Draft {
    type_: &'static str,
    status: ConditionStatus,
    severity: Severity,
    reason: &'static str,
    message: String,
    /// Whether `Ready` does not care.
    is_aside: bool,
}

impl Conditions {
    /// The aspect was not looked at yet.
    pub fn unknown(&mut self, type_: &'static str, message: impl Into<String>) {
        self.put(type_, ConditionStatus::Unknown, Severity::None, "Init", message.into());
    }

    /// The aspect is as it should be.
    pub fn good(&mut self, type_: &'static str, message: impl Into<String>) {
        self.put(type_, ConditionStatus::True, Severity::None, READY, message.into());
    }

    /// The aspect is not as it should be.
    pub fn bad(
        &mut self,
        type_: &'static str,
        severity: Severity,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        self.put(type_, ConditionStatus::False, severity, reason, message.into());
    }

    /// The aspect is not as it should be, and people should know; the object does its work all the same, so
    /// `Ready` does not care.
    pub fn aside(
        &mut self,
        type_: &'static str,
        severity: Severity,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        self.put(type_, ConditionStatus::False, severity, reason, message.into());
        if let Some(last) = self.0.last_mut() {
            last.is_aside = true;
        }
    }

    fn put(
        &mut self,
        type_: &'static str,
        status: ConditionStatus,
        severity: Severity,
        reason: &'static str,
        message: String,
    ) {
        self.0.retain(|other| other.type_ != type_);
        self.0.push(Draft { type_, status, severity, reason, message, is_aside: false });
    }

    /// The list to write: `Ready` first and worked out from the others, which follow by type.
    pub fn finish(mut self, before: &[Condition], now: &Time) -> Vec<Condition> {
        self.0.sort_by_key(|draft| draft.type_);
        let asides: Vec<bool> = self.0.iter().map(|draft| draft.is_aside).collect();
        let mut parts: Vec<Condition> =
            self.0.into_iter().map(|draft| draft.dated(before, now)).collect();
        let counting = parts.iter().zip(asides).filter(|(_, is_aside)| !is_aside);
        let ready = sum_up(counting.map(|(part, _)| part)).dated(before, now);
        parts.insert(0, ready);
        parts
    }
}

impl Draft {
    fn dated(self, before: &[Condition], now: &Time) -> Condition {
        let unchanged = before.iter().find(|old| {
            old.type_ == self.type_
                && old.status == self.status
                && old.severity == self.severity
                && old.reason == self.reason
                && old.message == self.message
        });
        Condition {
            type_: self.type_.to_owned(),
            status: self.status,
            severity: self.severity,
            last_transition_time: unchanged.map_or(now, |old| &old.last_transition_time).clone(),
            reason: self.reason.to_owned(),
            message: self.message,
        }
    }
}

/// `Ready` mirrors the part that is worst off; among equals, the one that changed last.
fn sum_up<'a>(parts: impl Iterator<Item = &'a Condition>) -> Draft {
    let good = Draft {
        type_: READY,
        status: ConditionStatus::True,
        severity: Severity::None,
        reason: READY,
        message: "Setup complete".to_owned(),
        is_aside: false,
    };
    let worst = parts
        .filter(|part| part.status != ConditionStatus::True)
        .max_by_key(|part| (badness(part), part.last_transition_time.0));
    match worst {
        None => good,
        Some(part) => Draft {
            status: part.status,
            severity: part.severity,
            reason: if part.status == ConditionStatus::Unknown { "Init" } else { reason(part) },
            message: part.message.clone(),
            ..good
        },
    }
}

/// The words that controllers of this API use as reasons.
fn reason(part: &Condition) -> &'static str {
    ["Requested", "Error", "Init", READY].into_iter().find(|r| *r == part.reason).unwrap_or("Error")
}

fn badness(part: &Condition) -> u8 {
    match (part.status, part.severity) {
        (ConditionStatus::False, Severity::Error) => 4,
        (ConditionStatus::False, Severity::Warning) => 3,
        (ConditionStatus::False, _) => 2,
        (ConditionStatus::Unknown, _) => 1,
        (ConditionStatus::True, _) => 0,
    }
}

/// Whether the object says it is ready.
pub fn is_ready(conditions: &[Condition]) -> bool {
    conditions.iter().any(|c| c.type_ == READY && c.status == ConditionStatus::True)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Time {
        Time(k8s_openapi::jiff::Timestamp::from_second(second).unwrap())
    }

    fn drafts(input: Option<Severity>, reservation: Option<Severity>) -> Conditions {
        let mut drafts = Conditions::default();
        for (type_, state) in [("ReservationReady", reservation), ("InputReady", input)] {
            match state {
                None => drafts.good(type_, "fine"),
                Some(Severity::None) => drafts.unknown(type_, "later"),
                Some(severity) => drafts.bad(type_, severity, "Error", format!("{type_} broke")),
            }
        }
        drafts
    }

    #[test]
    fn ready_stands_first_and_mirrors_the_worst() {
        use Severity::{Error, Info, None as Unknown, Warning};
        let cases = [
            (None, None, "Setup complete"),
            (None, Some(Unknown), "later"),
            (Some(Info), Some(Unknown), "InputReady broke"),
            (Some(Info), Some(Warning), "ReservationReady broke"),
            (Some(Error), Some(Warning), "InputReady broke"),
        ];
        for (input, reservation, message) in cases {
            let list = drafts(input, reservation).finish(&[], &at(5));
            let types: Vec<_> = list.iter().map(|c| c.type_.as_str()).collect();
            assert_eq!(types, ["Ready", "InputReady", "ReservationReady"]);
            assert_eq!(list[0].message, message);
            assert_eq!(is_ready(&list), input.is_none() && reservation.is_none());
        }
    }

    #[test]
    fn what_is_said_aside_is_shown_and_does_not_count() {
        let mut said = drafts(None, None);
        said.aside("EntriesReady", Severity::Warning, "Error", "one entry is not answered");
        let list = said.finish(&[], &at(5));
        assert_eq!((list[0].message.as_str(), is_ready(&list)), ("Setup complete", true));
        assert_eq!((list[1].type_.as_str(), list[1].severity), ("EntriesReady", Severity::Warning));
    }

    #[test]
    fn times_move_only_with_the_content() {
        let first = drafts(None, Some(Severity::Error)).finish(&[], &at(5));
        let same = drafts(None, Some(Severity::Error)).finish(&first, &at(9));
        assert_eq!(first, same);
        let better = drafts(None, None).finish(&same, &at(12));
        let times: Vec<_> = better.iter().map(|c| c.last_transition_time.clone()).collect();
        assert_eq!(times, [at(12), at(5), at(12)]);
    }

    #[test]
    fn among_equals_the_latest_change_is_shown() {
        let before = drafts(Some(Severity::Error), None).finish(&[], &at(5));
        let both = drafts(Some(Severity::Error), Some(Severity::Error)).finish(&before, &at(9));
        assert_eq!(both[0].message, "ReservationReady broke");
    }
}
