//! One look at everything: what is declared, what Keystone holds, and the difference done.

use jiff::Timestamp;
use landbridge_openstack::{Client, Error};

use super::plan::{Around, Planned, plan};
use super::record::Record;
use super::steps::{Seen, Step};
use super::told::{Doing, Write, claim, hold, status};

/// What came of a round.
#[derive(Debug, Default)]
pub struct Ended {
    /// What is to be written, by the place of the record.
    pub writes: Vec<(usize, Write)>,
    /// Something was done: the next round should follow at once.
    pub is_moving: bool,
    /// Something could not be done.
    pub is_failing: bool,
}

/// Looks, decides and does. What is written to objects is left to the caller.
pub async fn round(client: &Client, records: &[Record], region: &str, now: Timestamp) -> Ended {
    let mut ended = Ended::default();
    // Whoever is leaving and does not wait for us is none of our business.
    let concerned = || {
        let all = records.iter().enumerate();
        all.filter(|(_, record)| !record.is_leaving() || record.is_held())
    };
    if concerned().next().is_none() {
        return ended;
    }
    let seen = match Seen::look(client).await {
        Ok(seen) => seen,
        Err(error) => {
            ended.is_failing = true;
            for (place, record) in concerned() {
                let write = away(record, &error, now);
                ended.writes.extend(write.map(|write| (place, write)));
            }
            return ended;
        }
    };
    let around = Around { records, seen: &seen, region };
    for (place, record) in concerned() {
        let planned = plan(record, around);
        let writes = serve(client, record, &planned, now, &mut ended).await;
        ended.writes.extend(writes.into_iter().map(|write| (place, write)));
    }
    ended
}

/// What is said while Keystone cannot be looked at.
fn away(record: &Record, error: &Error, now: Timestamp) -> Option<Write> {
    // Nobody has said where Keystone is: there is nothing to take away from anywhere, and whoever deletes
    // a whole namespace should not wait for a Secret that went first.
    if record.is_leaving() && matches!(error, Error::Nowhere(_)) {
        return Some(hold(record, false));
    }
    status(record, &Doing::Away(error), now)
}

async fn serve(
    client: &Client,
    record: &Record,
    planned: &Planned,
    now: Timestamp,
    ended: &mut Ended,
) -> Vec<Write> {
    if !record.is_leaving() {
        // First the hold, then the claim, then whatever is claimed.
        let mut first = Vec::new();
        if !record.is_held() {
            first.push(hold(record, true));
        }
        // What was claimed and is gone is claimed anew: under its old id nobody would find it again.
        if planned.steps.iter().any(Step::makes) {
            first.extend(claim(record, planned));
        }
        if !first.is_empty() {
            ended.is_moving = true;
            return first;
        }
    }
    let mut failed = Vec::new();
    for step in &planned.steps {
        match step.carry_out(client).await {
            Ok(()) => {
                tracing::info!(record = %record.key, %step, "done in Keystone");
                ended.is_moving = true;
            }
            Err(error) => {
                tracing::warn!(record = %record.key, %step, %error, "not done in Keystone");
                failed.push(format!("cannot {step}: {}", error.steady()));
            }
        }
    }
    ended.is_failing |= !failed.is_empty();
    let is_done =
        planned.steps.is_empty() && planned.waits.is_empty() && planned.troubles.is_empty();
    if record.is_leaving() && is_done {
        return vec![hold(record, false)];
    }
    // What was just done is told when it was seen.
    if failed.is_empty() && !planned.steps.is_empty() {
        return Vec::new();
    }
    status(record, &Doing::Looked(planned, &failed), now).into_iter().collect()
}
