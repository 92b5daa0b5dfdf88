//! What every cluster has from its first second.

use std::sync::Arc;

use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::{Value, json};

use crate::access;
use crate::call::SystemRequest;
use crate::path::Target;
use crate::server::Inner;
use crate::write::create;

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];
/// Namespaces that cannot be deleted.
pub const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Writes what is missing.
pub async fn write(server: &Arc<Inner>) -> ApiResult<()> {
    for name in NAMESPACES {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        ensure(server, "", "namespaces", None, namespace).await?;
    }
    access::write_defaults(server).await?;
    // Clients find the API itself, and the IP family of the cluster, here.
    let kubernetes = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": server.addresses.first(),
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    });
    ensure(server, "", "services", Some("default"), kubernetes).await
}

/// Gives a namespace what its pods expect to find: a service account and the CA.
pub async fn furnish(server: &Arc<Inner>, namespace: &str) -> ApiResult<()> {
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    ensure(server, "", "serviceaccounts", Some(namespace), account).await?;
    let Some(ca) = &server.ca_pem else { return Ok(()) };
    let root = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "kube-root-ca.crt",
            "annotations": {"kubernetes.io/description": "Certificate authority of this API server: clients in the cluster verify it with this."},
        },
        "data": {"ca.crt": ca},
    });
    ensure(server, "", "configmaps", Some(namespace), root).await
}

/// Creates an object unless it is there.
pub async fn ensure(
    server: &Arc<Inner>,
    group: &str,
    plural: &str,
    namespace: Option<&str>,
    object: Value,
) -> ApiResult<()> {
    let registry = server.registry();
    let resource = registry
        .get(group, plural)
        .cloned()
        .ok_or_else(|| ApiError::internal(format!("{plural} are not served")))?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if server.store.snapshot().get(&resource.key(namespace, &name)).is_some() {
        return Ok(());
    }
    let target = Target { namespace: namespace.map(str::to_owned), ..Target::default() };
    let request = SystemRequest::new("bootstrap", target);
    let mut call = request.call(server, &resource);
    let bytes = serde_json::to_vec(&object).map_err(ApiError::internal)?;
    match create::create(&mut call, &bytes).await {
        Ok(_) => Ok(()),
        // Somebody else was faster, or the namespace is on its way out.
        Err(error) if matches!(error.code, 404 | 409) || error.reason == "Forbidden" => Ok(()),
        Err(error) => Err(error),
    }
}
