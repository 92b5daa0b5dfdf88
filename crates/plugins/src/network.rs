//! A whole network: its plugins in order, each with the result of the one before, the last result
//! kept in a file, as the reference library does.
//!
//! ```text
//!   ADD    a ─▶ b ─▶ c, result kept; when b fails: what b and a did is undone
//!   DEL    c ─▶ b ─▶ a, each with the kept result; all are tried, then the file goes
//!   CHECK  a ─▶ b ─▶ c, each with the kept result
//!   GC     DEL of every kept attachment that is not valid any more, then GC of each plugin
//! ```

mod cache;

use std::path::{Path, PathBuf};

use landbridge_cni::args::Args;
use landbridge_cni::config::{Attachment, Network};
use landbridge_cni::delegation::{self, Previous, Runner, Runners};
use landbridge_cni::environment::{Command, Environment};
use landbridge_cni::json::Object;
use landbridge_cni::{CniError, CniResult, Coded, names};
use serde_json::Value;

use crate::call::{Call, Ipams};
use crate::failure::{Outcome, internal, of_input, refused};
use crate::{KINDS, foreign};

/// Where the reference library keeps results when nothing else is said.
pub const CACHE_DIR: &str = "/var/lib/cni";

/// One interface of one container.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Endpoint {
    /// The container.
    pub container_id: String,
    /// Its network namespace; DEL may come without.
    pub netns: Option<String>,
    /// The interface.
    pub interface: String,
    /// What plugins get as `CNI_ARGS`.
    pub args: Args,
    /// What the runtime has to say; each plugin hears what it declares in `capabilities`.
    pub capabilities: Object,
    /// Where programs are, in order.
    pub path: Vec<String>,
}

/// Runs networks: own plugins in this process, all others as programs.
pub struct Runtime<'a> {
    ipams: &'a dyn Ipams,
    cache_dir: PathBuf,
    runners: Runners,
}

impl<'a> Runtime<'a> {
    /// Results are kept below the directory, which is made when needed.
    pub fn new(ipams: &'a dyn Ipams, cache_dir: impl Into<PathBuf>) -> Self {
        Self { ipams, cache_dir: cache_dir.into(), runners: Runners::new(KINDS, []) }
    }

    /// Leaves these plugins to programs although this crate has them.
    #[must_use]
    pub fn leaving<'s>(self, kinds: impl IntoIterator<Item = &'s str>) -> Self {
        Self { runners: Runners::new(KINDS, kinds), ..self }
    }

    /// Attaches an endpoint. A failure has attached nothing.
    pub fn add(&self, network: &Network, endpoint: &Endpoint) -> Result<CniResult, CniError> {
        check_names(endpoint)?;
        let mut result: Option<CniResult> = None;
        for call in self.plan(network, Command::Add)? {
            match self.call(network, &call, endpoint, Command::Add, result.as_ref(), None) {
                Ok(found) => result = found,
                Err(error) => {
                    let clean = call.runner == Runner::Own;
                    self.undo(network, endpoint, call.plugin, clean);
                    return Err(error);
                }
            }
        }
        let result = result.unwrap_or_default();
        if let Err(error) = self.keep(network, endpoint, &result) {
            self.undo(network, endpoint, network.plugins.len().saturating_sub(1), false);
            return Err(error);
        }
        Ok(result)
    }

    /// Detaches an endpoint. Every plugin is tried; the kept result goes when all went well.
    pub fn del(&self, network: &Network, endpoint: &Endpoint) -> Result<(), CniError> {
        check_names(endpoint)?;
        let kept = self.kept(network, endpoint);
        let mut failures = Vec::new();
        for call in self.plan(network, Command::Del)? {
            let previous = kept.as_ref().filter(|_| call.previous == Previous::OfLastAdd);
            let outcome = self.call(network, &call, endpoint, Command::Del, previous, None);
            failures.extend(outcome.err());
        }
        if let Some(error) = delegation::del_failed(&failures) {
            return Err(error);
        }
        cache::forget(&self.file(&network.name, endpoint));
        Ok(())
    }

    /// Whether an endpoint is still attached as its ADD said.
    pub fn check(&self, network: &Network, endpoint: &Endpoint) -> Result<(), CniError> {
        check_names(endpoint)?;
        let kept = self.kept(network, endpoint);
        for call in self.plan(network, Command::Check)? {
            self.call(network, &call, endpoint, Command::Check, kept.as_ref(), None)?;
        }
        Ok(())
    }

    /// Whether ADD could be served.
    pub fn status(&self, network: &Network, path: &[String]) -> Result<(), CniError> {
        let nobody = Endpoint { path: path.to_vec(), ..Endpoint::default() };
        for call in self.plan(network, Command::Status)? {
            self.call(network, &call, &nobody, Command::Status, None, None)?;
        }
        Ok(())
    }

    /// Detaches and forgets whatever belongs to none of the attachments listed.
    pub fn gc(
        &self,
        network: &Network,
        path: &[String],
        valid: &[Attachment],
    ) -> Result<(), CniError> {
        if network.disable_gc {
            return Ok(());
        }
        let mut failures = Vec::new();
        for kept in cache::list(&self.cache_dir, &network.name) {
            let attachment = Attachment {
                container_id: kept.container_id.clone(),
                ifname: kept.interface.clone(),
            };
            if valid.contains(&attachment) {
                continue;
            }
            let used = kept.network();
            let endpoint = kept.endpoint(path);
            failures.extend(self.del(used.as_ref().unwrap_or(network), &endpoint).err());
        }
        let nobody = Endpoint { path: path.to_vec(), ..Endpoint::default() };
        for call in self.plan(network, Command::Gc)? {
            let outcome = self.call(network, &call, &nobody, Command::Gc, None, Some(valid));
            failures.extend(outcome.err());
        }
        delegation::del_failed(&failures).map_or(Ok(()), Err)
    }

    /// The result that was kept for an endpoint.
    pub fn kept(&self, network: &Network, endpoint: &Endpoint) -> Option<CniResult> {
        cache::load(&self.file(&network.name, endpoint))?.result(network.version)
    }

    /// Keeps a result for an endpoint, in the place of an earlier one.
    pub fn keep(
        &self,
        network: &Network,
        endpoint: &Endpoint,
        result: &CniResult,
    ) -> Result<(), CniError> {
        cache::save(&self.file(&network.name, endpoint), network, endpoint, result).map_err(
            |error| {
                internal(format!("failed to set network {:?} cached result: {error}", network.name))
            },
        )
    }

    /// Where the result of an endpoint is kept.
    pub fn file(&self, network: &str, endpoint: &Endpoint) -> PathBuf {
        cache::file(&self.cache_dir, network, &endpoint.container_id, &endpoint.interface)
    }

    /// The directory that results are kept below.
    pub fn cache_dir(&self) -> &Path {
        &self.cache_dir
    }

    fn plan(&self, network: &Network, command: Command) -> Outcome<Vec<delegation::Call>> {
        delegation::calls(network, command, &self.runners).map_err(|error| refused(&error))
    }

    /// Takes back what a failed ADD did. Our own plugins leave nothing when they fail, so only a
    /// program is also asked about the call that failed. The first error is what matters.
    fn undo(&self, network: &Network, endpoint: &Endpoint, failed: usize, is_clean: bool) {
        let undone = delegation::undo(failed).into_iter().skip(usize::from(is_clean));
        let Ok(plan) = self.plan(network, Command::Del) else { return };
        for place in undone {
            let Some(call) = plan.iter().find(|call| call.plugin == place) else { continue };
            if let Err(error) = self.call(network, call, endpoint, Command::Del, None, None) {
                tracing::warn!(%error, network = network.name, "a failed ADD is not wholly undone");
            }
        }
    }

    fn call(
        &self,
        network: &Network,
        planned: &delegation::Call,
        endpoint: &Endpoint,
        command: Command,
        previous: Option<&CniResult>,
        valid: Option<&[Attachment]>,
    ) -> Outcome<Option<CniResult>> {
        let Some(plugin) = network.plugins.get(planned.plugin) else { return Ok(None) };
        let environment = Environment {
            command,
            container_id: endpoint.container_id.clone(),
            netns: endpoint.netns.clone(),
            interface: endpoint.interface.clone(),
            args: endpoint.args.clone(),
            path: endpoint.path.clone(),
            netns_override: false,
        };
        let done = || -> Outcome<Option<CniResult>> {
            let mut plugin = plugin.clone();
            if let Some(valid) = valid {
                let list = serde_json::to_value(valid).map_err(|e| internal(e.to_string()))?;
                plugin.keys.insert("cni.dev/valid-attachments".to_owned(), list);
            }
            let stdin = network
                .stdin_for(&plugin, previous, &endpoint.capabilities)
                .map_err(|error| of_input(&error))?;
            let call = Call::new(environment, stdin.as_bytes())?;
            match planned.runner {
                Runner::Own => crate::run(&plugin.kind, &call, self.ipams),
                Runner::Foreign => foreign::run(&plugin.kind, &call).map_err(|failed| failed.error),
            }
        };
        done().map_err(|error| CniError {
            msg: format!(
                "plugin type={:?} name={:?} failed ({}): {}",
                plugin.kind,
                network.name,
                word(command),
                error.msg
            ),
            ..error
        })
    }
}

/// Names that become parts of a file's name must not lead elsewhere.
fn check_names(endpoint: &Endpoint) -> Outcome<()> {
    names::container(&endpoint.container_id)
        .and_then(|()| names::interface(&endpoint.interface))
        .map_err(|error| error.report(""))
}

fn word(command: Command) -> &'static str {
    match command {
        Command::Add => "add",
        Command::Del => "delete",
        Command::Check => "check",
        Command::Gc => "gc",
        Command::Status => "status",
        Command::Version => "version",
    }
}

/// The configuration as it was run, in the form it was written in.
fn text_of(network: &Network) -> Value {
    let mut object = Object::new();
    if !network.is_list
        && let Some(plugin) = network.plugins.first()
    {
        object.clone_from(&plugin.keys);
    }
    object.insert("cniVersion".to_owned(), network.version.as_str().into());
    object.insert("name".to_owned(), network.name.as_str().into());
    if network.is_list {
        let plugins = network.plugins.iter().map(|plugin| Value::Object(plugin.keys.clone()));
        object.insert("plugins".to_owned(), plugins.collect());
        let flags = [("disableCheck", network.disable_check), ("disableGC", network.disable_gc)];
        for (key, value) in flags.into_iter().filter(|(_, value)| *value) {
            object.insert(key.to_owned(), value.into());
        }
    }
    Value::Object(object)
}
