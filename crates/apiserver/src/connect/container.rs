//! Which container of a pod a request means.

use landbridge_machinery::object;
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

/// Names the container for those who do not.
const DEFAULT: &str = "kubectl.kubernetes.io/default-container";

/// The container asked for, or the one that is meant when none is.
pub fn choose<'a>(pod: &'a Value, asked: &str) -> ApiResult<&'a str> {
    let name = object::name(pod);
    let find = |wanted: &str| {
        let lists = ["containers", "initContainers", "ephemeralContainers"];
        lists.into_iter().flat_map(|list| names(pod, list)).find(|name| *name == wanted)
    };
    if !asked.is_empty() {
        return find(asked).ok_or_else(|| {
            ApiError::bad_request(format!("container {asked} is not valid for pod {name}"))
        });
    }
    if let Some(named) = object::annotation(pod, DEFAULT).and_then(find) {
        return Ok(named);
    }
    let all: Vec<&str> = names(pod, "containers").collect();
    if let [only] = all.as_slice() {
        return Ok(only);
    }
    let listed = |words: &str, list: &str| {
        let names: Vec<&str> = names(pod, list).collect();
        if names.is_empty() { String::new() } else { format!("{words}: [{}]", names.join(" ")) }
    };
    Err(ApiError::bad_request(format!(
        "a container name must be specified for pod {name}{}{}",
        listed(", choose one of", "containers"),
        listed(" or one of the init containers", "initContainers"),
    )))
}

fn names<'a>(pod: &'a Value, list: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let list = pod["spec"][list].as_array().map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(|container| container["name"].as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_container_is_found_or_asked_for() {
        let pod = |containers: Value, init: Value, default: &str| {
            json!({"metadata": {"name": "p", "annotations": {DEFAULT: default}},
                "spec": {"containers": containers, "initContainers": init}})
        };
        let (a, b, i) = (json!({"name": "a"}), json!({"name": "b"}), json!({"name": "i"}));
        let one = pod(json!([a]), json!([i]), "");
        let two = pod(json!([a, b]), json!([]), "");
        let many = pod(json!([a, b]), json!([i]), "gone");
        let told = pod(json!([a, b]), json!([i]), "b");
        let cases: [(&Value, &str, Result<&str, &str>); 9] = [
            (&one, "", Ok("a")),
            (&one, "i", Ok("i")),
            (&one, "c", Err("container c is not valid for pod p")),
            (&two, "b", Ok("b")),
            (&two, "", Err("a container name must be specified for pod p, choose one of: [a b]")),
            (
                &many,
                "",
                Err(
                    "a container name must be specified for pod p, choose one of: [a b] or one of the init containers: [i]",
                ),
            ),
            (&told, "", Ok("b")),
            (&told, "a", Ok("a")),
            (&Value::Null, "", Err("a container name must be specified for pod ")),
        ];
        for (pod, asked, wanted) in cases {
            let found = choose(pod, asked);
            assert_eq!(
                found.as_deref().map_err(|e| e.message.as_str()),
                wanted.as_deref().map_err(|e| *e)
            );
        }
    }
}
