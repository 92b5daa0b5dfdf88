//! One request in, one answer out, for every resource alike.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use jiff::Timestamp;
use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::{Value, json};

use crate::body::{self, Body};
use crate::call::Call;
use crate::connect::{self, Door};
use crate::identity::Identity;
use crate::meta::Entry;
use crate::negotiate::{self, Encoding};
use crate::path::{self, ApiPath, Target};
use crate::present::{Include, View};
use crate::query::{Query, invalid_option};
use crate::registry::Resource;
use crate::select::Selection;
use crate::server::{ApiServer, Inner};
use crate::write::{Outcome, apply, binding, create, delete, eviction, patch, scale, update};
use crate::{access, convert, documents, list, reply, watch};

impl ApiServer {
    /// Answers one request. `identity` is `None` when the client did not prove who it is.
    pub async fn handle<B>(
        &self,
        request: Request<B>,
        identity: Option<&Identity>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        let encoding =
            negotiate::agree(request.headers(), false).map_or(Encoding::Json, |a| a.encoding);
        let proven = match identity {
            Some(identity) => Some(Cow::Borrowed(identity)),
            None => access::bearer(&self.inner, request.headers()).map(Cow::Owned),
        };
        let Some(identity) = proven.as_deref() else {
            return reply::error(&ApiError::unauthorized(), encoding);
        };
        // A panic is a mistake of ours; it must cost one request, not the connection.
        let answer = AssertUnwindSafe(route(&self.inner, request, identity)).catch_unwind().await;
        match answer {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => reply::error(&error, encoding),
            Err(_) => reply::error(
                &ApiError::internal(
                    "the server made a mistake; its log says more. Please report it",
                ),
                encoding,
            ),
        }
    }
}

async fn route<B>(
    server: &Arc<Inner>,
    request: Request<B>,
    identity: &Identity,
) -> ApiResult<Response<Body>>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let (mut head, incoming) = request.into_parts();
    let upgrade = head.extensions.remove::<hyper::upgrade::OnUpgrade>();
    let query = Query::parse(head.uri.query().unwrap_or_default())?;
    let identity = &*access::enter(server, identity, &head.headers)?;
    let api_path = path::parse(head.uri.path());
    access::authorize_request(server, identity, &head, api_path.as_ref(), &query)?;
    let Some(api_path) = api_path else {
        return documents::other(server, &head.method, head.uri.path(), &query, &head.headers);
    };
    let ApiPath::Objects(target) = api_path else {
        return documents::discovery(server, &head.method, &api_path, &head.headers);
    };
    let registry = server.registry();
    let Some(resource) = registry.get(&target.group, &target.resource).cloned() else {
        return Err(ApiError::no_such_path());
    };
    let served = resource.versions.iter().position(|v| v.served && v.name == target.version);
    let Some(version) = served else { return Err(ApiError::no_such_path()) };
    check_subresource(&resource, version, &target)?;
    let mut call = Call {
        server,
        registry: Arc::clone(&registry),
        identity,
        resource,
        version,
        target: &target,
        query: &query,
        headers: &head.headers,
        warnings: Vec::new(),
    };
    call.check_scope()?;
    if let Some(door) = target.subresource.as_deref().and_then(Door::of) {
        let parameters = head.uri.query().unwrap_or_default();
        return connect::open(&call, door, &head.method, parameters, upgrade).await;
    }
    let only_created = call.resource.strategy.virtual_only
        || matches!(target.subresource.as_deref(), Some("token" | "binding" | "eviction"));
    if only_created && head.method != Method::POST {
        return Err(ApiError::method_not_allowed());
    }
    let watching =
        head.method == Method::GET && (query.watch || target.watch) && target.subresource.is_none();
    let _place = if watching { None } else { Some(server.gates.request()?) };
    call.warnings.extend(call.version().deprecation.clone());
    let bytes =
        if matches!(head.method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE) {
            body::read(incoming).await?
        } else {
            Bytes::new()
        };
    // From here on nothing waits for the client any more.
    let _announced = (head.method != Method::GET).then(|| server.store.announce());
    let mut response = match head.method {
        Method::GET => get(&call)?,
        Method::POST => post(&mut call, &bytes).await?,
        Method::PUT => put(&mut call, &bytes).await?,
        Method::PATCH => patch_object(&mut call, &bytes).await?,
        Method::DELETE => delete_objects(&mut call, &bytes).await?,
        _ => return Err(ApiError::method_not_allowed()),
    };
    reply::warn(&mut response, &call.warnings);
    Ok(response)
}

fn check_subresource(resource: &Resource, version: usize, target: &Target) -> ApiResult<()> {
    let version = &resource.versions[version];
    let known = match target.subresource.as_deref() {
        None => true,
        Some("status") => version.status,
        Some("scale") => version.scale.is_some(),
        Some("token") => resource.group.is_empty() && resource.kind == "ServiceAccount",
        Some("finalize") => resource.group.is_empty() && resource.kind == "Namespace",
        Some("binding" | "eviction" | "exec" | "attach" | "portforward" | "log") => {
            resource.group.is_empty() && resource.kind == "Pod"
        }
        Some(_) => false,
    };
    if known { Ok(()) } else { Err(ApiError::no_such_path()) }
}

fn view(call: &Call<'_>, streaming: bool) -> ApiResult<(View, Encoding)> {
    let agreed = negotiate::agree(call.headers, streaming)?;
    let include = match call.query.include_object.as_deref() {
        Some("None") => Include::None,
        Some("Object") => Include::Object,
        None | Some("" | "Metadata") => Include::Metadata,
        Some(other) => {
            return Err(ApiError::bad_request(format!(
                "unrecognized includeObject value: {other:?} (None, Metadata or Object)"
            )));
        }
    };
    let view = View {
        resource: Arc::clone(&call.resource),
        version: call.version,
        form: agreed.form,
        include,
        now: Timestamp::now(),
    };
    Ok((view, agreed.encoding))
}

/// Bytes of JSON in the encoding the client wants.
fn send(code: StatusCode, json: Bytes, encoding: Encoding, headers: &HeaderMap) -> Response<Body> {
    match encoding {
        Encoding::Json => reply::json_bytes(code, json, headers),
        Encoding::Yaml => {
            let value: Value = serde_json::from_slice(&json).unwrap_or(Value::Null);
            reply::value(code, &value, encoding, headers)
        }
    }
}

fn stored(call: &Call<'_>, code: StatusCode, entry: &Arc<Entry>) -> ApiResult<Response<Body>> {
    let (view, encoding) = view(call, false)?;
    Ok(send(code, view.object(entry), encoding, call.headers))
}

fn outcome(call: &Call<'_>, code: StatusCode, outcome: Outcome) -> ApiResult<Response<Body>> {
    match outcome {
        Outcome::Stored(entry) => stored(call, code, &entry),
        Outcome::Shown(mut object) => {
            convert::from_storage(&call.resource, call.version(), &mut object)?;
            let (view, encoding) = view(call, false)?;
            Ok(reply::value(code, &view.shape(&object, true), encoding, call.headers))
        }
    }
}

fn get(call: &Call<'_>) -> ApiResult<Response<Body>> {
    let watching = call.query.watch || call.target.watch;
    if watching && call.target.subresource.is_none() {
        return open_watch(call);
    }
    let Some(name) = &call.target.name else { return get_list(call) };
    let snapshot = call.server.store.snapshot();
    if let Some(wanted) = call.query.resource_version.filter(|rv| *rv > snapshot.revision()) {
        return Err(ApiError::revision_in_future(wanted, snapshot.revision()));
    }
    let entry = snapshot
        .get(&call.key())
        .ok_or_else(|| ApiError::not_found(&call.resource.group_resource(), name))?;
    if call.target.subresource.as_deref() == Some("scale") {
        let (_, encoding) = view(call, false)?;
        return Ok(reply::value(
            StatusCode::OK,
            &scale::read(call, entry)?,
            encoding,
            call.headers,
        ));
    }
    stored(call, StatusCode::OK, entry)
}

fn get_list(call: &Call<'_>) -> ApiResult<Response<Body>> {
    let (view, encoding) = view(call, false)?;
    let selection = Selection::new(&call.resource, call.version, call.target, call.query)?;
    let page = list::list(&call.server.store, &selection, call.query)?;
    Ok(send(StatusCode::OK, view.list(&page.entries, &page.meta), encoding, call.headers))
}

fn open_watch(call: &Call<'_>) -> ApiResult<Response<Body>> {
    let (view, _) = view(call, true)?;
    let selection = Selection::new(&call.resource, call.version, call.target, call.query)?;
    let stopping = call.server.stopping.subscribe();
    let place = call.server.gates.watch()?;
    let body = match watch::open(&call.server.store, selection, view, call.query, stopping) {
        // The place is free again when the client hangs up and the stream is dropped.
        Ok(stream) => Body::stream(stream.inspect(move |_| {
            let _held = &place;
        })),
        // Clients expect an expired watch to begin and then to say so.
        Err(error) if error.code == 410 => Body::whole(watch::error_frame(&error)),
        Err(error) => return Err(error),
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/json;stream=watch"),
    );
    headers
        .insert(http::header::CACHE_CONTROL, http::HeaderValue::from_static("no-cache, private"));
    Ok(response)
}

async fn post(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<Response<Body>> {
    if let Some(answer) = access::token(call, bytes) {
        return Ok(reply::value(StatusCode::CREATED, &answer?, Encoding::Json, call.headers));
    }
    match call.target.subresource.as_deref() {
        Some("binding") => {
            binding::bind(call, bytes).await?;
            return Ok(done(call));
        }
        Some("eviction") => {
            eviction::evict(call, bytes).await?;
            return Ok(done(call));
        }
        _ if call.target.name.is_some() => return Err(ApiError::method_not_allowed()),
        _ => {}
    }
    if call.resource.strategy.virtual_only && call.resource.kind == "Binding" {
        binding::bind(call, bytes).await?;
        return Ok(done(call));
    }
    if call.resource.strategy.virtual_only {
        let (_, encoding) = view(call, false)?;
        let review = access::review(call, bytes)?;
        return Ok(reply::value(StatusCode::CREATED, &review, encoding, call.headers));
    }
    let created = create::create(call, bytes).await?;
    outcome(call, StatusCode::CREATED, created)
}

async fn put(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<Response<Body>> {
    if call.target.name.is_none() {
        return Err(ApiError::method_not_allowed());
    }
    if call.target.subresource.as_deref() == Some("scale") {
        let (_, encoding) = view(call, false)?;
        let scale = scale::write(call, bytes, false).await?;
        return Ok(reply::value(StatusCode::OK, &scale, encoding, call.headers));
    }
    let (written, created) = update::update(call, bytes).await?;
    outcome(call, if created { StatusCode::CREATED } else { StatusCode::OK }, written)
}

async fn patch_object(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<Response<Body>> {
    if call.target.name.is_none() || call.target.subresource.as_deref() == Some("finalize") {
        return Err(ApiError::method_not_allowed());
    }
    let applies = negotiate::content_type(call.headers) == apply::MEDIA_TYPE;
    if call.query.force && !applies {
        let error = FieldError::forbidden(
            &FieldPath::new("force"),
            "may not be specified for non-apply patch",
        );
        return Err(invalid_option("PatchOptions", error));
    }
    if call.target.subresource.as_deref() == Some("scale") {
        let (_, encoding) = view(call, false)?;
        let scale = scale::write(call, bytes, true).await?;
        return Ok(reply::value(StatusCode::OK, &scale, encoding, call.headers));
    }
    if applies {
        let (applied, created) = apply::apply(call, bytes).await?;
        return outcome(call, if created { StatusCode::CREATED } else { StatusCode::OK }, applied);
    }
    let patched = patch::patch(call, bytes).await?;
    outcome(call, StatusCode::OK, patched)
}

async fn delete_objects(call: &mut Call<'_>, bytes: &[u8]) -> ApiResult<Response<Body>> {
    if call.target.subresource.is_some() {
        return Err(ApiError::method_not_allowed());
    }
    let (options, dry_run) = delete::Options::read(call, bytes)?;
    if call.target.name.is_none() {
        let whole_cluster = call.resource.namespaced && call.target.namespace.is_none();
        if whole_cluster || (call.resource.group.is_empty() && call.resource.kind == "Namespace") {
            return Err(ApiError::method_not_allowed());
        }
        let page = delete::delete_collection(call, &options, dry_run).await?;
        let (view, encoding) = view(call, false)?;
        return Ok(send(
            StatusCode::OK,
            view.list(&page.entries, &page.meta),
            encoding,
            call.headers,
        ));
    }
    match delete::delete(call, &options, dry_run).await? {
        // As upstream: kinds with a grace period answer with the object, gone or not.
        delete::Deleted::Gone(entry) if call.resource.strategy.graceful => {
            stored(call, StatusCode::OK, &entry)
        }
        delete::Deleted::Gone(entry) => Ok(success(call, &entry.meta.name, &entry.meta.uid)),
        delete::Deleted::Marked(entry) => stored(call, StatusCode::OK, &entry),
        delete::Deleted::Would { object, gone } if gone && !call.resource.strategy.graceful => {
            Ok(success(call, object::name(&object), object::uid(&object)))
        }
        delete::Deleted::Would { object, .. } => {
            outcome(call, StatusCode::OK, Outcome::Shown(object))
        }
    }
}

/// The Status of what is done and is no object.
fn done(call: &Call<'_>) -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    });
    reply::value(StatusCode::CREATED, &status, Encoding::Json, call.headers)
}

/// The Status of a deletion that is done. kubectl compares the uid.
fn success(call: &Call<'_>, name: &str, uid: &str) -> Response<Body> {
    let mut details = json!({"name": name, "kind": call.resource.plural, "uid": uid});
    if !call.resource.group.is_empty() {
        details["group"] = call.resource.group.as_str().into();
    }
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
    });
    reply::value(StatusCode::OK, &status, Encoding::Json, call.headers)
}
