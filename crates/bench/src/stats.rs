//! Percentiles and rates, without IO.

use std::time::Duration;

use serde::Serialize;

/// Latencies of one kind of request, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// How many there were.
    pub count: usize,
    /// The median, in milliseconds.
    pub p50_ms: f64,
    /// 99 of 100 took no longer than this, in milliseconds.
    pub p99_ms: f64,
}

impl Summary {
    /// Sums up latencies in any order.
    pub fn of(mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        Self {
            count: latencies.len(),
            p50_ms: milliseconds(percentile(&latencies, 50)),
            p99_ms: milliseconds(percentile(&latencies, 99)),
        }
    }
}

/// The smallest value that at least `percent` of 100 values do not exceed (nearest rank).
/// The values must be sorted; none at all give zero.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// So many in so long, per second; nothing in no time is zero.
pub fn rate(count: usize, elapsed: Duration) -> f64 {
    if elapsed.is_zero() { 0.0 } else { count as f64 / elapsed.as_secs_f64() }
}

/// How many times `theirs` goes into `ours`; `None` when there is nothing to divide by.
pub fn ratio(ours: f64, theirs: f64) -> Option<f64> {
    (theirs > 0.0).then(|| ours / theirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(values: impl IntoIterator<Item = u64>) -> Vec<Duration> {
        values.into_iter().map(Duration::from_millis).collect()
    }

    #[test]
    fn nearest_rank() {
        for (values, p50, p99) in [
            (ms([]), 0.0, 0.0),
            (ms([7]), 7.0, 7.0),
            (ms([1, 2]), 1.0, 2.0),
            (ms([1, 2, 3]), 2.0, 3.0),
            (ms(1..=100), 50.0, 99.0),
            (ms(1..=1000), 500.0, 990.0),
        ] {
            let summary = Summary::of(values.clone());
            assert_eq!((summary.p50_ms, summary.p99_ms), (p50, p99), "{values:?}");
            assert_eq!(summary.count, values.len());
        }
    }

    #[test]
    fn order_does_not_matter() {
        assert_eq!(Summary::of(ms([9, 1, 5])), Summary::of(ms([1, 5, 9])));
    }

    #[test]
    fn rates_and_ratios() {
        assert!((rate(10, Duration::from_secs(4)) - 2.5).abs() < 1e-9);
        assert!(rate(10, Duration::ZERO).abs() < 1e-9);
        assert_eq!(ratio(6.0, 2.0), Some(3.0));
        assert_eq!(ratio(6.0, 0.0), None);
    }
}
