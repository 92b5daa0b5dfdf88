//! How full pools are, for their status and for metrics.

use std::fmt::Write as _;

use landbridge_addr::net::Family;

use crate::allocator::Allocator;

/// The status of an IPAddressPool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatus {
    /// IPv4 addresses in use.
    pub assigned_v4: i64,
    /// IPv6 addresses in use.
    pub assigned_v6: i64,
    /// IPv4 addresses left.
    pub available_v4: i64,
    /// IPv6 addresses left.
    pub available_v6: i64,
}

/// The status of a pool; `None` when there is none of that name.
pub fn status(allocator: &Allocator, pool: &str) -> Option<PoolStatus> {
    let found = allocator.config().pool(pool)?;
    let [v4, v6] = [Family::V4, Family::V6].map(|family| {
        let used = allocator.count(pool, family).addresses;
        (used, found.size(family).saturating_sub(used))
    });
    Some(PoolStatus {
        assigned_v4: v4.0,
        assigned_v6: v6.0,
        available_v4: v4.1,
        available_v6: v6.1,
    })
}

/// How the controller is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Writes of Services.
    pub updates: u64,
    /// Writes that failed.
    pub update_errors: u64,
    /// Whether pools were ever accepted.
    pub config_loaded: bool,
    /// Whether the pools as they are written are not those in force.
    pub config_stale: bool,
}

type Figure = fn(&PoolStatus) -> i64;

/// MetalLB's metrics of allocation, in Prometheus' text form.
pub fn metrics(allocator: &Allocator, counters: Counters) -> String {
    let mut text = String::new();
    let pools: Vec<(&str, PoolStatus)> = allocator
        .config()
        .pools()
        .filter_map(|pool| Some((&*pool.name, status(allocator, &pool.name)?)))
        .collect();
    let total: Figure = |s| {
        let v4 = s.assigned_v4.saturating_add(s.available_v4);
        v4.saturating_add(s.assigned_v6).saturating_add(s.available_v6)
    };
    let gauges: [(&str, &str, Figure); 6] = [
        ("addresses_total", "Number of usable IP addresses, per pool", total),
        ("addresses_in_use_total", "Number of IP addresses in use, per pool", |s| {
            s.assigned_v4 + s.assigned_v6
        }),
        ("ipv4_addresses_total", "Number of usable IPv4 addresses, per pool", |s| {
            s.assigned_v4.saturating_add(s.available_v4)
        }),
        ("ipv6_addresses_total", "Number of usable IPv6 addresses, per pool", |s| {
            s.assigned_v6.saturating_add(s.available_v6)
        }),
        ("ipv4_addresses_in_use_total", "Number of IPv4 addresses in use, per pool", |s| {
            s.assigned_v4
        }),
        ("ipv6_addresses_in_use_total", "Number of IPv6 addresses in use, per pool", |s| {
            s.assigned_v6
        }),
    ];
    for (name, help, value) in gauges {
        let name = format!("metallb_allocator_{name}");
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
        for (pool, status) in &pools {
            let _ = writeln!(text, "{name}{{pool=\"{pool}\"}} {}", value(status));
        }
    }
    let counters: [(&str, &str, &str, u64); 4] = [
        ("updates_total", "counter", "Number of k8s object updates processed", counters.updates),
        (
            "update_errors_total",
            "counter",
            "Number of k8s object updates that failed",
            counters.update_errors,
        ),
        (
            "config_loaded_bool",
            "gauge",
            "1 if the configuration was successfully loaded at least once",
            counters.config_loaded.into(),
        ),
        (
            "config_stale_bool",
            "gauge",
            "1 if running on a stale configuration, because the latest one is invalid",
            counters.config_stale.into(),
        ),
    ];
    for (name, kind, help, value) in counters {
        let name = format!("metallb_k8s_client_{name}");
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }
    text
}
