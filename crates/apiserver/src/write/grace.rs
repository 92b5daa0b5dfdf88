//! How much time the end of an object may take, as a function of values.
//!
//! What a pod stands for has to be stopped by its node. So a deletion only writes until when that
//! should be done, and the object stays until somebody deletes it with no time left: the node when
//! it is done, or an impatient user. A pod that no node has, or that ended already, goes at once.

use jiff::{SignedDuration, Timestamp};
use landbridge_machinery::object;
use serde_json::Value;

/// What a request to delete does to the times of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Deletion begins, or is to be over sooner.
    Mark {
        /// `deletionTimestamp` from now on.
        ends: Timestamp,
        /// `deletionGracePeriodSeconds` from now on.
        seconds: i64,
    },
    /// It is under way, and this request does not make it shorter.
    Wait,
    /// It is under way and has no time left; only finalizers may hold the object.
    Over,
}

/// The step a request makes. `graceful` is a property of the kind; `asked` what the client says.
pub fn step(graceful: bool, old: &Value, asked: Option<i64>, now: Timestamp) -> Step {
    let asked = asked.map(at_least_zero);
    if !object::is_terminating(old) {
        let seconds = if graceful { first(old, asked) } else { 0 };
        return Step::Mark { ends: later(now, seconds), seconds };
    }
    if is_over(old) {
        return Step::Over;
    }
    let given = given(old);
    match asked {
        Some(seconds) if seconds < given => {
            let until = object::meta_str(old, "deletionTimestamp").parse().unwrap_or(now);
            Step::Mark { ends: later(until, seconds - given), seconds }
        }
        _ => Step::Wait,
    }
}

/// Whether nobody has time left to end the object. One that is not being deleted has none.
pub fn is_over(object: &Value) -> bool {
    given(object) <= 0
}

fn given(object: &Value) -> i64 {
    object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0)
}

/// Seconds a pod gets when its deletion begins.
fn first(pod: &Value, asked: Option<i64>) -> i64 {
    let unplaced = pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if unplaced || ended {
        return 0;
    }
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64();
    at_least_zero(asked.or(own).unwrap_or(0))
}

/// A negative number is taken for the shortest time there is, as upstream does.
fn at_least_zero(seconds: i64) -> i64 {
    if seconds < 0 { 1 } else { seconds }
}

/// Times beyond the calendar are its end.
fn later(moment: Timestamp, seconds: i64) -> Timestamp {
    moment.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: i64 = 1_000_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).expect("time")
    }

    fn mark(ends: i64, seconds: i64) -> Step {
        Step::Mark { ends: at(ends), seconds }
    }

    fn ending(given: i64) -> Value {
        json!({"metadata": {"deletionTimestamp": at(NOW + 30).to_string(), "deletionGracePeriodSeconds": given},
            "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}})
    }

    #[test]
    fn a_deletion_begins() {
        let pod = |node: &str, phase: &str, own: Value| {
            json!({"metadata": {}, "spec": {"nodeName": node, "terminationGracePeriodSeconds": own},
                "status": {"phase": phase}})
        };
        let cases = [
            (pod("n", "Running", 30.into()), None, 30),
            (pod("n", "Running", 30.into()), Some(5), 5),
            (pod("n", "Pending", 30.into()), Some(60), 60),
            (pod("n", "Running", 30.into()), Some(0), 0),
            (pod("n", "Running", 30.into()), Some(-7), 1),
            (pod("n", "Running", (-7).into()), None, 1),
            (pod("n", "Running", Value::Null), None, 0),
            (pod("", "Pending", 30.into()), None, 0),
            (pod("", "Pending", 30.into()), Some(60), 0),
            (pod("n", "Succeeded", 30.into()), Some(60), 0),
            (pod("n", "Failed", 30.into()), None, 0),
        ];
        for (pod, asked, seconds) in cases {
            let found = step(true, &pod, asked, at(NOW));
            assert_eq!(found, mark(NOW + seconds, seconds), "{pod} {asked:?}");
            assert_eq!(step(false, &pod, asked, at(NOW)), mark(NOW, 0), "another kind has no time");
        }
    }

    #[test]
    fn time_only_gets_shorter() {
        let cases = [
            (30, None, Step::Wait),
            (30, Some(30), Step::Wait),
            (30, Some(31), Step::Wait),
            // Counted from when the deletion began, not from now.
            (30, Some(10), mark(NOW + 10, 10)),
            (30, Some(0), mark(NOW, 0)),
            (30, Some(-1), mark(NOW + 1, 1)),
            (0, None, Step::Over),
            (0, Some(30), Step::Over),
        ];
        for (given, asked, wanted) in cases {
            let found = step(true, &ending(given), asked, at(NOW + 5));
            assert_eq!(found, wanted, "{given} {asked:?}");
        }
    }

    #[test]
    fn absurd_numbers_are_harmless() {
        let pod = json!({"spec": {"nodeName": "n"}});
        for asked in [i64::MAX, i64::MIN] {
            assert!(matches!(step(true, &pod, Some(asked), at(NOW)), Step::Mark { .. }));
            step(true, &ending(i64::MAX), Some(asked), at(NOW));
            step(true, &ending(i64::MIN), Some(asked), at(NOW));
        }
    }
}
