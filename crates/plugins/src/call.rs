//! One call of one plugin, and who gives addresses.

use std::sync::Arc;

use landbridge_cni::config::Input;
use landbridge_cni::environment::{Command, Environment};
use landbridge_cni::{CniError, CniResult, Code};

use crate::failure;

/// More than this on standard input is refused: configurations are kilobytes.
pub const INPUT_MAX: usize = 4 << 20;

/// One call of one plugin: what stands in its environment and on its standard input.
#[derive(Clone, Debug)]
pub struct Call {
    /// What to do, for which container and interface.
    pub environment: Environment,
    /// The configuration, read.
    pub input: Input,
    /// The configuration as it came, for plugins this one calls.
    pub stdin: Arc<[u8]>,
}

impl Call {
    /// Reads the configuration of a call.
    pub fn new(environment: Environment, stdin: &[u8]) -> Result<Self, CniError> {
        if stdin.len() > INPUT_MAX {
            let text = format!("the network configuration is larger than {INPUT_MAX} bytes");
            return Err(CniError::new(Code::DECODING_FAILURE, text));
        }
        let input = Input::parse(stdin).map_err(|error| failure::of_input(&error))?;
        Ok(Self { environment, input, stdin: stdin.into() })
    }

    /// The same call with another command.
    #[must_use]
    pub fn with_command(&self, command: Command) -> Self {
        let mut other = self.clone();
        other.environment.command = command;
        other
    }
}

/// A plugin that gives addresses. It reads the whole configuration of the plugin that asks it.
pub trait Ipam {
    /// Gives addresses. A failure has given none.
    fn add(&self, call: &Call) -> Result<CniResult, CniError>;

    /// Takes them back; none is no error.
    fn del(&self, call: &Call) -> Result<(), CniError>;

    /// Whether they are still given.
    fn check(&self, call: &Call) -> Result<(), CniError>;

    /// Whether an ADD could be served.
    fn status(&self, _call: &Call) -> Result<(), CniError> {
        Ok(())
    }

    /// Takes back what belongs to none of the attachments listed.
    fn gc(&self, _call: &Call) -> Result<(), CniError> {
        Ok(())
    }
}

/// What gives addresses in this process beyond this crate's own.
pub trait Ipams: Sync {
    /// The one of that name. It is asked before this crate's own and before programs.
    fn own(&self, kind: &str) -> Option<&dyn Ipam>;
}

/// Nothing beyond this crate's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoIpams;

impl Ipams for NoIpams {
    fn own(&self, _kind: &str) -> Option<&dyn Ipam> {
        None
    }
}
