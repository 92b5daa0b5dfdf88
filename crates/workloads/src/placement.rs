//! Which nodes a pod may run on, as far as node and pod alone decide it.

use k8s_openapi::api::core::v1::{
    Node, NodeSelector, NodeSelectorTerm, PodSpec, Taint, Toleration,
};

use crate::labels::requirement;

/// Whether a toleration covers a taint.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let empty = |text: &Option<String>| text.as_deref().unwrap_or_default().to_owned();
    let effect = empty(&toleration.effect);
    if !effect.is_empty() && effect != taint.effect {
        return false;
    }
    let key = empty(&toleration.key);
    if !key.is_empty() && key != taint.key {
        return false;
    }
    match toleration.operator.as_deref().unwrap_or_default() {
        "Exists" => true,
        "" | "Equal" => !key.is_empty() && empty(&toleration.value) == empty(&taint.value),
        _ => false,
    }
}

/// The first taint of one of these effects that nothing covers.
pub fn untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    effects: &[&str],
) -> Option<&'a Taint> {
    let mut strict = taints.iter().filter(|taint| effects.contains(&taint.effect.as_str()));
    strict.find(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

/// The taints of a node.
pub fn taints(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

/// The tolerations of a pod.
pub fn tolerations(spec: &PodSpec) -> &[Toleration] {
    spec.tolerations.as_deref().unwrap_or_default()
}

/// Whether nodeSelector and required node affinity name this node.
pub fn selects(spec: &PodSpec, node: &Node) -> bool {
    let label = |key: &str| node.metadata.labels.as_ref().and_then(|labels| labels.get(key));
    let plain = spec.node_selector.iter().flatten();
    plain.into_iter().all(|(key, value)| label(key) == Some(value))
        && required(spec).is_none_or(|selector| {
            selector.node_selector_terms.iter().any(|term| term_selects(term, node))
        })
}

/// Required node affinity.
pub fn required(spec: &PodSpec) -> Option<&NodeSelector> {
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    affinity.required_during_scheduling_ignored_during_execution.as_ref()
}

fn term_selects(term: &NodeSelectorTerm, node: &Node) -> bool {
    let labels = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let label = |key: &str| node.metadata.labels.as_ref().and_then(|labels| labels.get(key));
    // A term without anything selects nothing.
    (!labels.is_empty() || !fields.is_empty())
        && labels.iter().all(|expression| {
            let value = label(&expression.key).map(String::as_str);
            requirement(&expression.operator, value, expression.values.as_deref().unwrap_or(&[]))
        })
        && fields.iter().all(|field| {
            let value = (field.key == "metadata.name").then_some(node.metadata.name.as_deref());
            let values = field.values.as_deref().unwrap_or(&[]);
            value.is_some_and(|value| requirement(&field.operator, value, values))
        })
}

/// Whether a node says it is ready.
pub fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref());
    let mut conditions = conditions.unwrap_or_default().iter();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Whether people closed a node for new pods.
pub fn is_closed(node: &Node) -> bool {
    node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tolerations_cover_taints() {
        let taint: Taint =
            serde_json::from_value(json!({"key": "k", "value": "v", "effect": "NoSchedule"}))
                .unwrap();
        for (toleration, covers) in [
            (json!({"key": "k", "value": "v", "effect": "NoSchedule"}), true),
            (json!({"key": "k", "operator": "Equal", "value": "v"}), true),
            (json!({"key": "k", "operator": "Equal", "value": "w"}), false),
            (json!({"key": "k", "operator": "Exists"}), true),
            (json!({"key": "l", "operator": "Exists"}), false),
            (json!({"operator": "Exists"}), true),
            (json!({"operator": "Exists", "effect": "NoExecute"}), false),
            (json!({"value": "v"}), false),
            (json!({"key": "k", "operator": "Near"}), false),
        ] {
            let parsed: Toleration = serde_json::from_value(toleration.clone()).unwrap();
            assert_eq!(tolerates(&parsed, &taint), covers, "{toleration}");
        }
    }

    #[test]
    fn selectors_name_nodes() {
        let node: Node = serde_json::from_value(json!({"metadata": {"name": "worker-0",
            "labels": {"disk": "ssd", "rack": "3"}}}))
        .unwrap();
        let affinity = |terms: serde_json::Value| {
            json!({"affinity": {"nodeAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
        };
        let by_name = |name: &str| {
            affinity(json!([{"matchFields":
                [{"key": "metadata.name", "operator": "In", "values": [name]}]}]))
        };
        let rack = |operator: &str, value: &str| json!({"matchExpressions": [{"key": "rack", "operator": operator, "values": [value]}]});
        for (spec, selected) in [
            (json!({}), true),
            (json!({"nodeSelector": {"disk": "ssd"}}), true),
            (json!({"nodeSelector": {"disk": "ssd", "gpu": "yes"}}), false),
            (by_name("worker-0"), true),
            (by_name("worker-1"), false),
            (affinity(json!([rack("Gt", "2")])), true),
            (affinity(json!([rack("Lt", "2")])), false),
            (affinity(json!([rack("Lt", "2"), rack("In", "3")])), true),
            (affinity(json!([{}])), false),
        ] {
            let mut whole = spec.clone();
            whole["containers"] = json!([]);
            let parsed: PodSpec = serde_json::from_value(whole).unwrap();
            assert_eq!(selects(&parsed, &node), selected, "{spec}");
        }
    }
}
