//! Events are news, not records: they go an hour after they were last seen.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::meta;
use crate::server::Inner;
use crate::write::delete;

/// How long an event stays after it was last seen, as upstream.
const KEEP: SignedDuration = SignedDuration::from_hours(1);
/// How often the old ones are looked for.
const EVERY: Duration = Duration::from_mins(1);

/// Removes old events for as long as the server lives.
pub async fn run(server: Arc<Inner>) {
    let mut tick = tokio::time::interval(EVERY);
    loop {
        tick.tick().await;
        sweep(&server, Timestamp::now()).await;
    }
}

async fn sweep(server: &Arc<Inner>, now: Timestamp) {
    let registry = server.registry();
    let Some(events) = registry.get("", "events") else { return };
    for entry in server.store.snapshot().range(&events.prefix(None), None) {
        if !is_old(&meta::parse(entry), now) {
            continue;
        }
        if let Err(error) = delete::by_system(server, events, entry, "event-ttl").await {
            tracing::warn!(key = %entry.key, %error, "an old event could not be removed");
        }
    }
}

/// Whether an event was last seen too long ago. One without any time is as old as its object.
fn is_old(event: &Value, now: Timestamp) -> bool {
    let times = [
        &event["metadata"]["creationTimestamp"],
        &event["eventTime"],
        &event["firstTimestamp"],
        &event["lastTimestamp"],
        &event["series"]["lastObservedTime"],
    ];
    let last = times.iter().filter_map(|t| t.as_str()?.parse::<Timestamp>().ok()).max();
    last.is_some_and(|last| now.duration_since(last) > KEEP)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_lives_for_an_hour_after_it_was_last_seen() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().expect("time");
        let made_long_ago = json!({"metadata": {"creationTimestamp": "2026-01-01T08:00:00Z"}});
        assert!(is_old(&made_long_ago, now));
        for (field, seen, old) in [
            ("lastTimestamp", "2026-01-01T11:30:00Z", false),
            ("lastTimestamp", "2026-01-01T10:59:00Z", true),
            ("eventTime", "2026-01-01T11:30:00.123456Z", false),
        ] {
            let mut event = made_long_ago.clone();
            event[field] = seen.into();
            assert_eq!(is_old(&event, now), old, "{field} {seen}");
        }
        let mut series = made_long_ago;
        series["series"] = json!({"count": 2, "lastObservedTime": "2026-01-01T11:59:00Z"});
        assert!(!is_old(&series, now));
        assert!(!is_old(&json!({}), now), "no time at all: better kept than lost");
    }
}
