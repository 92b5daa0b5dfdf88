//! What turns declarations into addresses, names and attachments, on any Kubernetes.
//!
//! Each capability is a module with an *engine*, which takes what was seen and the time and says
//! what to write, and a *driver*, which watches and writes. Engines do no IO: they are tested
//! against a simulated API with delays, lost races and crashes.
//!
//! | module | idea |
//! |---|---|
//! | [`ipam`] | one address on each of some networks for every IPSet |
//! | [`dns`] | names: what serves them, and where they come from |
//! | [`endpoints`] | control planes: Services, Routes, workloads and records of every service |
//! | [`hosts`] | addresses that policies put on nodes, claimed where IPSets look |
//! | [`vips`] | virtual addresses for Services, by MetalLB's rules |
//! | [`keystone`] | services and endpoints of control planes, registered in Keystone |
//! | [`clouds`] | OpenStack clouds that Secrets describe |
//! | [`octavia`] | the management network of Octavia, in Neutron |
//! | [`metrics`] | where controllers post their figures |
//! | [`memberkey`] | the key with which agents sign what they tell each other |
//! | [`routes`] | in a lab: who gets which host name |
//! | [`client_pod`] | in a lab: the pod `openstackclient` |
//! | [`rights`] | what the controllers may do, and no more |
//! | [`making`] | how objects are made of objects, for those who do |
//! | [`mirror`] | what an API holds of one kind, as far as one has been told |

pub mod client_pod;
pub mod clouds;
pub mod dns;
pub mod endpoints;
pub mod hosts;
mod io;
pub mod ipam;
pub mod keystone;
pub mod making;
pub mod memberkey;
pub mod metrics;
pub mod mirror;
pub mod octavia;
pub mod rights;
pub mod routes;
pub mod vips;

use std::future::Future;

/// What can be set.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether control planes and services are acted on. On a cluster with the OpenStack operators
    /// they are theirs.
    pub control_planes: bool,
    /// Of names.
    pub dns: dns::Settings,
    /// Of virtual addresses.
    pub vips: vips::Settings,
    /// Where figures are posted.
    pub board: metrics::Board,
    /// The OpenStack that networks and endpoints are made in. Without one nobody looks after them.
    pub cloud: Option<landbridge_openstack::Client>,
    /// The Secret that says where it is, by namespace and name: whoever runs the controllers has to read it.
    pub cloud_secret: Option<(String, String)>,
    /// Of the management network of Octavia.
    pub octavia: octavia::Settings,
    /// Of what is registered in Keystone.
    pub keystone: keystone::Settings,
}

/// Runs every controller until `stop` is done.
pub async fn run(client: kube::Client, settings: Settings, stop: impl Future<Output = ()>) {
    use futures::FutureExt as _;
    let stop = stop.shared();
    let hosts = hosts::run(client.clone(), stop.clone());
    let vips = vips::run(client.clone(), settings.vips, settings.board, stop.clone());
    let key = memberkey::run(client.clone(), stop.clone());
    let planes = async {
        if settings.control_planes {
            endpoints::run(client.clone(), stop.clone()).await;
        }
    };
    let octavia = async {
        if let (true, Some(cloud)) = (settings.control_planes, &settings.cloud) {
            octavia::run(client.clone(), cloud.clone(), settings.octavia, stop.clone()).await;
        }
    };
    let keystone = async {
        if let (true, Some(cloud)) = (settings.control_planes, &settings.cloud) {
            keystone::run(client.clone(), cloud.clone(), settings.keystone, stop.clone()).await;
        }
    };
    let dns = dns::run(client.clone(), settings.dns, stop.clone());
    let ipam = ipam::run(client.clone(), stop.clone());
    futures::join!(ipam, hosts, vips, key, planes, octavia, keystone, dns);
}
