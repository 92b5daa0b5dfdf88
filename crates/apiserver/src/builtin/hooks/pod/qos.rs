//! The quality of service a pod's resources amount to.

use serde_json::Value;

use super::super::quantity;
use super::super::value::{items, text};

/// `Guaranteed`, `Burstable` or `BestEffort`.
pub fn class(spec: &Value) -> &'static str {
    let containers = || ["containers", "initContainers"].into_iter().flat_map(|l| items(&spec[l]));
    let amount = |container: &Value, list: &str, name: &str| {
        quantity::parse(text(&container["resources"][list][name])).filter(|amount| *amount > 0)
    };
    let names = ["cpu", "memory"];
    let any = containers().any(|container| {
        names.iter().any(|n| {
            amount(container, "limits", n).or_else(|| amount(container, "requests", n)).is_some()
        })
    });
    let all = containers().all(|container| {
        names.iter().all(|name| {
            let limit = amount(container, "limits", name);
            limit.is_some() && limit == amount(container, "requests", name)
        })
    });
    match (any, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn classes() {
        let full = json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1Gi"}});
        let cases = [
            (json!([{}]), "BestEffort"),
            (json!([{"resources": full}]), "Guaranteed"),
            (json!([{"resources": full}, {}]), "Burstable"),
            (json!([{"resources": {"requests": {"cpu": "1"}}}]), "Burstable"),
            (json!([{"resources": {"requests": {"cpu": "0"}}}]), "BestEffort"),
        ];
        for (containers, wanted) in cases {
            assert_eq!(class(&json!({"containers": containers})), wanted, "{containers}");
        }
    }
}
