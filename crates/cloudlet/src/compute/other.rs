//! What clients ask for around servers: zones, hypervisors, limits.

use http::StatusCode;
use serde_json::{Value, json};

use super::Call;
use super::hosts::loads;
use super::quotas::{Taken, bound};
use super::refusal::Refusal;
use super::servers::ZONE;
use crate::object::Object;
use crate::request::Response;
use crate::state::Tx;

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

fn zones(tx: &Tx<'_>, detail: bool) -> Value {
    let hosts = detail.then(|| {
        let state = json!({"nova-compute": {"available": true, "active": true, "updated_at": tx.timestamp()}});
        loads(tx).into_keys().map(|host| (host, state.clone())).collect::<Value>()
    });
    let zone = json!({"zoneName": ZONE, "zoneState": {"available": true}, "hosts": hosts});
    json!({"availabilityZoneInfo": [zone]})
}

fn hypervisors(tx: &Tx<'_>, call: &Call<'_>, detail: bool) -> Result<Vec<Value>, Refusal> {
    call.admin("os_compute_api:os-hypervisors:list")?;
    let shown = |(number, (host, running)): (usize, (String, usize))| {
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
    Ok(loads(tx).into_iter().enumerate().map(shown).collect())
}

fn services(tx: &Tx<'_>) -> Vec<Value> {
    let of = |(number, host): (usize, String)| {
        json!({
            "id": number + 1, "binary": "nova-compute", "host": host, "zone": ZONE,
            "status": "enabled", "state": "up", "updated_at": tx.timestamp(),
            "disabled_reason": null, "forced_down": false,
        })
    };
    loads(tx).into_keys().enumerate().map(of).collect()
}

fn absolute(tx: &Tx<'_>, call: &Call<'_>) -> Value {
    let project = call.who.project();
    let taken = Taken::by(tx, project);
    let most = |name: &str| bound(tx, project, name);
    json!({
        "maxTotalInstances": most("instances"), "maxTotalCores": most("cores"),
        "maxTotalRAMSize": most("ram"), "maxServerMeta": most("metadata_items"),
        "maxTotalKeypairs": most("key_pairs"), "maxServerGroups": most("server_groups"),
        "maxServerGroupMembers": most("server_group_members"),
        "totalInstancesUsed": taken.instances, "totalCoresUsed": taken.cores,
        "totalRAMUsed": taken.ram, "totalServerGroupsUsed": 0,
    })
}
