//! What clients ask for around servers: zones, hypervisors, quotas, limits.

use http::StatusCode;
use serde_json::{Value, json};

use super::Call;
use super::refusal::Refusal;
use super::servers::{HOST, SERVER, ZONE};
use crate::object::Object;
use crate::request::Response;
use crate::state::Tx;

/// Quotas of Nova: the names that clients expect; none is bounded here.
const QUOTAS: [&str; 9] = [
    "cores",
    "instances",
    "key_pairs",
    "metadata_items",
    "ram",
    "server_groups",
    "server_group_members",
    "injected_files",
    "injected_file_content_bytes",
];

pub fn route(tx: &Tx<'_>, call: &Call<'_>, parts: &[&str]) -> Result<Response, Refusal> {
    let body = match parts {
        ["os-availability-zone"] => zones(tx, false),
        ["os-availability-zone", "detail"] => {
            call.admin("os_compute_api:os-availability-zone:detail")?;
            zones(tx, true)
        }
        ["os-hypervisors"] => json!({"hypervisors": hypervisors(tx, call, false)?}),
        ["os-hypervisors", "detail"] => json!({"hypervisors": hypervisors(tx, call, true)?}),
        ["os-services"] => {
            call.admin("os_compute_api:os-services:list")?;
            json!({"services": services(tx)})
        }
        ["os-server-groups"] => json!({"server_groups": []}),
        ["os-aggregates"] => {
            call.admin("os_compute_api:os-aggregates:index")?;
            json!({"aggregates": []})
        }
        ["limits"] => json!({"limits": {"rate": [], "absolute": absolute(tx, call)}}),
        ["os-quota-sets", project] | ["os-quota-sets", project, "defaults"] => {
            quotas(project, None)
        }
        ["os-quota-sets", project, "detail"] => quotas(project, Some(tx)),
        ["extensions"] => json!({"extensions": []}),
        _ => return Err(Refusal::gone()),
    };
    Ok(Response::json(StatusCode::OK, &body))
}

/// The part of a list that the call asks for by `marker` and `limit`.
pub fn page(call: &Call<'_>, objects: Vec<Object>) -> Vec<Object> {
    let marker = call.request.query_one("marker");
    let start = marker.and_then(|id| objects.iter().position(|object| object.id() == id));
    let limit = call.request.query_one("limit").and_then(|text| text.parse::<usize>().ok());
    let rest = objects.into_iter().skip(start.map_or(0, |at| at + 1));
    rest.take(limit.filter(|limit| *limit > 0).unwrap_or(1000)).collect()
}

/// The hosts that servers are on, and the one that they go to when they do not say.
fn hosts(tx: &Tx<'_>) -> Vec<String> {
    let mut hosts: Vec<String> =
        tx.all(&SERVER).map(|server| server.text("host").to_owned()).collect();
    hosts.push(HOST.to_owned());
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

fn zones(tx: &Tx<'_>, detail: bool) -> Value {
    let hosts = detail.then(|| {
        let state = json!({"nova-compute": {"available": true, "active": true, "updated_at": tx.timestamp()}});
        hosts(tx).into_iter().map(|host| (host, state.clone())).collect::<Value>()
    });
    let zone = json!({"zoneName": ZONE, "zoneState": {"available": true}, "hosts": hosts});
    json!({"availabilityZoneInfo": [zone]})
}

fn hypervisors(tx: &Tx<'_>, call: &Call<'_>, detail: bool) -> Result<Vec<Value>, Refusal> {
    call.admin("os_compute_api:os-hypervisors:list")?;
    let servers: Vec<Object> = tx.all(&SERVER).collect();
    let shown = |(number, host): (usize, String)| {
        let running = servers.iter().filter(|server| server.text("host") == host).count();
        let mut shown = json!({
            "id": number + 1, "hypervisor_hostname": host, "state": "up", "status": "enabled",
        });
        if let (true, Some(map)) = (detail, shown.as_object_mut()) {
            let more = json!({
                "hypervisor_type": "landbridge", "hypervisor_version": 1, "host_ip": "127.0.0.1",
                "running_vms": running, "vcpus": 0, "vcpus_used": 0, "memory_mb": 0,
                "memory_mb_used": 0, "local_gb": 0, "local_gb_used": 0, "cpu_info": "",
                "service": {"id": number + 1, "host": host, "disabled_reason": null},
            });
            map.extend(more.as_object().cloned().unwrap_or_default());
        }
        shown
    };
    Ok(hosts(tx).into_iter().enumerate().map(shown).collect())
}

fn services(tx: &Tx<'_>) -> Vec<Value> {
    let of = |(number, host): (usize, String)| {
        json!({
            "id": number + 1, "binary": "nova-compute", "host": host, "zone": ZONE,
            "status": "enabled", "state": "up", "updated_at": tx.timestamp(),
            "disabled_reason": null, "forced_down": false,
        })
    };
    hosts(tx).into_iter().enumerate().map(of).collect()
}

fn used(tx: &Tx<'_>, project: &str) -> (u32, i64, i64) {
    let servers = tx.find(&SERVER, "project_id", project);
    servers.fold((0, 0, 0), |(count, cores, ram), server| {
        let of = |name: &str| server.get("flavor").get(name).and_then(Value::as_i64).unwrap_or(0);
        (count + 1, cores + of("vcpus"), ram + of("ram"))
    })
}

fn absolute(tx: &Tx<'_>, call: &Call<'_>) -> Value {
    let (count, cores, ram) = used(tx, call.who.project());
    json!({
        "maxTotalInstances": -1, "maxTotalCores": -1, "maxTotalRAMSize": -1, "maxServerMeta": -1,
        "maxTotalKeypairs": -1, "maxServerGroups": -1, "maxServerGroupMembers": -1,
        "totalInstancesUsed": count, "totalCoresUsed": cores, "totalRAMUsed": ram,
        "totalServerGroupsUsed": 0,
    })
}

fn quotas(project: &str, details: Option<&Tx<'_>>) -> Value {
    let in_use = details.map(|tx| used(tx, project));
    let of = |name: &str| match in_use {
        None => json!(-1),
        Some((count, cores, ram)) => {
            let used = match name {
                "instances" => i64::from(count),
                "cores" => cores,
                "ram" => ram,
                _ => 0,
            };
            json!({"limit": -1, "in_use": used, "reserved": 0})
        }
    };
    let mut set: Value = QUOTAS.into_iter().map(|name| (name, of(name))).collect();
    set["id"] = project.into();
    json!({"quota_set": set})
}
