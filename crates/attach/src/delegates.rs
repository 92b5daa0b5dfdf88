//! Which networks a pod gets, in order: the cluster's own, the default ones, those it asks for.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use landbridge_cni::config::Network;
use landbridge_cni::delegation::check_namespace;
use landbridge_cni::error::{CniError, Code, Coded};
use landbridge_cni::json::Object;
use landbridge_cni::networks::{self, Selection};

use crate::objects::{ObjectError, Objects, Pod};
use crate::origin;
use crate::settings::Settings;
use crate::sticky;

/// The largest configuration file that is read.
const FILE_MAX: u64 = 4 << 20;

/// One network of a pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Delegate {
    /// The network.
    pub network: Network,
    /// `namespace/name` of its definition; empty when it has none.
    pub name: String,
    /// The interface inside the pod.
    pub interface: String,
    /// What the pod asks of it.
    pub wishes: Selection,
    /// What the plugins are told by the runtime.
    pub capabilities: Object,
}

impl Delegate {
    /// The name in network-status.
    pub fn status_name(&self) -> &str {
        if self.name.is_empty() { &self.network.name } else { &self.name }
    }
}

/// Finds the networks of a pod; without a pod those of the configuration alone.
pub fn of_pod(
    objects: &dyn Objects,
    settings: &Settings,
    own_interface: &str,
    pod: Option<&Pod>,
) -> Result<Vec<Delegate>, LoadError> {
    let mut found = of_settings(objects, settings, pod)?;
    let asked = match pod {
        Some(pod) => {
            let note = |key: &str| pod.annotations.get(key).map_or("", String::as_str);
            let text = note(networks::DEFAULT_ANNOTATION);
            let instead = networks::parse_default(text, &settings.multus_namespace);
            if let Some(selection) = instead.map_err(|error| LoadError::annotation(&error))? {
                let replaced = of_selection(objects, settings, pod, selection, false)?;
                if let Some(first) = found.first_mut() {
                    *first = replaced;
                }
            }
            let asked = networks::parse(note(networks::ANNOTATION), &pod.namespace);
            asked.map_err(|error| LoadError::annotation(&error))?
        }
        None => Vec::new(),
    };
    if let Some(pod) = pod {
        for selection in asked {
            found.push(of_selection(objects, settings, pod, selection, true)?);
        }
    }
    let wishes: Vec<Selection> = found.iter().skip(1).map(|d| d.wishes.clone()).collect();
    let names = networks::interface_names(own_interface, 1, &wishes);
    let names = names.map_err(|error| LoadError::annotation(&error))?;
    let own = std::iter::once(own_interface.to_owned());
    for (delegate, interface) in found.iter_mut().zip(own.chain(names)) {
        delegate.interface = interface;
    }
    if let Some(first) = found.first_mut() {
        first.capabilities.clone_from(&settings.runtime_config);
    }
    Ok(found)
}

/// The networks of the configuration: what every pod gets.
fn of_settings(
    objects: &dyn Objects,
    settings: &Settings,
    pod: Option<&Pod>,
) -> Result<Vec<Delegate>, LoadError> {
    let plain = |network: Network, name: String| Delegate {
        wishes: Selection::new("", network.name.clone()),
        network,
        name,
        interface: String::new(),
        capabilities: Object::new(),
    };
    if !settings.delegates.is_empty() {
        let all = settings.delegates.iter();
        return Ok(all.map(|network| plain(network.clone(), String::new())).collect());
    }
    let is_system = pod.is_some_and(|pod| settings.system_namespaces.contains(&pod.namespace));
    let further = settings.default_networks.iter().filter(|_| !is_system);
    let mut found = Vec::new();
    for name in std::iter::once(&settings.cluster_network).chain(further) {
        let (network, name) = by_name(objects, settings, name)?;
        found.push(plain(network, name));
    }
    Ok(found)
}

/// `clusterNetwork` and `defaultNetworks`: a definition, a network of the directory of
/// configurations, a directory, a file.
fn by_name(
    objects: &dyn Objects,
    settings: &Settings,
    name: &str,
) -> Result<(Network, String), LoadError> {
    if !name.contains('/') {
        let namespace = &settings.multus_namespace;
        let found = objects.definition(namespace, name).map_err(LoadError::Cluster)?;
        if let Some(definition) = found {
            let network = of_definition(settings, &definition.namespace, name, &definition.config)?;
            return Ok((network, format!("{namespace}/{name}")));
        }
        if let Some(network) = in_directory(&settings.conf_dir, name)? {
            return Ok((network, String::new()));
        }
    }
    let path = Path::new(name);
    if path.is_dir()
        && let Some(first) = files(path)?.first()
    {
        return Ok((of_file(first)?, String::new()));
    }
    if path.is_file() {
        return Ok((of_file(path)?, String::new()));
    }
    Err(LoadError::config(format!(
        "network {name:?} of the Multus configuration is neither a definition of namespace {}, nor \
         a network of {}, nor a directory, nor a file",
        settings.multus_namespace,
        settings.conf_dir.display()
    )))
}

fn of_selection(
    objects: &dyn Objects,
    settings: &Settings,
    pod: &Pod,
    selection: Selection,
    is_isolated: bool,
) -> Result<Delegate, LoadError> {
    let global: Vec<&str> = settings.global_namespaces.iter().map(String::as_str).collect();
    let isolated = settings.namespace_isolation && is_isolated;
    check_namespace(&pod.namespace, &selection.namespace, isolated, &global)
        .map_err(|error| LoadError::Config(error.report("")))?;
    let (namespace, name) = (&selection.namespace, &selection.name);
    let found = objects.definition(namespace, name).map_err(LoadError::Cluster)?;
    let definition = found.ok_or_else(|| LoadError::NoDefinition {
        namespace: namespace.clone(),
        name: name.clone(),
    })?;
    let mut network = of_definition(settings, namespace, name, &definition.config)?;
    let holder = if sticky::is_sticky(&definition) || sticky::asks(pod) {
        let is_daemon = pod.controller.as_ref().is_some_and(|owner| owner.kind == "DaemonSet");
        let others = if is_daemon {
            objects.pods(Some(&pod.node)).map_err(LoadError::Cluster)?
        } else {
            Vec::new()
        };
        sticky::holder(pod, &others)
    } else {
        None
    };
    sticky::mark(&mut network, holder.as_ref());
    origin::mark(&mut network, namespace, name);
    for plugin in &mut network.plugins {
        if let Some(args) = &selection.cni_args {
            plugin.add_cni_args(args);
        }
        if !selection.device_id.is_empty() {
            plugin.set_device(&selection.device_id);
        }
    }
    let capabilities = selection.capabilities().map_err(|error| {
        LoadError::config(format!("network {}: {error}", selection.reference()))
    })?;
    Ok(Delegate {
        network,
        name: selection.reference(),
        interface: String::new(),
        wishes: selection,
        capabilities,
    })
}

fn of_definition(
    settings: &Settings,
    namespace: &str,
    name: &str,
    config: &str,
) -> Result<Network, LoadError> {
    let read = Network::of_definition(name, config).map_err(|error| {
        LoadError::Config(CniError {
            msg: format!("network-attachment-definition {namespace}/{name}: {error}"),
            ..error.report("")
        })
    })?;
    if let Some(network) = read {
        return Ok(network);
    }
    in_directory(&settings.conf_dir, name)?.ok_or_else(|| {
        LoadError::config(format!(
            "network-attachment-definition {namespace}/{name} has no spec.config, and no file of \
             {} has a network of that name",
            settings.conf_dir.display()
        ))
    })
}

/// The network of that name among the files of a directory. Files that are no networks are passed
/// by: they are not what was asked for.
fn in_directory(directory: &Path, name: &str) -> Result<Option<Network>, LoadError> {
    let networks = files(directory)?.into_iter().filter_map(|file| of_file(&file).ok());
    Ok(networks.into_iter().find(|network| network.name == name))
}

/// The configuration files of a directory in order; none when there is no directory.
pub(crate) fn files(directory: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(LoadError::config(format!("reading {}: {error}", directory.display())));
        }
    };
    let is_config = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("conf" | "conflist" | "json"))
    };
    let mut found: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_config).collect();
    found.sort();
    Ok(found)
}

fn of_file(path: &Path) -> Result<Network, LoadError> {
    let mut text = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(FILE_MAX).read_to_end(&mut text));
    read.map_err(|error| LoadError::config(format!("reading {}: {error}", path.display())))?;
    Network::parse(&text).map_err(|error| {
        LoadError::Config(CniError {
            msg: format!("{}: {error}", path.display()),
            ..error.report("")
        })
    })
}

/// Why a pod's networks are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// There is no such definition.
    #[error(
        "cannot find a network-attachment-definition ({name}) in namespace ({namespace}): \
         network-attachment-definitions.k8s.cni.cncf.io \"{name}\" not found"
    )]
    NoDefinition {
        /// Where it should be.
        namespace: String,
        /// What it should be called.
        name: String,
    },
    /// The cluster does not tell.
    #[error("{0}")]
    Cluster(ObjectError),
    /// What is written is wrong.
    #[error("{0}")]
    Config(CniError),
}

impl LoadError {
    fn annotation(error: &networks::BadAnnotation) -> Self {
        Self::Config(error.report(""))
    }

    fn config(text: String) -> Self {
        Self::Config(CniError::new(Code::INVALID_CONFIG, text))
    }
}

impl Coded for LoadError {
    fn code(&self) -> Code {
        match self {
            Self::NoDefinition { .. } => Code::INVALID_CONFIG,
            Self::Cluster(_) => Code::TRY_AGAIN,
            Self::Config(error) => error.code,
        }
    }
}

/// Whether networks after the first may be attached at the same time. A plugin that looks at an
/// interface made before it, or that we do not know, has to wait for its turn.
pub fn may_run_together(delegates: &[Delegate]) -> bool {
    const KNOWN: [&str; 6] = ["bridge", "host-device", "ipvlan", "macvlan", "static", "tuning"];
    delegates.iter().flat_map(|delegate| &delegate.network.plugins).all(|plugin| {
        let in_container = plugin.keys.get("linkInContainer").is_some_and(|value| value == true);
        KNOWN.contains(&plugin.kind.as_str()) && !in_container
    })
}
