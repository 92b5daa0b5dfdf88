//! What happened, counted per worker so that no two share a line of the processor's memory.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident => $metric:literal),+ $(,)?) => {
        /// One worker's counters.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub struct Counters { $($(#[doc = $doc])+ pub $name: Counter,)+ }

        /// All workers' counters, in the text form of Prometheus.
        pub fn render<'a>(all: impl Iterator<Item = &'a Counters> + Clone) -> String {
            let mut text = String::new();
            $(
                let sum: u64 = all.clone().map(|one| one.$name.get()).sum();
                let help = concat!($($doc),+);
                metric(&mut text, $metric, "counter", help.trim(), sum);
            )+
            text
        }
    };
}

counters! {
    /// Queries that came by UDP.
    udp => "landbridge_dns_udp_queries_total",
    /// Queries that came by TCP.
    tcp => "landbridge_dns_tcp_queries_total",
    /// Queries answered from local data.
    local => "landbridge_dns_local_replies_total",
    /// Queries answered from the cache.
    cached => "landbridge_dns_cached_replies_total",
    /// Queries handed to the forwarder.
    forwarded => "landbridge_dns_forwarded_total",
    /// Queries dropped because the forwarder had no room.
    overflowed => "landbridge_dns_overflowed_total",
    /// Packets without an answer: no query, not served here, not worth one.
    dropped => "landbridge_dns_dropped_total",
    /// Queries refused because others are not asked for that client.
    refused => "landbridge_dns_refused_total",
    /// Replies cut to "ask by TCP" by the rate limit.
    slipped => "landbridge_dns_slipped_total",
    /// Replies dropped by the rate limit.
    limited => "landbridge_dns_limited_total",
    /// Replies the kernel did not take.
    unsent => "landbridge_dns_unsent_total",
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One metric with its two lines of explanation.
pub fn metric(text: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
}
