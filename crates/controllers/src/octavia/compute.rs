//! What the project of amphorae may have of Nova: as much as it needs, because every load balancer is an instance.

use landbridge_openstack::{Call, Client, Error, Service};
use serde_json::{Map, Value, json};

/// What amphorae use up.
pub const QUOTAS: [&str; 5] =
    ["cores", "instances", "ram", "server_group_members", "server_groups"];

/// Lifts the bounds, if there are any. Where there is no Nova there are none, and that is what is answered.
pub async fn lift(client: &Client, project: &str) -> Result<Option<String>, Error> {
    let path = format!("/os-quota-sets/{project}");
    let body = match client.call(Call::get(Service::Compute, path.as_str())).await {
        Ok(reply) => reply.body,
        Err(Error::NoEndpoint { .. }) => {
            let note = "the catalogue has no Nova yet, so its quotas are as they are";
            return Ok(Some(note.to_owned()));
        }
        Err(error) => return Err(error),
    };
    let limited = limited(&body["quota_set"]);
    if !limited.is_empty() {
        let names: Vec<&str> = limited.keys().map(String::as_str).collect();
        let step = format!("lift Nova's quotas of {}", names.join(", "));
        client.call(Call::put(Service::Compute, path, json!({"quota_set": limited}))).await?;
        tracing::info!(step, "done in Nova");
    }
    Ok(None)
}

/// What has a bound, as the body that lifts it. What this Nova does not show it does not have.
fn limited(quota: &Value) -> Map<String, Value> {
    let is_limited = |name: &&str| quota.get(*name).is_some_and(|have| *have != json!(-1));
    QUOTAS.into_iter().filter(is_limited).map(|name| (name.to_owned(), json!(-1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_a_bound_is_lifted() {
        let quota =
            json!({"id": "p", "cores": 20, "instances": -1, "ram": 51200, "key_pairs": 100});
        assert_eq!(Value::Object(limited(&quota)), json!({"cores": -1, "ram": -1}));
        let free = QUOTAS.map(|name| (name.to_owned(), json!(-1)));
        assert!(limited(&Value::Object(free.into_iter().collect())).is_empty());
    }
}
