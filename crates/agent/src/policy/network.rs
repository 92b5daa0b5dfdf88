//! The network of this node, as the duties of an agent see it.

use serde_json::Value;

/// Reads and changes the network of this node. Calls block.
pub trait NodeNetwork: Send + Sync {
    /// The current state, in the words of nmstate.
    fn show(&self) -> Result<Value, String>;

    /// Makes a desired state true, looks whether it is, and asks the probe whether the node still
    /// works; otherwise puts everything back as it was.
    fn apply(
        &self,
        desired: &Value,
        probe: &dyn Fn() -> Result<(), String>,
    ) -> Result<(), ApplyError>;

    /// Whether the node differs from a desired state.
    fn drift(&self, desired: &Value) -> Result<bool, String>;

    /// After a boot: makes again all that was ever made true and not taken away, also for policies
    /// that have changed or gone since. Nothing where the node keeps that by itself.
    fn restore(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Why a desired state is not true now. Everything is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ApplyError {
    /// What went wrong, for people.
    pub text: String,
    /// Whether it can be different the next time.
    pub retry: bool,
}
