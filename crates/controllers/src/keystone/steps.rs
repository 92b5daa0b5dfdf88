//! What is done in Keystone, as values, and how it is done.

use std::fmt;

use landbridge_openstack::resources::{
    Endpoint, EndpointChange, NewEndpoint, NewRegion, NewService, Region, RegisteredService,
    ServiceChange,
};
use landbridge_openstack::{Client, Error, Query, Reaction};

/// What Keystone holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// All services.
    pub services: Vec<RegisteredService>,
    /// All endpoints.
    pub endpoints: Vec<Endpoint>,
    /// All regions.
    pub regions: Vec<Region>,
}

impl Seen {
    /// Looks.
    pub async fn look(client: &Client) -> Result<Self, Error> {
        Ok(Self {
            services: client.list(&Query::all()).await?,
            endpoints: client.list(&Query::all()).await?,
            regions: client.list(&Query::all()).await?,
        })
    }
}

/// One thing that is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A part of the cloud.
    CreateRegion(NewRegion),
    /// A service that is not there.
    CreateService(NewService),
    /// A service that is different.
    UpdateService(String, ServiceChange),
    /// A service that nobody declares any more.
    DeleteService(String),
    /// An endpoint that is not there.
    CreateEndpoint(NewEndpoint),
    /// An endpoint that is different.
    UpdateEndpoint(String, EndpointChange),
    /// An endpoint that nobody declares any more.
    DeleteEndpoint(String),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        match self {
            Self::CreateRegion(new) => write!(f, "make region {}", text(&new.id)),
            Self::CreateService(new) => write!(f, "make service {}", text(&new.name)),
            Self::UpdateService(id, _) => write!(f, "correct service {id}"),
            Self::DeleteService(id) => write!(f, "take away service {id}"),
            Self::CreateEndpoint(new) => {
                write!(f, "make {} endpoint {}", text(&new.interface), text(&new.url))
            }
            Self::UpdateEndpoint(id, _) => write!(f, "correct endpoint {id}"),
            Self::DeleteEndpoint(id) => write!(f, "take away endpoint {id}"),
        }
    }
}

impl Step {
    /// Whether something is there afterwards that was not there, or somebody else's, before.
    pub fn makes(&self) -> bool {
        !matches!(self, Self::DeleteService(_) | Self::DeleteEndpoint(_))
    }

    /// Does it. What is there already, or gone already, the next look will tell.
    pub async fn carry_out(&self, client: &Client) -> Result<(), Error> {
        let done = match self {
            Self::CreateRegion(new) => client.create::<Region>(new).await.map(drop),
            Self::CreateService(new) => client.create::<RegisteredService>(new).await.map(drop),
            Self::UpdateService(id, change) => {
                client.update::<RegisteredService>(id, change, None).await.map(drop)
            }
            Self::DeleteService(id) => client.delete::<RegisteredService>(id).await,
            Self::CreateEndpoint(new) => client.create::<Endpoint>(new).await.map(drop),
            Self::UpdateEndpoint(id, change) => {
                client.update::<Endpoint>(id, change, None).await.map(drop)
            }
            Self::DeleteEndpoint(id) => client.delete::<Endpoint>(id).await,
        };
        match done {
            Err(error)
                if matches!(
                    error.reaction(),
                    Reaction::Gone | Reaction::Exists | Reaction::Conflict
                ) =>
            {
                tracing::debug!(step = %self, %error, "somebody was faster; looked at again");
                Ok(())
            }
            other => other,
        }
    }
}
