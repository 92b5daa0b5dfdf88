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
//!                             └─▶ NetworkAttachmentDefinition, DNSData OVN
//! ```
//!
//! Both steps are functions of what was seen ([`control_plane`], [`service`]); the rest writes down the
//! difference. On a cluster where the OpenStack operators run, they do all this, and this module is
//! off (ADR 22).
//!
//! | module | idea |
//! |---|---|
//! | [`kinds`] | the kinds that are read and written |
//! | [`generation`] | the two generations of the API |
//! | [`parts`] | what each service consists of: the catalogue |
//! | [`control_plane`] | the plan for a control plane |
//! | [`service`] | the plan for a service |
//! | [`expose`] | one Service, its Route and its URL |
//! | [`attachments`] | the annotation of pods, and whether it came true |
//! | [`workload`] | what runs the pods |
//! | [`ovn`] | what only OVN has |
//! | [`plan`] | a plan as a value |
//! | [`writes`] | from what is there to what should be |
//! | [`world`] | what is known of the API |
//! | [`unsure`] | what may be there and was not seen |
//! | [`engine`] | who needs a look, and what is under way |
//! | [`driver`] | watches and writes |

pub mod attachments;
pub mod control_plane;
pub mod driver;
pub mod engine;
pub mod expose;
pub mod generation;
pub mod kinds;
pub mod ovn;
pub mod parts;
pub mod plan;
pub mod service;
pub mod unsure;
pub mod workload;
pub mod world;
pub mod writes;

pub use self::driver::run;

/// Under this name the writes appear in managedFields.
pub const MANAGER: &str = "landbridge-endpoints";
