//! `kube::Client`s: over a Unix socket, or as a kubeconfig says.

mod kubeconfig;
mod unix;

pub use kubeconfig::{Choice, config};
pub use unix::unix;
