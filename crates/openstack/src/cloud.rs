//! What controllers take: a [`Client`], which makes typed calls to a [`Cloud`].
//!
//! A `Cloud` carries out one [`Call`]; a stand-in for tests implements just that.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::Method;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::Asked;
use crate::query::encoded;
use crate::resources::{
    Attachment, ComputeQuotaChange, Quota, QuotaChange, RouterInterface, Server, SubPort,
    SubPortName,
};
use crate::{Call, Error, Query, Reply, Resource, Service, Tagged};

/// So many pages of one list are read, and no more.
const PAGES: usize = 1000;
/// So many objects are asked for at a time where the service leaves that to its clients.
const PAGE: &str = "1000";

/// Whoever carries out calls: a [`Session`](crate::Session), or a stand-in.
pub trait Cloud: Send + Sync {
    /// Carries out a call. Calls that may be repeated are repeated inside, as long as it makes sense.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>>;
}

impl<C: Cloud + ?Sized> Cloud for Arc<C> {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        (**self).call(call)
    }
}

/// What can be asked of a cloud, with types. Clones share the session.
#[derive(Clone)]
pub struct Client(Arc<dyn Cloud>);

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

impl Client {
    /// A client of this cloud.
    pub fn new(cloud: impl Cloud + 'static) -> Self {
        Self(Arc::new(cloud))
    }

    /// Carries out a call for which there is no type.
    pub async fn call(&self, call: Call) -> Result<Reply, Error> {
        self.0.call(call).await
    }

    /// All objects that fit, whatever the number of pages.
    pub async fn list<R: Resource>(&self, query: &Query) -> Result<Vec<R>, Error> {
        let mut found = Vec::new();
        let mut next = first_page::<R>(query);
        for _ in 0..PAGES {
            let call = Call::get(R::SERVICE, R::LIST).with(next.clone());
            let asked = asked(&call);
            let reply = self.call(call).await?;
            let page =
                items(reply.body.get(R::PLURAL), R::SINGULAR).ok_or_else(|| Error::Unreadable {
                    asked: asked.clone(),
                    why: format!("there are no {}", R::PLURAL),
                })?;
            let is_empty = page.is_empty();
            for item in page {
                found.push(read(item, &asked)?);
            }
            match next_page(&reply.body, R::PLURAL) {
                // Neutron links to a next page as long as a page is full.
                Some(after) if !is_empty => {
                    if after == next {
                        let why = "the next page is the same page again".to_owned();
                        return Err(Error::Endless { asked, why });
                    }
                    next = after;
                }
                _ => return Ok(found),
            }
        }
        let asked = Asked { method: Method::GET, url: R::LIST.to_owned() };
        Err(Error::Endless { asked, why: format!("there is no end after {PAGES} pages") })
    }

    /// The only object that fits, or none; several are an error.
    pub async fn only<R: Resource>(&self, query: &Query) -> Result<Option<R>, Error> {
        one(self.list::<R>(query).await?, query)
    }

    /// One object by its id.
    pub async fn get<R: Resource>(&self, id: &str) -> Result<R, Error> {
        let call = Call::get(R::SERVICE, at::<R>(id));
        let asked = asked(&call);
        unwrapped::<R>(self.call(call).await?, &asked)
    }

    /// One object by its id, or none when it is not there.
    pub async fn find<R: Resource>(&self, id: &str) -> Result<Option<R>, Error> {
        match self.get(id).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_gone() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes one. Names are not unique, so whoever calls this has looked before whether it is there.
    ///
    /// When the answer is lost, it is looked for: what was made is given back, and only what is
    /// not there is made again.
    pub async fn create<R: Resource>(&self, new: &R::New) -> Result<R, Error> {
        let make =
            || -> Result<Call, Error> { Ok(Call::post(R::SERVICE, R::PATH, wrapped::<R>(new)?)) };
        let call = make()?;
        let asked = asked(&call);
        let lost = match self.call(call).await {
            Ok(reply) => match unwrapped::<R>(reply, &asked) {
                Err(error) if error.is_unsure() => error,
                other => return other,
            },
            Err(error) if error.is_unsure() => error,
            Err(error) => return Err(error),
        };
        let Some(query) = R::trace(new) else { return Err(lost) };
        let found = self.list::<R>(&query).await?;
        let found: Vec<R> = found.into_iter().filter(|one| one.is_trace(new)).collect();
        match one(found, &query)? {
            Some(found) => Ok(found),
            None => unwrapped::<R>(self.call(make()?).await?, &asked),
        }
    }

    /// Changes one; only if it still has the given revision, where one is given.
    pub async fn update<R: Resource>(
        &self,
        id: &str,
        change: &R::Change,
        revision: Option<u64>,
    ) -> Result<R, Error> {
        let method = if R::SERVICE == Service::Identity { Method::PATCH } else { Method::PUT };
        let mut call = Call::new(R::SERVICE, method, at::<R>(id)).if_revision(revision);
        call.body = Some(wrapped::<R>(change)?);
        let asked = asked(&call);
        unwrapped::<R>(self.call(call).await?, &asked)
    }

    /// Takes one away; one that is not there is as good.
    pub async fn delete<R: Resource>(&self, id: &str) -> Result<(), Error> {
        done_if_gone(self.call(Call::delete(R::SERVICE, at::<R>(id))).await)
    }

    /// Gives an object exactly these tags.
    pub async fn set_tags<R: Tagged>(&self, id: &str, tags: &[String]) -> Result<(), Error> {
        let path = format!("{}/tags", at::<R>(id));
        self.call(Call::put(R::SERVICE, path, json!({"tags": tags}))).await.map(drop)
    }

    /// Gives an object one more tag.
    pub async fn add_tag<R: Tagged>(&self, id: &str, tag: &str) -> Result<(), Error> {
        let path = format!("{}/tags/{}", at::<R>(id), encoded(tag));
        self.call(Call::new(R::SERVICE, Method::PUT, path)).await.map(drop)
    }

    /// Takes a tag from an object; one that it does not have is as good.
    pub async fn remove_tag<R: Tagged>(&self, id: &str, tag: &str) -> Result<(), Error> {
        let path = format!("{}/tags/{}", at::<R>(id), encoded(tag));
        done_if_gone(self.call(Call::delete(R::SERVICE, path)).await)
    }

    /// Plugs something into a router. A second time is refused by Neutron, so it is not repeated
    /// here: after a lost answer look at the router's ports.
    pub async fn add_router_interface(
        &self,
        router: &str,
        interface: &RouterInterface,
    ) -> Result<(), Error> {
        let path = format!("/routers/{}/add_router_interface", encoded(router));
        let call = Call::put(Service::Network, path, json!(interface)).once();
        self.call(call).await.map(drop)
    }

    /// Takes something out of a router; what is not in it is as good.
    pub async fn remove_router_interface(
        &self,
        router: &str,
        interface: &RouterInterface,
    ) -> Result<(), Error> {
        let path = format!("/routers/{}/remove_router_interface", encoded(router));
        done_if_gone(self.call(Call::put(Service::Network, path, json!(interface))).await)
    }

    /// Leads more networks through a trunk.
    pub async fn add_subports(&self, trunk: &str, ports: &[SubPort]) -> Result<(), Error> {
        let path = format!("/trunks/{}/add_subports", encoded(trunk));
        let call = Call::put(Service::Network, path, json!({"sub_ports": ports})).once();
        self.call(call).await.map(drop)
    }

    /// Takes networks out of a trunk; those that are not in it are as good.
    pub async fn remove_subports(&self, trunk: &str, ports: &[SubPortName]) -> Result<(), Error> {
        let path = format!("/trunks/{}/remove_subports", encoded(trunk));
        let call = Call::put(Service::Network, path, json!({"sub_ports": ports}));
        done_if_gone(self.call(call).await)
    }

    /// How many of each a project may have.
    pub async fn quota(&self, project: &str) -> Result<Quota, Error> {
        let call = Call::get(Service::Network, format!("/quotas/{}", encoded(project)));
        let asked = asked(&call);
        let mut body = self.call(call).await?.body;
        read(body["quota"].take(), &asked)
    }

    /// Changes how many of each a project may have.
    pub async fn set_quota(&self, project: &str, change: &QuotaChange) -> Result<Quota, Error> {
        let path = format!("/quotas/{}", encoded(project));
        let call = Call::put(Service::Network, path, json!({"quota": change}));
        let asked = asked(&call);
        let mut body = self.call(call).await?.body;
        read(body["quota"].take(), &asked)
    }

    /// Changes a project's quota of Nova.
    pub async fn set_compute_quota(
        &self,
        project: &str,
        change: &ComputeQuotaChange,
    ) -> Result<(), Error> {
        let path = format!("/os-quota-sets/{}", encoded(project));
        self.call(Call::put(Service::Compute, path, json!({"quota_set": change}))).await.map(drop)
    }

    /// The aliases of what this Neutron can do.
    pub async fn extensions(&self) -> Result<Vec<String>, Error> {
        let reply = self.call(Call::get(Service::Network, "/extensions")).await?;
        let list = reply.body["extensions"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(list.iter().filter_map(|one| Some(one["alias"].as_str()?.to_owned())).collect())
    }

    /// The ports of a server.
    pub async fn server_ports(&self, server: &str) -> Result<Vec<Attachment>, Error> {
        let call =
            Call::get(Service::Compute, format!("/servers/{}/os-interface", encoded(server)));
        let asked = asked(&call);
        let mut body = self.call(call).await?.body;
        read(body["interfaceAttachments"].take(), &asked)
    }

    /// Tells a server what to do, for example `{"os-stop": null}`.
    pub async fn server_action(&self, server: &str, action: Value) -> Result<(), Error> {
        let path = format!("{}/action", at::<Server>(server));
        self.call(Call::post(Service::Compute, path, action)).await.map(drop)
    }

    /// Makes a user something for a project. A second time changes nothing.
    pub async fn grant(&self, project: &str, user: &str, role: &str) -> Result<(), Error> {
        let path = format!(
            "/projects/{}/users/{}/roles/{}",
            encoded(project),
            encoded(user),
            encoded(role)
        );
        self.call(Call::new(Service::Identity, Method::PUT, path)).await.map(drop)
    }
}

fn at<R: Resource>(id: &str) -> String {
    format!("{}/{}", R::PATH, encoded(id))
}

fn first_page<R: Resource>(query: &Query) -> Query {
    match R::SERVICE {
        Service::Network if query.get("limit").is_none() => query.clone().with("limit", PAGE),
        _ => query.clone(),
    }
}

/// The question after this one. Only what comes after the question mark is taken from the link: what is
/// before it is what the service takes itself for, which may not be how it is reached.
fn next_page(body: &Value, plural: &str) -> Option<Query> {
    let links = body[format!("{plural}_links")].as_array();
    let neutron = links.into_iter().flatten().find(|link| link["rel"] == "next");
    let link = neutron
        .and_then(|link| link["href"].as_str())
        // Keystone, then Glance.
        .or_else(|| body["links"]["next"].as_str())
        .or_else(|| body["next"].as_str())?;
    let (_, query) = link.split_once('?')?;
    Some(Query::parse(query))
}

/// The objects of a list. Nova wraps each key once more.
fn items(list: Option<&Value>, singular: &str) -> Option<Vec<Value>> {
    let list = list?.as_array()?;
    let bare = |item: &Value| match item.as_object() {
        Some(fields) if fields.len() == 1 && fields.contains_key(singular) => {
            item[singular].clone()
        }
        _ => item.clone(),
    };
    Some(list.iter().map(bare).collect())
}

fn one<R: Resource>(mut found: Vec<R>, query: &Query) -> Result<Option<R>, Error> {
    if found.len() > 1 {
        let ids: Vec<&str> = found.iter().take(5).map(Resource::id).collect();
        let ids = ids.join(", ");
        let by = query.to_string();
        return Err(Error::Ambiguous { what: R::PLURAL, by, count: found.len(), ids });
    }
    Ok(found.pop())
}

fn wrapped<R: Resource>(what: &impl serde::Serialize) -> Result<Value, Error> {
    let value = serde_json::to_value(what)
        .map_err(|error| Error::Settings(format!("cannot write a {}: {error}", R::SINGULAR)))?;
    if R::SINGULAR.is_empty() {
        return Ok(value);
    }
    Ok(Value::Object(Map::from_iter([(R::SINGULAR.to_owned(), value)])))
}

fn unwrapped<R: Resource>(mut reply: Reply, asked: &Asked) -> Result<R, Error> {
    if R::SINGULAR.is_empty() {
        return read(reply.body, asked);
    }
    let Some(value) = reply.body.get_mut(R::SINGULAR) else {
        let why = format!("there is no {}", R::SINGULAR);
        return Err(Error::Unreadable { asked: asked.clone(), why });
    };
    read(value.take(), asked)
}

fn read<T: DeserializeOwned>(value: Value, asked: &Asked) -> Result<T, Error> {
    serde_json::from_value(value)
        .map_err(|error| Error::Unreadable { asked: asked.clone(), why: error.to_string() })
}

/// As far as it is known here; the session knows the whole URL.
fn asked(call: &Call) -> Asked {
    Asked { method: call.method.clone(), url: format!("{}{}", call.service.name(), call.path) }
}

fn done_if_gone(done: Result<Reply, Error>) -> Result<(), Error> {
    match done {
        Ok(_) => Ok(()),
        Err(error) if error.is_gone() => Ok(()),
        Err(error) => Err(error),
    }
}
