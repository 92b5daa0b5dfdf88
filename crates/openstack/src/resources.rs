//! What the services hold. Of each kind: how it is read, what may be said when making one, and what
//! when changing it.
//!
//! Fields that are not known here are ignored when reading; what is not said is not sent, so a
//! service's own defaults apply. Where null means something (no gateway, no port), the field is
//! `Option<Option<…>>`: `None` says nothing, `Some(None)` says null.

mod compute;
mod identity;
mod network;
mod policy;
mod port;
mod router;
mod security;
mod trunk;

use std::fmt::Debug;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde::ser::Serialize;

pub use self::compute::{
    Attachment, ComputeQuotaChange, Flavor, Image, ImageChange, InstanceAddress, Keypair,
    NewFlavor, NewImage, NewKeypair, NewServer, Nothing, Reference, Server, ServerChange,
    ServerNic,
};
pub use self::identity::{
    Domain, DomainChange, Endpoint, EndpointChange, NewDomain, NewEndpoint, NewProject, NewRegion,
    NewRole, NewService, NewUser, Project, ProjectChange, Region, RegionChange, RegisteredService,
    Role, RoleChange, ServiceChange, User, UserChange,
};
pub use self::network::{
    AllocationPool, HostRoute, Network, NetworkChange, NewNetwork, NewSubnet, NewSubnetPool,
    Segment, Subnet, SubnetChange, SubnetPool, SubnetPoolChange,
};
pub use self::policy::{NewRbacPolicy, Quota, QuotaChange, RbacPolicy, RbacPolicyChange};
pub use self::port::{AddressPair, DhcpOption, FixedIp, NewPort, Port, PortChange, WantedIp};
pub use self::router::{
    ExternalGateway, FloatingIp, FloatingIpChange, NewFloatingIp, NewRouter, Route, Router,
    RouterChange, RouterInterface, WantedGateway,
};
pub use self::security::{
    Direction, EtherType, NewSecurityGroup, NewSecurityGroupRule, SecurityGroup,
    SecurityGroupChange, SecurityGroupRule, Unchangeable,
};
pub use self::trunk::{NewTrunk, SubPort, SubPortName, Trunk, TrunkChange};

use crate::{Query, Service};

/// A kind of object that a service holds.
pub trait Resource: DeserializeOwned + Clone + Debug + PartialEq + Send + Sync + 'static {
    /// What may be said when making one.
    type New: Serialize + Debug + Send + Sync;
    /// What may be said when changing one.
    type Change: Serialize + Debug + Send + Sync;

    /// Who holds it.
    const SERVICE: Service;
    /// Where all of them are, below the version.
    const PATH: &'static str;
    /// Where they are listed with everything about them.
    const LIST: &'static str = Self::PATH;
    /// Under which key of an answer all of them are.
    const PLURAL: &'static str;
    /// Under which key one of them is; empty where it is not wrapped.
    const SINGULAR: &'static str;

    /// Its id.
    fn id(&self) -> &str;

    /// Its name; kinds without one have an empty one.
    fn name(&self) -> &str;

    /// How often it was changed, where the service counts.
    fn revision(&self) -> Option<u64> {
        None
    }

    /// How one is found again that was made without an answer: whatever tells it from others that
    /// the same caller would make. `None` when there is nothing to look for.
    fn trace(new: &Self::New) -> Option<Query>;

    /// Whether one that the query found is really what was to be made. Services that do not know a
    /// filter ignore it.
    fn is_trace(&self, new: &Self::New) -> bool;
}

/// Kinds that carry tags.
pub trait Tagged: Resource {
    /// The tags.
    fn tags(&self) -> &[String];
}

/// Null as the default of the type: services differ in what they leave out and what they set to null.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// What may be said in a request: every field may be left out.
macro_rules! request {
    ($(#[$about:meta])* $name:ident {
        $($(#[$field_about:meta])* $field:ident $(($wire:literal))? : $type:ty,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
        pub struct $name {
            $(
                $(#[$field_about])*
                #[serde(skip_serializing_if = "Option::is_none" $(, rename = $wire)?)]
                pub $field: Option<$type>,
            )*
        }

        impl $name {
            /// Whether nothing is said.
            pub fn is_empty(&self) -> bool {
                $(self.$field.is_none() &&)* true
            }
        }
    };
}

/// A kind, where it is, and what tells one from another: fields that both the request and the object
/// have, with their names as filters (empty where the service has no such filter).
macro_rules! resource {
    ($type:ident ($new:ident, $change:ident) = $service:ident $path:literal $plural:literal $singular:literal,
     $(list $list:literal,)? name $name:ident, revision $revision:ident,
     trace [$($filter:literal $field:ident = $seen:expr),* $(,)?]) => {
        impl $crate::resources::Resource for $type {
            type New = $new;
            type Change = $change;
            const SERVICE: $crate::Service = $crate::Service::$service;
            const PATH: &'static str = $path;
            $(const LIST: &'static str = $list;)?
            const PLURAL: &'static str = $plural;
            const SINGULAR: &'static str = $singular;

            fn id(&self) -> &str {
                &self.id
            }

            fn name(&self) -> &str {
                &self.$name
            }

            fn revision(&self) -> Option<u64> {
                $crate::resources::$revision!(self)
            }

            fn trace(new: &$new) -> Option<$crate::Query> {
                let mut query = $crate::Query::all();
                let mut is_any = false;
                $(if let Some(wanted) = &new.$field {
                    is_any = true;
                    if !$filter.is_empty() {
                        query = query.with($filter, wanted.to_string());
                    }
                })*
                is_any.then_some(query)
            }

            fn is_trace(&self, new: &$new) -> bool {
                let is_other = |wanted: Option<String>, seen: Option<String>| {
                    wanted.is_some() && wanted != seen
                };
                $(
                    let seen: fn(&$type) -> Option<String> = $seen;
                    if is_other(new.$field.as_ref().map(ToString::to_string), seen(self)) {
                        return false;
                    }
                )*
                true
            }
        }
    };
}

macro_rules! counted {
    ($object:expr) => {
        $object.revision_number
    };
}
macro_rules! uncounted {
    ($object:expr) => {{
        let _ = $object;
        None
    }};
}

macro_rules! tagged {
    ($($type:ident),*) => {
        $(impl $crate::resources::Tagged for $type {
            fn tags(&self) -> &[String] {
                &self.tags
            }
        })*
    };
}

pub(crate) use {counted, request, resource, tagged, uncounted};
