//! CNI as values: configurations, results, errors, network annotations, whereabouts records.
//!
//! Nothing here does IO, speaks netlink or knows a Kubernetes client. A plugin reads its input
//! with this crate, does its work elsewhere, and writes its answer with this crate.
//!
//! ```
//! use landbridge_cni::config::{Input, Network};
//! use landbridge_cni::json::Object;
//!
//! // What stands in a NetworkAttachmentDefinition, and what its plugin reads of it.
//! let config = r#"{"cniVersion": "0.3.1", "type": "macvlan", "master": "enp6s0.20"}"#;
//! let network = Network::of_definition("internalapi", config)?.ok_or("no configuration")?;
//! let stdin = network.stdin_for(&network.plugins[0], None, &Object::new())?;
//! assert_eq!(Input::parse(stdin.as_bytes())?.name, "internalapi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`version`] | the versions, what each knows, which one to answer in |
//! | [`error`] | the error object and its numbers |
//! | [`names`] | names that are let through |
//! | [`environment`], [`args`] | what a plugin is called with |
//! | [`config`] | networks, and what a plugin is handed of one |
//! | [`plugins`] | what each plugin's configuration says |
//! | [`result`] | what ADD answers, in every version |
//! | [`delegation`] | which plugin is run, in which order, and what is undone |
//! | [`networks`] | the networks a pod asks for |
//! | [`status`] | what a pod's networks look like |
//! | [`whereabouts`] | addresses recorded in the cluster: settings, records, choice |
//! | [`json`] | JSON the way the peers write it |

pub mod args;
pub mod config;
pub mod delegation;
pub mod environment;
pub mod error;
pub mod json;
pub mod names;
pub mod networks;
pub mod plugins;
pub mod result;
pub mod status;
pub mod version;
pub mod whereabouts;

pub use self::error::{CniError, Code, Coded};
pub use self::result::CniResult;
pub use self::version::Version;
