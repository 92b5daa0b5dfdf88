//! In which order groups and versions are named. Clients take the first of each as preferred.

use std::cmp::{Ordering, Reverse};

/// Orders versions as Kubernetes does, best first: GA before beta before alpha, then higher
/// numbers first; names of another shape come last, in alphabetical order.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(x), Some(y)) => y.cmp(&x),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Alpha,
    Beta,
    Ga,
}

/// `v1`, `v2beta3`: stability, major and minor number, in the order they weigh.
fn parse(version: &str) -> Option<(Stability, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    let (major, rest) = number(rest)?;
    if rest.is_empty() {
        return Some((Stability::Ga, major, 0));
    }
    let (stability, rest) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        (Some(rest), _) => (Stability::Beta, rest),
        (None, Some(rest)) => (Stability::Alpha, rest),
        (None, None) => return None,
    };
    let (minor, rest) = number(rest)?;
    rest.is_empty().then_some((stability, major, minor))
}

/// A decimal number without a leading zero, and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (!digits.starts_with('0')).then_some(())?;
    Some((digits.parse().ok()?, rest))
}

/// Orders groups as upstream's aggregator does: by priority, then by name. Custom groups come last.
pub fn compare_groups(a: &str, b: &str) -> Ordering {
    (Reverse(priority(a)), a).cmp(&(Reverse(priority(b)), b))
}

fn priority(group: &str) -> u32 {
    match group {
        "apiregistration.k8s.io" => 20_000,
        "" => 18_000,
        "apps" => 17_800,
        "events.k8s.io" => 17_750,
        "authentication.k8s.io" => 17_700,
        "authorization.k8s.io" => 17_600,
        "autoscaling" => 17_500,
        "batch" => 17_400,
        "certificates.k8s.io" => 17_300,
        "networking.k8s.io" => 17_200,
        "policy" => 17_100,
        "rbac.authorization.k8s.io" => 17_000,
        "storage.k8s.io" => 16_800,
        "apiextensions.k8s.io" | "admissionregistration.k8s.io" => 16_700,
        "scheduling.k8s.io" => 16_600,
        "coordination.k8s.io" => 16_500,
        "node.k8s.io" => 16_300,
        "discovery.k8s.io" => 16_200,
        "flowcontrol.apiserver.k8s.io" => 16_100,
        "internal.apiserver.k8s.io" => 16_000,
        "resource.k8s.io" => 15_900,
        _ => 1_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_in_kubernetes_order() {
        let mut versions = [
            "foo10",
            "v1alpha1",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "v2",
            "v1",
            "v11beta2",
            "v10",
            "v01",
            "v1beta0",
        ];
        versions.sort_by(|a, b| compare_versions(a, b));
        // The example of the Kubernetes documentation, and two names that only look right.
        let expected = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "v1alpha1",
            "foo1",
            "foo10",
            "v01",
            "v1beta0",
        ];
        assert_eq!(versions, expected);
    }

    #[test]
    fn custom_groups_come_last_by_name() {
        let mut groups =
            ["b.example.org", "coordination.k8s.io", "a.example.org", "apps", "events.k8s.io"];
        groups.sort_by(|a, b| compare_groups(a, b));
        let expected =
            ["apps", "events.k8s.io", "coordination.k8s.io", "a.example.org", "b.example.org"];
        assert_eq!(groups, expected);
    }
}
