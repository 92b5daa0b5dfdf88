//! Servers.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::flavors::{FLAVOR, missing};
use super::nics::{self, Nic};
use super::refusal::Refusal;
use super::{Call, actions, hosts, keypairs, metadata, other, quotas, view};
use crate::chance::hex;
use crate::image::IMAGE;
use crate::network::resources::ports::PORT;
use crate::object::Object;
use crate::request::Response;
use crate::state::{Kind, State, Tx};

/// The one availability zone.
pub const ZONE: &str = "nova";
/// The most servers of one call.
const MOST: u64 = 100;

pub static SERVER: Kind = Kind {
    name: "server",
    index: |server, keys| {
        keys.add("project_id", server.project());
        keys.add("name", server.text("name"));
    },
    blanks: &[],
};

pub fn route(tx: &mut Tx<'_>, call: &Call<'_>, parts: &[&str]) -> Result<Response, Refusal> {
    match (&call.request.method, parts) {
        (&Method::GET, []) => list(tx, call, false),
        (&Method::GET, ["detail"]) => list(tx, call, true),
        (&Method::POST, []) => create(tx, call),
        (&Method::GET, [id]) => {
            let server = known(tx, call, id)?;
            Ok(ok(&json!({"server": view::server(tx, call, &server)})))
        }
        (&Method::PUT, [id]) => update(tx, call, id),
        (&Method::DELETE, [id]) => delete(tx, call, id),
        (&Method::POST, [id, "action"]) => {
            let server = changeable(tx, call, id)?;
            actions::run(tx, call, server)
        }
        (method, [id, "os-interface", rest @ ..]) => interfaces(tx, call, method, id, rest),
        (_, [id, "metadata", rest @ ..]) => metadata::route(tx, call, id, rest),
        (&Method::GET, [id, part]) => {
            let server = known(tx, call, id)?;
            let body = match *part {
                "os-security-groups" => json!({"security_groups": view::groups(tx, id)}),
                "tags" => json!({"tags": server.get("tags")}),
                "ips" => json!({"addresses": view::server(tx, call, &server)["addresses"]}),
                "os-instance-actions" => json!({"instanceActions": []}),
                "os-volume_attachments" => json!({"volumeAttachments": []}),
                _ => return Err(Refusal::gone()),
            };
            Ok(ok(&body))
        }
        _ => Err(Refusal::gone()),
    }
}

fn ok(body: &Value) -> Response {
    Response::json(StatusCode::OK, body)
}

/// The server, if it is there for the caller.
pub fn known(state: &State, call: &Call<'_>, id: &str) -> Result<Object, Refusal> {
    let seen = |server: &Object| call.who.is_admin() || call.who.is_reader_of(server.project());
    let server = state.get(&SERVER, id).filter(seen);
    server.ok_or_else(|| Refusal::missing(format!("Instance {id} could not be found.")))
}

/// The same, if the caller may change it.
pub fn changeable(state: &State, call: &Call<'_>, id: &str) -> Result<Object, Refusal> {
    let server = known(state, call, id)?;
    if call.who.is_admin() || call.who.is_member_of(server.project()) {
        return Ok(server);
    }
    Err(Refusal::policy("os_compute_api:servers:update"))
}

fn list(tx: &Tx<'_>, call: &Call<'_>, detail: bool) -> Result<Response, Refusal> {
    let query = |name: &str| call.request.query_one(name);
    let truth = |text: &str| ["1", "true", "yes", ""].contains(&text.to_lowercase().as_str());
    let all = ["all_tenants", "all_projects"].iter().any(|name| query(name).is_some_and(truth));
    if all && !call.who.is_admin() {
        return Err(Refusal::policy("os_compute_api:servers:index:get_all_tenants"));
    }
    let holds = |server: &Object| {
        let text = |name: &str, held: &str| query(name).is_none_or(|wanted| wanted == held);
        let flavor = server.get("flavor").get("id").and_then(Value::as_str).unwrap_or_default();
        (all || server.project() == call.who.project())
            && query("name").is_none_or(|name| server.text("name").contains(name))
            && query("status")
                .is_none_or(|status| server.text("status").eq_ignore_ascii_case(status))
            && text("host", server.text("host"))
            && text("uuid", server.id())
            && text("user_id", server.text("user_id"))
            && text("flavor", flavor)
            && text("image", server.text("image"))
            && (!all || text("project_id", server.project()))
    };
    let mut servers: Vec<Object> = tx.all(&SERVER).filter(holds).collect();
    // The newest first, as Nova has it.
    servers.sort_by(|a, b| (b.text("created"), b.id()).cmp(&(a.text("created"), a.id())));
    let total = servers.len();
    let servers = other::page(call, servers);
    let shown = |server: &Object| {
        if detail {
            return view::server(tx, call, server);
        }
        json!({
            "id": server.id(), "name": server.text("name"), "links": view::links(call, server.id()),
        })
    };
    let mut body = json!({"servers": servers.iter().map(shown).collect::<Vec<_>>()});
    if let (Some(last), true) = (servers.last(), query("limit").is_some() && servers.len() < total)
    {
        let path = if detail { "servers/detail" } else { "servers" };
        let limit = query("limit").unwrap_or_default();
        let href = call.url(&format!("{path}?limit={limit}&marker={}", last.id()));
        body["servers_links"] = json!([{"rel": "next", "href": href}]);
    }
    Ok(ok(&body))
}

fn create(tx: &mut Tx<'_>, call: &Call<'_>) -> Result<Response, Refusal> {
    let who = call.who;
    if !(who.is_admin() || who.is_member_of(who.project())) {
        return Err(Refusal::policy("os_compute_api:servers:create"));
    }
    let body = call.body()?;
    let given = body.get("server").filter(|server| server.is_object());
    let given = given.ok_or_else(|| missing("server"))?;
    if call.micro.has(37) && given.get("networks").is_none() {
        return Err(missing("networks"));
    }
    let template = template(tx, call, given)?;
    let count = given.get("min_count").or_else(|| given.get("max_count"));
    let count = count.and_then(|n| n.as_u64().or_else(|| n.as_str()?.parse().ok())).unwrap_or(1);
    if !(1..=MOST).contains(&count) {
        return Err(Refusal::bad(format!("{count} servers in one call: it can be 1 to {MOST}")));
    }
    quotas::room(tx, &template, i64::try_from(count).unwrap_or(i64::MAX))?;
    let names: Vec<&str> = given
        .get("security_groups")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|group| group.get("name").and_then(Value::as_str))
        .collect();
    let groups = nics::groups(tx, who, &names)?;
    let mut first = None;
    for number in 1..=count {
        let mut server = template.clone();
        let id = tx.chance.uuid();
        if count > 1 {
            let name = format!("{}-{number}", server.text("name"));
            server.set("name", name);
        }
        if server.some_text("host").is_none() {
            server.set("host", hosts::least(tx));
        }
        let digest = ring::digest::digest(
            &ring::digest::SHA256,
            format!("{}{}", server.project(), server.text("host")).as_bytes(),
        );
        let host: String = hex(digest.as_ref()).chars().take(56).collect();
        server.set("id", id.clone());
        server.set("host_id", host);
        let nics: Vec<Nic> = match nics::wanted(given.get("networks"))? {
            Some(nics) => nics,
            None => nics::found(tx, who)?,
        };
        let mut made: Vec<String> = Vec::new();
        for nic in &nics {
            let (port, ours) = nics::plug(tx, who, &server, nic, &groups)?;
            made.extend(ours.then_some(port));
        }
        server.set("made_ports", made);
        tx.put(&SERVER, server);
        first.get_or_insert(id);
    }
    let id = first.unwrap_or_default();
    let groups: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    let password = tx.chance.hex_id();
    let answer = json!({"server": {
        "id": id, "links": view::links(call, &id), "OS-DCF:diskConfig": "MANUAL",
        "security_groups": if groups.is_empty() { json!([{"name": "default"}]) } else { json!(groups) },
        "adminPass": password.get(..12).unwrap_or_default(),
    }});
    Ok(Response::json(StatusCode::ACCEPTED, &answer)
        .with("location", call.url(&format!("servers/{id}"))))
}

/// A server as the call describes it, without its id and ports, and without a host where none is named.
fn template(tx: &Tx<'_>, call: &Call<'_>, given: &Value) -> Result<Object, Refusal> {
    let text = |name: &str| given.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let name = text("name").map(str::trim).filter(|name| !name.is_empty() && name.len() <= 255);
    let name = name.ok_or_else(|| missing("name"))?;
    let flavor = text("flavorRef").ok_or_else(|| missing("flavorRef"))?;
    let flavor = flavor.rsplit('/').next().unwrap_or_default();
    let flavor = tx
        .get(&FLAVOR, flavor)
        .ok_or_else(|| Refusal::bad(format!("Flavor {flavor} could not be found.")))?;
    let image = text("imageRef").map(|image| image.rsplit('/').next().unwrap_or_default());
    if image.is_none() && given.get("block_device_mapping_v2").is_none() {
        return Err(Refusal::bad("Invalid imageRef provided."));
    }
    if image.is_some_and(|id| !tx.exists(&IMAGE, id)) {
        return Err(Refusal::bad("Can not find requested image"));
    }
    let key = text("key_name");
    if key.is_some_and(|name| keypairs::find(tx, &call.who.user.id, name).is_none()) {
        return Err(Refusal::bad("Invalid key_name provided."));
    }
    let zone = text("availability_zone").unwrap_or(ZONE);
    let (zone, forced) = zone.split_once(':').map_or((zone, None), |(z, host)| (z, Some(host)));
    let host = forced.filter(|host| !host.is_empty()).or(text("host"));
    if let Some(host) = host {
        call.admin("os_compute_api:servers:create:forced_host")?;
        hosts::named(tx, host)?;
    }
    if zone != ZONE {
        return Err(Refusal::bad("The requested availability zone is not available"));
    }
    let metadata = metadata::check(given.get("metadata").cloned().unwrap_or_else(|| json!({})))?;
    let now = tx.timestamp();
    Ok(Object::from_value(json!({
        "name": name, "project_id": call.who.project(), "user_id": call.who.user.id,
        "status": "ACTIVE", "created": now, "updated": now, "launched_at": now,
        "flavor": flavor.0, "image": image, "key_name": key, "locked": false,
        "metadata": metadata,
        "availability_zone": zone, "host": host,
        "hostname": text("hostname").map_or_else(|| hostname(name), str::to_owned),
        "description": given.get("description").cloned().unwrap_or_default(),
        "tags": given.get("tags").cloned().unwrap_or_else(|| json!([])),
        "user_data": given.get("user_data").cloned().unwrap_or_default(),
        "config_drive": given.get("config_drive").is_some_and(|drive| drive == true || drive == "true"),
    })))
}

/// A name as a host can have it.
fn hostname(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let host: String = name.chars().map(plain).take(63).collect();
    host.trim_matches('-').to_owned()
}

fn update(tx: &mut Tx<'_>, call: &Call<'_>, id: &str) -> Result<Response, Refusal> {
    let mut server = changeable(tx, call, id)?;
    let body = call.body()?;
    let given = body.get("server").and_then(Value::as_object).ok_or_else(|| missing("server"))?;
    for (name, value) in given {
        match name.as_str() {
            "name" if value.as_str().is_some_and(|n| !n.trim().is_empty() && n.len() <= 255) => {}
            "description" | "hostname" if value.is_string() || value.is_null() => {}
            "accessIPv4" | "accessIPv6" | "OS-DCF:diskConfig" => continue,
            _ => return Err(Refusal::bad(format!("Invalid input for field/attribute {name}."))),
        }
        server.set(name, value.clone());
    }
    server.set("updated", tx.timestamp());
    tx.put(&SERVER, server.clone());
    Ok(ok(&json!({"server": view::server(tx, call, &server)})))
}

fn delete(tx: &mut Tx<'_>, call: &Call<'_>, id: &str) -> Result<Response, Refusal> {
    let server = changeable(tx, call, id)?;
    if server.flag("locked") && !call.who.is_admin() {
        return Err(Refusal::conflict(format!("Instance {id} is locked")));
    }
    let ports: Vec<Object> = nics::of(tx, id).collect();
    for port in &ports {
        let made = server.texts("made_ports").any(|held| held == port.id());
        nics::unplug(tx, call.who, port, made)?;
    }
    tx.delete(&SERVER, id);
    Ok(Response::empty(StatusCode::NO_CONTENT))
}

fn interfaces(
    tx: &mut Tx<'_>,
    call: &Call<'_>,
    method: &Method,
    id: &str,
    rest: &[&str],
) -> Result<Response, Refusal> {
    let mut server = match *method {
        Method::GET => known(tx, call, id)?,
        _ => changeable(tx, call, id)?,
    };
    let none = |port: &str| Refusal::missing(format!("Port id {port} could not be found."));
    match (method, rest) {
        (&Method::GET, []) => {
            let shown: Vec<Value> =
                nics::of(tx, id).map(|port| view::interface(tx, port.id())).collect();
            Ok(ok(&json!({"interfaceAttachments": shown})))
        }
        (&Method::GET, [port]) => {
            let held = tx.get(PORT.kind, port).filter(|port| port.text("device_id") == id);
            held.ok_or_else(|| none(port))?;
            Ok(ok(&json!({"interfaceAttachment": view::interface(tx, port)})))
        }
        (&Method::POST, []) => {
            let body = call.body()?;
            let given = body.get("interfaceAttachment").cloned().unwrap_or_default();
            let text = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
            let address =
                given.pointer("/fixed_ips/0/ip_address").and_then(Value::as_str).map(str::to_owned);
            let nic = match (text("port_id"), text("net_id")) {
                (Some(_), Some(_)) => {
                    return Err(Refusal::bad("Must not input both network_id and port_id"));
                }
                (Some(port), None) => Nic::Port(port),
                (None, Some(network)) => Nic::Network(network, address),
                (None, None) => nics::found(tx, call.who)?
                    .pop()
                    .ok_or_else(|| Refusal::bad("No suitable network found to attach"))?,
            };
            let (port, made) = nics::plug(tx, call.who, &server, &nic, &[])?;
            if made {
                let mut all = server.list("made_ports").to_vec();
                all.push(port.as_str().into());
                server.set("made_ports", all);
            }
            tx.put(&SERVER, server);
            Ok(ok(&json!({"interfaceAttachment": view::interface(tx, &port)})))
        }
        (&Method::DELETE, [port]) => {
            let held = tx.get(PORT.kind, port).filter(|port| port.text("device_id") == id);
            let held = held.ok_or_else(|| none(port))?;
            let made = server.texts("made_ports").any(|made| made == *port);
            nics::unplug(tx, call.who, &held, made)?;
            let rest: Vec<String> =
                server.texts("made_ports").filter(|made| made != port).map(str::to_owned).collect();
            server.set("made_ports", rest);
            tx.put(&SERVER, server);
            Ok(Response::empty(StatusCode::ACCEPTED))
        }
        _ => Err(Refusal::gone()),
    }
}
