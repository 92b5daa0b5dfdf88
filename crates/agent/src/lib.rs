//! The agent of one node.
//!
//! | module | idea |
//! |---|---|
//! | [`policy`] | NodeNetworkConfigurationPolicies made true, reported, rolled back |
//! | [`host`] | a host that is no Kubernetes node, configured from the IPSet of its name |
//! | [`node`] | the Node object: registered, kept Ready |
//! | [`pods`] | pods of this node: sandbox, attachments, responder, status |
//! | [`announce`] | virtual addresses, announced by ARP and NDP |
//! | [`members`] | what agents share: a key, and who is dead |
//! | [`attachments`] | networks for the pods of a lab node, by one call of Multus |
//! | [`dhcp`] | leases become addresses and routes |
//! | [`fabric`] | in a lab: networks, instances and routers of the embedded cloud |
//! | [`cluster`] | in a lab: the first interface of pods, and the ways between nodes |
//! | [`ingress`] | in a lab: requests by host name to the pods behind Routes |
//! | [`kubelet`] | exec, logs and port-forward, as an API server asks for them |
//! | [`names`] | in a lab: names of Services and pods |
//! | [`services`] | in a lab: addresses of Services lead to their pods |
//! | [`responder`] | the process that stands for the containers of a pod |

pub mod announce;
pub mod attachments;
pub mod cluster;
pub mod dhcp;
pub mod fabric;
pub mod host;
pub mod ingress;
pub mod kubelet;
pub mod members;
pub mod names;
pub mod node;
pub mod pods;
pub mod policy;
pub mod responder;
pub mod rights;
pub mod services;
