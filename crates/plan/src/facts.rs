//! What the sources say, each fact with its place and without any judgement.
//!
//! Sources are named by their position in the list; only in the finished findings they have the
//! number of whoever asked.

mod gather;
mod network;

use std::collections::HashMap;
use std::net::IpAddr;

use landbridge_api::foreign::catalogue::Port;
use landbridge_api::foreign::cni::NetConf;
use landbridge_api::foreign::metallb::{L2Advertisement, Wish};
use landbridge_api::foreign::neutron;
use landbridge_api::foreign::nmstate::NodePolicy;
use landbridge_api::foreign::{At, Node, Place};
use landbridge_api::net::{Cidr, Range};

pub(crate) use self::gather::gather;
use crate::finding::Mark;
use crate::source::Source;

/// One subnet of a NetConfig.
#[derive(Debug)]
pub(crate) struct Subnet<'a> {
    pub source: usize,
    pub namespace: &'a str,
    /// Whether the NetConfig says that its wires are its own, whatever their VLANs and names.
    pub own_wires: bool,
    /// The network as it is spelled.
    pub network: &'a str,
    /// Its number in the NetConfig.
    pub number: usize,
    /// Name by which attachments and services know the network.
    pub service: String,
    /// Whether `serviceNetwork` is written.
    pub service_given: bool,
    pub name: &'a str,
    /// Place of the network's name.
    pub network_place: Place,
    pub cidr: At<Cidr>,
    pub vlan: Option<u16>,
    pub vlan_place: Place,
    pub mtu: At<i64>,
    pub ranges: Vec<At<Range>>,
    pub exclude: Vec<IpAddr>,
    /// Gateway, and next hops of routes.
    pub routers: Vec<At<IpAddr>>,
    pub gateway: Option<IpAddr>,
}

/// A NetworkAttachmentDefinition that has a configuration.
#[derive(Debug)]
pub(crate) struct Attachment<'a> {
    pub source: usize,
    pub namespace: &'a str,
    pub name: &'a str,
    pub conf: NetConf,
}

/// A NodeNetworkConfigurationPolicy.
#[derive(Debug)]
pub(crate) struct Policy<'a> {
    pub source: usize,
    pub name: &'a str,
    pub wants: NodePolicy<'a>,
}

/// An IPAddressPool.
#[derive(Debug)]
pub(crate) struct Pool<'a> {
    pub source: usize,
    pub name: &'a str,
    pub ranges: Vec<At<Range>>,
    pub avoid_buggy_ips: bool,
}

/// An L2Advertisement.
#[derive(Debug)]
pub(crate) struct Advertisement<'a> {
    pub source: usize,
    pub l2: L2Advertisement<'a>,
}

/// A service that asks for a virtual address.
#[derive(Debug)]
pub(crate) struct Exposure<'a> {
    pub source: usize,
    pub namespace: &'a str,
    pub service: String,
    pub ports: Vec<Port>,
    pub wish: Wish<'a>,
    pub load_balancer: bool,
}

/// An attachment that pods want.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub source: usize,
    pub namespace: &'a str,
    pub name: At<&'a str>,
}

/// An address on a network of a NetConfig, asked for or given.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    pub mark: Mark,
    pub namespace: &'a str,
    /// Name of the IPSet.
    pub holder: &'a str,
    pub network: &'a str,
    pub subnet: &'a str,
    pub address: IpAddr,
    /// Whether it was asked for in particular, not given.
    pub fixed: bool,
    /// What a status says about the network beside the address.
    pub given: Option<Node<'a>>,
}

/// An address whereabouts gave to a pod.
#[derive(Debug)]
pub(crate) struct PodAddress<'a> {
    pub mark: Mark,
    pub prefix: Cidr,
    pub address: IpAddr,
    pub pod: &'a str,
}

/// Names in a DNSData.
#[derive(Debug)]
pub(crate) struct HostNames<'a> {
    pub source: usize,
    pub namespace: &'a str,
    /// Each with its address, if that is one.
    pub names: Vec<(At<&'a str>, Option<At<IpAddr>>)>,
}

/// Everything.
#[derive(Debug, Default)]
pub(crate) struct Facts<'a> {
    pub subnets: Vec<Subnet<'a>>,
    /// Namespaces that have a NetConfig that could be read.
    pub netconfigs: Vec<(&'a str, usize)>,
    pub attachments: Vec<Attachment<'a>>,
    /// All NetworkAttachmentDefinitions, also those without a configuration, as (namespace, name).
    pub attachment_names: Vec<(&'a str, &'a str)>,
    pub policies: Vec<Policy<'a>>,
    /// Policies that a later one of the same name replaces.
    pub replaced_policies: Vec<Policy<'a>>,
    pub pools: Vec<Pool<'a>>,
    pub advertisements: Vec<Advertisement<'a>>,
    /// Whether pools are announced by BGP, too.
    pub bgp: bool,
    pub exposures: Vec<Exposure<'a>>,
    pub wanted: Vec<Wanted<'a>>,
    /// Physical networks of OVN: namespace, name, NIC.
    pub nic_mappings: Vec<(&'a str, &'a str, &'a str)>,
    pub held: Vec<Held<'a>>,
    pub pod_addresses: Vec<PodAddress<'a>>,
    pub host_names: Vec<HostNames<'a>>,
    pub neutron: Vec<(usize, neutron::Neutron<'a>)>,
    /// What could not be read.
    pub troubles: Vec<(usize, At<String>)>,
}

/// The sources as they are used: the namespace of each is known.
pub(crate) struct Sources<'a> {
    pub list: &'a [Source<'a>],
    pub namespaces: Vec<&'a str>,
    /// Position of the source that replaces this one, if any.
    pub replaced_by: HashMap<usize, usize>,
}

impl<'a> Sources<'a> {
    /// Sources that count, with their position.
    pub fn effective(&self) -> impl Iterator<Item = (usize, &'a Source<'a>)> {
        let list = self.list;
        list.iter().enumerate().filter(|(i, _)| !self.replaced_by.contains_key(i))
    }
}
