//! Durations for people: two or three significant figures, as kubectl shows them.

use jiff::Timestamp;
use serde_json::Value;

use crate::object;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A duration in upstream's words: `119s`, `3h5m`, `47h`, `2d3h`, `2y10d`.
///
/// A moment up to a second in the future counts as now, since clocks differ; more is `<invalid>`.
pub fn human_duration(seconds: i64) -> String {
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(s, MINUTE, "m", 1, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(s, HOUR, "h", MINUTE, "m"),
        s if s < 48 * HOUR => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(s, DAY, "d", HOUR, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(s, YEAR, "y", DAY, "d"),
        s => format!("{}y", s / YEAR),
    }
}

/// Two units; the smaller one is left out when there is none of it.
fn two(seconds: i64, big: i64, big_name: &str, small: i64, small_name: &str) -> String {
    match seconds % big / small {
        0 => format!("{}{big_name}", seconds / big),
        rest => format!("{}{big_name}{rest}{small_name}", seconds / big),
    }
}

/// How long ago a timestamp was: `<unknown>` when it is empty, `<invalid>` when it is none.
pub fn since(timestamp: &str, now: Timestamp) -> String {
    if timestamp.is_empty() {
        return "<unknown>".to_owned();
    }
    match timestamp.parse::<Timestamp>() {
        Ok(then) => human_duration(now.duration_since(then).as_secs()),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// How long ago the object was created.
pub fn age(object: &Value, now: Timestamp) -> String {
    since(object::meta_str(object, "creationTimestamp"), now)
}
