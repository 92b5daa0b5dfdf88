//! Control planes and their services: from an OpenStackControlPlane to Services with virtual addresses,
//! Routes, workloads on their networks, and records for Keystone.
//!
//! ```text
//!  OpenStackControlPlane ─▶ KeystoneAPI, Glance, RabbitMq, OVNDBCluster, DNSMasq, …   one for each section
//!                             │
//!                             ├─▶ Service      the virtual address is asked for by annotation
//!                             ├─▶ Route        public endpoints without one
//!                             ├─▶ Deployment, StatefulSet, DaemonSet   pods on the attachments
//!                             ├─▶ KeystoneService, KeystoneEndpoint    what is to be registered
//!                             └─▶ NetworkAttachmentDefinition, DNSData   OVN
//! ```
//!
//! Both steps are functions of what was seen ([`control_plane`], [`service`]); the rest writes down the
//! difference. On a cluster where the OpenStack operators run, they do all this, and this module is
//! off (ADR 22).
//!
//! | module | idea |
//! |---|---|
//! | [`generation`] | the two generations of the API |
//! | [`parts`] | what each service consists of: the catalogue |
//! | [`control_plane`] | the plan for a control plane |
//! | [`service`] | the plan for a service |
//! | [`expose`] | one Service, its Route and its URL |
//! | [`attachments`] | the annotation of pods, and whether it came true |
//! | [`workload`] | what runs the pods |
//! | [`ovn`] | what only OVN has |
//! | `octavia` | what only Octavia has |
//! | [`domain`] | who is concerned by what |
//!
//! How plans are carried out is in [`making`](crate::making); DNSMasq and DNSData are made here, and what is
//! made of them is in [`dns`](crate::dns).

pub mod attachments;
pub mod control_plane;
pub mod domain;
pub mod expose;
pub mod generation;
mod octavia;
pub mod ovn;
pub mod parts;
pub mod service;
pub mod workload;

use std::future::Future;
use std::sync::Arc;

use self::domain::Endpoints;
pub use crate::making::{engine, kinds, plan, world, writes};

/// Under this name the writes appear in managedFields.
pub const MANAGER: &str = "landbridge-endpoints";

/// Serves all control planes and services until `stop` is done.
pub async fn run(client: kube::Client, stop: impl Future<Output = ()>) {
    crate::making::driver::run(client, Arc::new(Endpoints::default()), stop).await;
}
