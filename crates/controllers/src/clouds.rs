//! OpenStack clouds that Secrets describe: with a `clouds.yaml`, as Cluster API's are.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret as KubeSecret;
use kube::Client as Kube;
use kube::api::Api;
use landbridge_openstack::{Error, Settings, Source};

/// A Secret with the keys `clouds.yaml` and, as far as needed, `secure.yaml` and `cacert`. It is read
/// again while it is used: whoever corrects it restarts nothing.
#[derive(Clone)]
pub struct Secret {
    /// Who reads it.
    pub kube: Kube,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Which of its clouds; the only one when nothing is said.
    pub cloud: Option<String>,
}

impl Source for Secret {
    fn load(&self) -> BoxFuture<'_, Result<Settings, Error>> {
        Box::pin(async move {
            let full = format!("{}/{}", self.namespace, self.name);
            let api: Api<KubeSecret> = Api::namespaced(self.kube.clone(), &self.namespace);
            let found = api.get_opt(&self.name).await.map_err(|error| {
                // Passing, like a cloud that cannot be reached.
                let asked = landbridge_openstack::error::Asked {
                    method: landbridge_openstack::Method::GET,
                    url: format!("Secret {full}"),
                };
                Error::Unreachable { asked, why: error.to_string() }
            })?;
            let Some(secret) = found else {
                return Err(Error::Nowhere(format!(
                    "Secret {full} is not there: it should hold a clouds.yaml"
                )));
            };
            let data: BTreeMap<String, Vec<u8>> =
                secret.data.into_iter().flatten().map(|(key, value)| (key, value.0)).collect();
            Ok(Settings::of_secret(&full, &data, self.cloud.as_deref())?)
        })
    }
}
