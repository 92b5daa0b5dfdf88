//! What turns declarations into addresses, names and attachments, on any Kubernetes.
//!
//! Each capability is a module with an *engine*, which takes what was seen and the time and says
//! what to write, and a *driver*, which watches and writes. Engines do no IO: they are tested
//! against a simulated API with delays, lost races and crashes.
//!
//! | module | idea |
//! |---|---|
//! | [`ipam`] | one address on each of some networks for every IPSet |
//! | [`endpoints`] | control planes: Services, Routes, workloads and records of every service |
//! | [`hosts`] | addresses that policies put on nodes, claimed where IPSets look |
//! | [`rights`] | what the controllers may do, and no more |
//! | [`mirror`] | what an API holds of one kind, as far as one has been told |

pub mod endpoints;
pub mod hosts;
pub mod ipam;
pub mod mirror;
pub mod rights;

use std::future::Future;

/// Which controllers run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Whether control planes and services are acted on. On a cluster with the OpenStack operators
    /// they are theirs.
    pub control_planes: bool,
}

/// Runs the controllers until `stop` is done.
pub async fn run(client: kube::Client, settings: Settings, stop: impl Future<Output = ()>) {
    use futures::FutureExt as _;
    let stop = stop.shared();
    let hosts = hosts::run(client.clone(), stop.clone());
    let planes = async {
        if settings.control_planes {
            endpoints::run(client.clone(), stop.clone()).await;
        }
    };
    futures::future::join3(ipam::run(client.clone(), stop.clone()), hosts, planes).await;
}
