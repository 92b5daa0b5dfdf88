//! The configuration of Multus, key by key.

use std::path::PathBuf;

use landbridge_cni::config::{BadNetwork, Network};
use landbridge_cni::error::{CniError, Code, Coded};
use landbridge_cni::json::Object;
use landbridge_cni::version::Version;
use serde::Deserialize;
use serde_json::Value;

/// What the file in the CNI directory says.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The version to answer in.
    pub version: Version,
    /// The network's name.
    pub name: String,
    /// The networks every pod gets, the cluster's first.
    pub delegates: Vec<Network>,
    /// The cluster's network by name, when `delegates` is empty.
    pub cluster_network: String,
    /// Further networks every pod gets, by name.
    pub default_networks: Vec<String>,
    /// How to reach the cluster.
    pub kubeconfig: String,
    /// Where definitions without a configuration find one.
    pub conf_dir: PathBuf,
    /// Where is remembered what was attached.
    pub cni_dir: PathBuf,
    /// Where plugins are found first.
    pub bin_dir: String,
    /// ADD waits until this file is there.
    pub readiness_file: Option<PathBuf>,
    /// Whether pods are kept to definitions of their own namespace.
    pub namespace_isolation: bool,
    /// Whose definitions all may use.
    pub global_namespaces: Vec<String>,
    /// Whose pods do not get the default networks.
    pub system_namespaces: Vec<String>,
    /// Where definitions named without a namespace are.
    pub multus_namespace: String,
    /// Whether a DEL that failed is remembered for the next one.
    pub retry_delete_on_error: bool,
    /// What the runtime has to say, for the cluster's network.
    pub runtime_config: Object,
    /// Where the daemon listens.
    pub socket: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Keys {
    cni_version: String,
    name: String,
    delegates: Vec<Object>,
    cluster_network: String,
    default_networks: Vec<String>,
    kubeconfig: String,
    conf_dir: String,
    cni_dir: String,
    bin_dir: String,
    #[serde(rename = "readinessindicatorfile")]
    readiness_file: String,
    namespace_isolation: bool,
    global_namespaces: String,
    system_namespaces: Vec<String>,
    multus_namespace: String,
    retry_delete_on_error: bool,
    runtime_config: Object,
    daemon_socket_dir: String,
    socket: String,
}

impl Settings {
    /// Reads the configuration a call came with.
    pub fn parse(text: &[u8]) -> Result<Self, CniError> {
        let unreadable = |error: serde_json::Error| {
            let text = format!("failed to load netconf: {error}");
            CniError::new(Code::DECODING_FAILURE, text)
        };
        let mut object: Object = serde_json::from_slice(text).map_err(unreadable)?;
        object.retain(|_, value| !value.is_null());
        let keys: Keys = serde_json::from_value(Value::Object(object)).map_err(unreadable)?;
        let version = Version::of_config(&keys.cni_version).map_err(|error| error.report(""))?;
        landbridge_cni::names::network(&keys.name).map_err(|error| error.report(""))?;
        let mut delegates = Vec::new();
        for (place, keys) in keys.delegates.iter().enumerate() {
            let read = |keys: &Object| -> Result<Network, BadNetwork> {
                Network::parse(&serde_json::to_vec(keys).map_err(BadNetwork::Json)?)
            };
            delegates.push(read(keys).map_err(|error| CniError {
                msg: format!("delegate {place} of the Multus configuration: {error}"),
                ..error.report("")
            })?);
        }
        if delegates.is_empty() && keys.cluster_network.is_empty() {
            let text = "at least one delegate/clusterNetwork must be specified";
            return Err(CniError::new(Code::INVALID_CONFIG, text));
        }
        let or = |text: String, otherwise: &str| {
            if text.is_empty() { otherwise.to_owned() } else { text }
        };
        let global = or(keys.global_namespaces, "default");
        let socket = match (keys.socket.as_str(), keys.daemon_socket_dir.as_str()) {
            ("", "") => None,
            ("", directory) => Some(PathBuf::from(directory).join("multus.sock")),
            (socket, _) => Some(PathBuf::from(socket)),
        };
        Ok(Self {
            version,
            name: keys.name,
            delegates,
            cluster_network: keys.cluster_network,
            default_networks: keys.default_networks,
            kubeconfig: keys.kubeconfig,
            conf_dir: or(keys.conf_dir, "/etc/cni/multus/net.d").into(),
            cni_dir: or(keys.cni_dir, "/var/lib/cni/multus").into(),
            bin_dir: or(keys.bin_dir, "/opt/cni/bin"),
            readiness_file: Some(keys.readiness_file).filter(|f| !f.is_empty()).map(PathBuf::from),
            namespace_isolation: keys.namespace_isolation,
            global_namespaces: global.split(',').map(|name| name.trim().to_owned()).collect(),
            system_namespaces: if keys.system_namespaces.is_empty() {
                vec!["kube-system".to_owned()]
            } else {
                keys.system_namespaces
            },
            multus_namespace: or(keys.multus_namespace, "kube-system"),
            retry_delete_on_error: keys.retry_delete_on_error,
            runtime_config: keys.runtime_config,
            socket,
        })
    }

    /// Where plugins are found, in order.
    pub fn path(&self, given: &[String]) -> Vec<String> {
        let mut path = vec![self.bin_dir.clone()];
        path.extend(given.iter().filter(|part| **part != self.bin_dir).cloned());
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_as_upstream_has_it() {
        let text = br#"{"cniVersion":"0.3.1","name":"multus-cni-network","type":"multus",
            "kubeconfig":"/k","capabilities":null,
            "delegates":[{"cniVersion":"0.3.1","name":"cbr0","plugins":[{"type":"bridge"}]}]}"#;
        let settings = Settings::parse(text).unwrap();
        assert_eq!(settings.delegates[0].name, "cbr0");
        assert_eq!(settings.cni_dir, PathBuf::from("/var/lib/cni/multus"));
        assert_eq!(settings.global_namespaces, ["default"]);
        assert_eq!(settings.system_namespaces, ["kube-system"]);
        assert_eq!(settings.path(&["/a".into(), "/opt/cni/bin".into()]), ["/opt/cni/bin", "/a"]);
        assert_eq!(settings.socket, None);
    }

    #[test]
    fn what_is_refused_says_why() {
        let cases: [(&str, u32, &str); 7] = [
            ("{", 6, "failed to load netconf: EOF while parsing an object at line 1 column 1"),
            (
                "[]",
                6,
                "failed to load netconf: invalid type: sequence, expected a map at line 1 column 0",
            ),
            (
                r#"{"name":"m","delegates":{}}"#,
                6,
                "failed to load netconf: invalid type: map, expected a sequence",
            ),
            (r#"{"delegates":[]}"#, 7, "missing network name"),
            (
                r#"{"name":"m","delegates":[]}"#,
                7,
                "at least one delegate/clusterNetwork must be specified",
            ),
            (r#"{"name":"m","cniVersion":"9","delegates":[]}"#, 1, "incompatible CNI versions"),
            (
                r#"{"name":"m","delegates":[{"name":"x"}]}"#,
                7,
                "delegate 0 of the Multus configuration: the network configuration has neither \
                 \"type\" nor \"plugins\"",
            ),
        ];
        for (text, code, message) in cases {
            let error = Settings::parse(text.as_bytes()).unwrap_err();
            assert_eq!((error.msg.as_str(), error.code), (message, Code(code)), "{text}");
        }
    }
}
