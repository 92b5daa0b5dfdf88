//! The objects of MetalLB, as controllers read and write them.
//!
//! Their contents are kept as they are written: one odd object must not end a watch, and what is wrong
//! with it is for the rules to say.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::Resource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::GROUP;

/// The only version of these kinds.
pub const VERSION: &str = "v1beta1";

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident, $plural:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            /// Name, labels and the like.
            #[serde(default)]
            pub metadata: ObjectMeta,
            /// What is wanted.
            #[serde(default, skip_serializing_if = "Value::is_null")]
            pub spec: Value,
            /// What was found.
            #[serde(default, skip_serializing_if = "Value::is_null")]
            pub status: Value,
        }

        impl Resource for $name {
            type DynamicType = ();
            type Scope = NamespaceResourceScope;
            fn kind((): &()) -> Cow<'_, str> {
                stringify!($name).into()
            }
            fn group((): &()) -> Cow<'_, str> {
                GROUP.into()
            }
            fn version((): &()) -> Cow<'_, str> {
                VERSION.into()
            }
            fn plural((): &()) -> Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    )*};
}

kinds! {
    /// Addresses for Services.
    IPAddressPool, "ipaddresspools";
    /// Where pools are announced.
    L2Advertisement, "l2advertisements";
    /// Whether the configuration makes sense to one component.
    ConfigurationState, "configurationstates";
    /// Which node announces a Service.
    ServiceL2Status, "servicel2statuses";
}
