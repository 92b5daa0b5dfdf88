//! The kinds of `network.openstack.org` as a client sees them: schemas, defaults, refusals.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod crds;
mod dnsdata;
mod dnsmasq;
mod ipset;
mod manifests;
mod netconfig;
mod reservation;
mod support;
