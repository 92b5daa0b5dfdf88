//! The network of this node as policies and hosts see it: `nodestate` over the kernel.

use serde_json::Value;

use crate::policy::{ApplyError, NodeNetwork};
use landbridge_nodestate::{Error, Node};

/// Applies by netlink, in the namespace of its handle.
pub struct Kernel(pub Node);

impl NodeNetwork for Kernel {
    fn show(&self) -> Result<Value, String> {
        self.0.show().map_err(|error| error.to_string())
    }

    fn apply(
        &self,
        desired: &Value,
        probe: &dyn Fn() -> Result<(), String>,
    ) -> Result<(), ApplyError> {
        let applied = self.0.apply(desired, probe).map_err(|error| ApplyError {
            // A state that cannot be will not be the next time either.
            retry: !matches!(error, Error::Desired(_)),
            text: error.to_string(),
        })?;
        if !applied.plan.is_empty() {
            tracing::info!(plan = %applied.plan, "applied");
        }
        Ok(())
    }

    fn drift(&self, desired: &Value) -> Result<bool, String> {
        let plan = self.0.plan(desired).map_err(|error| error.to_string())?;
        Ok(!plan.is_empty())
    }
}
