//! The network of this node behind [`NodeNetwork`]: by netlink, or through nmstate where NetworkManager runs.

use landbridge_nodestate::{Applier, Error, Nmstatectl, Node};
use serde_json::Value;

use super::network::{ApplyError, NodeNetwork};

impl NodeNetwork for Node {
    fn show(&self) -> Result<Value, String> {
        Node::show(self).map_err(|error| told(&error))
    }

    fn apply(
        &self,
        desired: &Value,
        probe: &dyn Fn() -> Result<(), String>,
    ) -> Result<(), ApplyError> {
        match Node::apply(self, desired, probe) {
            Ok(applied) => {
                if !applied.plan.is_empty() {
                    tracing::info!("changed:\n{}", applied.plan.to_string().trim_end());
                }
                Ok(())
            }
            Err(error) => Err(not_applied(&error)),
        }
    }

    fn drift(&self, desired: &Value) -> Result<bool, String> {
        self.plan(desired).map(|plan| !plan.is_empty()).map_err(|error| told(&error))
    }

    fn restore(&self) -> Result<(), String> {
        self.reapply().map(drop).map_err(|error| told(&error))
    }
}

impl NodeNetwork for Nmstatectl {
    fn show(&self) -> Result<Value, String> {
        Applier::show(self).map_err(|error| told(&error))
    }

    fn apply(
        &self,
        desired: &Value,
        probe: &dyn Fn() -> Result<(), String>,
    ) -> Result<(), ApplyError> {
        Applier::apply(self, desired, probe).map(drop).map_err(|error| not_applied(&error))
    }

    fn drift(&self, _: &Value) -> Result<bool, String> {
        Err("NetworkManager runs here and puts its own profiles back; drift is not looked for"
            .into())
    }
}

fn not_applied(error: &Error) -> ApplyError {
    // What the desired state itself says wrong, no second try makes right.
    let retry = !matches!(error, Error::Desired(_));
    let text = match error {
        Error::RolledBack { cause, rolled_back } if rolled_back.left.is_empty() => {
            format!("rolling back desired state configuration: {cause}")
        }
        Error::RolledBack { .. } => format!("rolling back desired state configuration: {error}"),
        other => told(other),
    };
    ApplyError { text, retry }
}

/// An error with what caused it.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}
