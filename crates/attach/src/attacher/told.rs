//! What is said about a pod: network-status, events, errors.

use landbridge_cni::args::Pod as PodArgs;
use landbridge_cni::error::CniError;
use landbridge_cni::result::CniResult;
use landbridge_cni::status;

use crate::delegates::Delegate;
use crate::objects::Event;

/// The annotation: the networks in order, the first one as the cluster's.
pub fn network_status(
    delegates: &[Delegate],
    results: &[CniResult],
) -> Result<String, serde_json::Error> {
    let each = delegates.iter().zip(results).enumerate();
    let statuses: Vec<_> = each
        .flat_map(|(place, (delegate, result))| {
            status::of_result(delegate.status_name(), place == 0, result, None)
        })
        .collect();
    status::print(&statuses)
}

/// One event for each network.
pub fn added(delegates: &[Delegate], results: &[CniResult]) -> Vec<Event> {
    let event = |(delegate, result): (&Delegate, &CniResult)| {
        let ips: Vec<_> = result.ips.iter().map(|ip| ip.address.to_string()).collect();
        let (interface, from) = (&delegate.interface, delegate.status_name());
        Event {
            is_warning: false,
            reason: "AddedInterface",
            message: format!("Add {interface} [{}] from {from}", ips.join(" ")),
        }
    };
    delegates.iter().zip(results).map(event).collect()
}

/// A definition is missing.
pub fn no_network(text: &str) -> Event {
    Event { is_warning: true, reason: "NoNetworkFound", message: text.to_owned() }
}

/// An error with the pod it is about, as Multus says it.
pub fn multus(args: &PodArgs, error: &CniError) -> CniError {
    let PodArgs { namespace, name, uid, .. } = args;
    CniError { msg: format!("Multus: [{namespace}/{name}/{uid}]: {}", error.msg), ..error.clone() }
}
