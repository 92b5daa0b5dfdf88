//! Load against any Kubernetes API, and what it took.
//!
//! Nothing here links Landbridge. The load of `landbridge-bench` goes to any server a kubeconfig names, so that two
//! servers can be measured in one run and compared as a ratio; the programs that kill or restart start a landbridge
//! binary they are given.
//!
//! | module | idea |
//! |---|---|
//! | [`stats`] | percentiles and rates, pure |
//! | [`process`] | CPU time and memory of a process, from `/proc` |
//! | [`stage`] | the namespaces and the CRD a run stands on, and how they go away again |
//! | [`load`] | creates, gets, updates, lists with so many clients for so long |
//! | [`delivery`] | how long a write takes to reach its watchers |
//! | [`measure`] | one whole measurement of one server |
//! | [`report`] | tables, Markdown, ratios |
//! | [`plane`] | a landbridge of one's own, started and killed |
//! | [`plugin`] | one call of a CNI plugin, and how long it took |
//! | [`sets`] | IPSets as load, and what became of them |
//! | [`ledger`] | what a client knows for certain about its writes, pure (for `landbridge-crash`) |

// Figures for people: a rate or a quantile needs no 53rd bit.
#![allow(clippy::cast_precision_loss)]

pub mod delivery;
pub mod ledger;
pub mod load;
pub mod measure;
pub mod plane;
pub mod plugin;
pub mod process;
pub mod report;
pub mod sets;
pub mod stage;
pub mod stats;
