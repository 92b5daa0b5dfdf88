//! Glance v2: images as names with properties. What is uploaded is measured and let go: nothing here boots from it.

mod patch;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::chance::hex;
use crate::object::Object;
use crate::request::{Request, Response};
use crate::state::{Kind, State, Tx};

pub static IMAGE: Kind =
    Kind { name: "image", index: |image, keys| keys.add("name", image.text("name")), blanks: &[] };

/// The tables.
pub static KINDS: &[&Kind] = &[&IMAGE];

/// What only the service sets.
const FIXED: [&str; 13] = [
    "id",
    "created_at",
    "updated_at",
    "status",
    "checksum",
    "os_hash_algo",
    "os_hash_value",
    "size",
    "virtual_size",
    "self",
    "file",
    "schema",
    "direct_url",
];
const VISIBILITIES: [&str; 4] = ["public", "private", "shared", "community"];
/// The most members of an image.
const MEMBERS: usize = 128;

/// A refusal: status and words.
struct Refusal(u16, String);

impl Refusal {
    fn new(status: u16, message: impl Into<String>) -> Self {
        Self(status, message.into())
    }

    fn missing(id: &str) -> Self {
        Self::new(404, format!("Failed to find image {id}"))
    }

    /// Glance answers in HTML; its clients take the first line that is none.
    fn response(&self) -> Response {
        let status = StatusCode::from_u16(self.0).unwrap_or(StatusCode::BAD_REQUEST);
        let title = format!("{} {}", self.0, status.canonical_reason().unwrap_or_default());
        let words = self.1.replace('&', "&amp;").replace('<', "&lt;");
        let html = format!(
            "<html>\n <head>\n  <title>{title}</title>\n </head>\n <body>\n  <h1>{title}</h1>\n  \
             {words}<br /><br />\n </body>\n</html>"
        );
        let mut response = Response::empty(status).with("content-type", "text/html; charset=UTF-8");
        response.body = html.into();
        response
    }
}

/// Answers a call.
pub fn handle(tx: &mut Tx<'_>, request: &Request) -> Response {
    let parts = request.parts();
    if matches!(parts.as_slice(), [] | ["versions"]) {
        let version = |id: &str, status: &str| {
            let links = json!([{"rel": "self", "href": format!("{}/v2/", request.base)}]);
            json!({"id": id, "status": status, "links": links})
        };
        let body = json!({"versions": [version("v2.9", "CURRENT"), version("v2.0", "SUPPORTED")]});
        let status = if parts.is_empty() { StatusCode::MULTIPLE_CHOICES } else { StatusCode::OK };
        return Response::json(status, &body);
    }
    let who = match crate::identity::authenticate(tx, tx.config, tx.now, request) {
        Ok(who) => who,
        Err(response) => return response,
    };
    route(tx, &who, request, &parts).unwrap_or_else(|refusal| refusal.response())
}

fn route(
    tx: &mut Tx<'_>,
    who: &Caller,
    request: &Request,
    parts: &[&str],
) -> Result<Response, Refusal> {
    let ok = |body: &Value| Ok(Response::json(StatusCode::OK, body));
    match (&request.method, parts) {
        (&Method::GET, ["v2", "images"]) => ok(&list(tx, who, request)),
        (&Method::POST, ["v2", "images"]) => create(tx, who, request),
        (&Method::GET, ["v2", "images", id]) => ok(&shown(&seen(tx, who, id)?)),
        (&Method::PATCH, ["v2", "images", id]) => {
            let image = owned(tx, who, id)?;
            let mut image =
                patch::apply(image, &request.body).map_err(|why| Refusal::new(400, why))?;
            checked(&image)?;
            image.set("updated_at", tx.timestamp());
            tx.put(&IMAGE, image.clone());
            ok(&shown(&image))
        }
        (&Method::DELETE, ["v2", "images", id]) => {
            let image = owned(tx, who, id)?;
            if image.flag("protected") {
                let message = format!("Image {id} is protected and cannot be deleted.");
                return Err(Refusal::new(403, message));
            }
            tx.delete(&IMAGE, id);
            Ok(Response::empty(StatusCode::NO_CONTENT))
        }
        (&Method::PUT, ["v2", "images", id, "file"]) => upload(tx, who, request, id),
        (&Method::PUT | &Method::DELETE, ["v2", "images", id, "tags", tag]) => {
            let mut image = owned(tx, who, id)?;
            let mut tags: Vec<String> = image.texts("tags").map(str::to_owned).collect();
            tags.retain(|held| held != tag);
            if request.method == Method::PUT {
                tags.push((*tag).to_owned());
            }
            image.set("tags", tags);
            tx.put(&IMAGE, image);
            Ok(Response::empty(StatusCode::NO_CONTENT))
        }
        (&Method::GET, ["v2", "images", id, "members"]) => {
            seen(tx, who, id)?;
            ok(&json!({"members": [], "schema": "/v2/schemas/members"}))
        }
        (&Method::GET, ["v2", "schemas", name]) => {
            ok(&json!({"name": name, "properties": {}, "additionalProperties": {"type": "string"}}))
        }
        _ => Err(Refusal::new(404, "The resource could not be found.")),
    }
}

fn visible(who: &Caller, image: &Object) -> bool {
    who.is_admin()
        || ["public", "community"].contains(&image.text("visibility"))
        || who.is_reader_of(image.text("owner"))
}

fn seen(state: &State, who: &Caller, id: &str) -> Result<Object, Refusal> {
    let image = state.get(&IMAGE, id).filter(|image| visible(who, image));
    image.ok_or_else(|| Refusal::missing(id))
}

fn owned(state: &State, who: &Caller, id: &str) -> Result<Object, Refusal> {
    let image = seen(state, who, id)?;
    if who.is_admin() || who.is_member_of(image.text("owner")) {
        return Ok(image);
    }
    Err(Refusal::new(403, "You are not authorized to complete this action."))
}

fn list(tx: &Tx<'_>, who: &Caller, request: &Request) -> Value {
    let query = |name: &str| request.query_one(name);
    let holds = |image: &Object| {
        let text = |name: &str| {
            let wanted = query(name).filter(|wanted| name != "visibility" || *wanted != "all");
            wanted.is_none_or(|wanted| wanted == image.text(name))
        };
        // Images of the community are listed only for who asks for them.
        let listed = image.text("visibility") != "community" || query("visibility").is_some();
        let tagged =
            request.query_all("tag").all(|tag| image.texts("tags").any(|held| held == tag));
        let fits =
            ["id", "name", "status", "owner", "visibility", "disk_format", "container_format"];
        visible(who, image) && listed && tagged && fits.into_iter().all(text)
    };
    let mut images: Vec<Object> = tx.all(&IMAGE).filter(holds).collect();
    images.sort_by(|a, b| (b.text("created_at"), b.id()).cmp(&(a.text("created_at"), a.id())));
    if let Some(marker) = query("marker") {
        let at = images.iter().position(|image| image.id() == marker).map_or(0, |at| at + 1);
        images.drain(..at);
    }
    let limit = query("limit").and_then(|text| text.parse::<usize>().ok()).unwrap_or(25).min(1000);
    let more = images.len() > limit;
    images.truncate(limit);
    let mut body = json!({
        "images": images.iter().map(shown).collect::<Vec<_>>(),
        "schema": "/v2/schemas/images", "first": "/v2/images",
    });
    if let (true, Some(last)) = (more, images.last()) {
        body["next"] = format!("/v2/images?limit={limit}&marker={}", last.id()).into();
    }
    body
}

fn shown(image: &Object) -> Value {
    let id = image.id().to_owned();
    let mut shown = image.clone();
    shown.set("self", format!("/v2/images/{id}"));
    shown.set("file", format!("/v2/images/{id}/file"));
    shown.set("schema", "/v2/schemas/image");
    shown.into()
}

fn create(tx: &mut Tx<'_>, who: &Caller, request: &Request) -> Result<Response, Refusal> {
    if !(who.is_admin() || who.is_member_of(who.project())) {
        return Err(Refusal::new(403, "You are not authorized to complete this action."));
    }
    let given = serde_json::from_slice::<Value>(&request.body).ok();
    let Some(Value::Object(given)) = given else {
        return Err(Refusal::new(400, "Malformed JSON in request body."));
    };
    if let Some(name) = given.keys().find(|name| FIXED[1..].contains(&name.as_str())) {
        return Err(Refusal::new(403, format!("Attribute '{name}' is read-only.")));
    }
    let id = match given.get("id").and_then(Value::as_str) {
        Some(id) if crate::network::check::is_uuid(id) => id.to_owned(),
        Some(_) => return Err(Refusal::new(400, "Invalid image id format")),
        None => tx.chance.uuid(),
    };
    if tx.exists(&IMAGE, &id) {
        return Err(Refusal::new(409, format!("Image ID {id} already exists!")));
    }
    let now = tx.timestamp();
    let mut image = Object::from_value(json!({
        "name": null, "owner": who.project(), "visibility": "shared", "status": "queued",
        "protected": false, "min_disk": 0, "min_ram": 0, "tags": [], "os_hidden": false,
        "container_format": null, "disk_format": null, "size": null, "virtual_size": null,
        "checksum": null, "os_hash_algo": null, "os_hash_value": null,
        "created_at": now, "updated_at": now,
    }));
    image.merge(Object(given));
    image.set("id", id.clone());
    checked(&image)?;
    if image.text("visibility") == "public" && !who.is_admin() {
        return Err(Refusal::new(
            403,
            "You are not authorized to complete publicize_image action.",
        ));
    }
    if image.text("owner") != who.project() && !who.is_admin() {
        return Err(Refusal::new(403, "You are not permitted to create images owned by others."));
    }
    tx.put(&IMAGE, image.clone());
    let response = Response::json(StatusCode::CREATED, &shown(&image));
    Ok(response.with("location", format!("{}/v2/images/{id}", request.base)))
}

/// What every image has to be.
fn checked(image: &Object) -> Result<(), Refusal> {
    let wrong = |what: &str| Err(Refusal::new(400, format!("Invalid value for attribute {what}.")));
    if image.0.len() > MEMBERS {
        return Err(Refusal::new(413, format!("An image has at most {MEMBERS} properties.")));
    }
    if !VISIBILITIES.contains(&image.text("visibility")) {
        return wrong("visibility");
    }
    for name in ["min_disk", "min_ram"] {
        if !image.number(name).is_some_and(|number| (0..=2_147_483_647).contains(&number)) {
            return wrong(name);
        }
    }
    if !image.get("name").is_null() && image.text("name").chars().count() > 255 {
        return wrong("name");
    }
    if !image.get("tags").is_array() || !image.get("protected").is_boolean() {
        return wrong("tags or protected");
    }
    Ok(())
}

fn upload(tx: &mut Tx<'_>, who: &Caller, request: &Request, id: &str) -> Result<Response, Refusal> {
    let mut image = owned(tx, who, id)?;
    if image.text("status") != "queued" {
        return Err(Refusal::new(
            409,
            format!(
                "Image status transition from {} to saving is not allowed",
                image.text("status")
            ),
        ));
    }
    for name in ["disk_format", "container_format"] {
        if image.some_text(name).is_none() {
            return Err(Refusal::new(
                400,
                format!("Properties {name} must be set prior to saving data."),
            ));
        }
    }
    let digest = ring::digest::digest(&ring::digest::SHA512, &request.body);
    image.set("size", request.body.len());
    image.set("os_hash_algo", "sha512");
    image.set("os_hash_value", hex(digest.as_ref()));
    image.set("status", "active");
    image.set("updated_at", tx.timestamp());
    tx.put(&IMAGE, image);
    Ok(Response::empty(StatusCode::NO_CONTENT))
}
