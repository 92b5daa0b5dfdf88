//! Kubernetes' own controllers, as far as a lab needs them: from Deployments to pods, from pods to
//! nodes. On a real cluster nobody runs this: there they exist already.
//!
//! ```text
//!  watches ─▶ World ─▶ one pure function per item ─▶ Actions ─▶ API
//!               ▲      (Deployment, ReplicaSet, …)      │
//!               └────────────── answers ────────────────┘
//! ```
//!
//! An item is looked at again only when the answers to its last actions are known, and an answer
//! changes the [`World`](world::World) before the watch tells of it. So nothing is decided twice,
//! however late the watches are. Names of new pods follow from what was seen: whoever decides the
//! same thing again, after a crash or in a second instance, meets its own pod and not a free name.
//!
//! | module | idea |
//! |---|---|
//! | [`engine`] | which items need a look, and what is under way |
//! | [`world`] | what is known of the API, with indices |
//! | [`action`] | what may be written, and what comes back |
//! | [`replica_set`] | so many pods, and which go first |
//! | [`deployment`] | one ReplicaSet per template, and how to get from one to the next |
//! | [`stateful_set`] | pods with an identity, one after the other |
//! | [`daemon_set`] | one pod on every node that takes it |
//! | [`history`] | what the templates of StatefulSets and DaemonSets were |
//! | [`endpoint_slices`] | which pods stand behind a Service |
//! | [`scheduler`] | a node for every pod |
//! | [`nodes`] | addresses for nodes, silent nodes, pods that must leave |
//! | [`driver`] | watches and writes |
//! | [`rights`] | what all of this may do, and no more |

pub mod action;
pub mod daemon_set;
pub mod deployment;
pub mod driver;
pub mod endpoint_slices;
pub mod engine;
pub mod history;
pub mod labels;
pub mod nodes;
pub mod placement;
pub mod pods;
pub mod quantity;
pub mod replica_set;
mod rights;
pub mod scheduler;
mod settings;
pub mod stateful_set;
pub mod template;
pub mod world;

pub use self::driver::run;
pub use self::rights::rights;
pub use self::settings::Settings;
