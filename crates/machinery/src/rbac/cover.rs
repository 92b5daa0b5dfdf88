//! Whether somebody who holds some rules holds others: nobody may grant what he does not have.

use super::Rule;

/// Those of the wanted rules, taken apart into single rights, that no held rule covers. Empty means
/// everything is covered.
///
/// A single right is covered when one held rule allows all of it; names are covered by a rule
/// without names, and `*` only by `*`.
pub fn uncovered(held: &[&Rule], wanted: &[Rule]) -> Vec<Rule> {
    let mut missing: Vec<Rule> = Vec::new();
    for right in wanted.iter().flat_map(single_rights) {
        if !held.iter().any(|rule| covers(rule, &right)) {
            join(&mut missing, right);
        }
    }
    missing
}

/// Rights that differ only in their verbs read better as one.
fn join(missing: &mut Vec<Rule>, right: Rule) {
    let same = |other: &&mut Rule| {
        other.groups == right.groups
            && other.resources == right.resources
            && other.names == right.names
            && other.urls == right.urls
    };
    match missing.iter_mut().find(same) {
        Some(other) => other.verbs.extend(right.verbs),
        None => missing.push(right),
    }
}

/// Every combination of one verb, one group, one resource and one name, or one verb and one path.
fn single_rights(rule: &Rule) -> Vec<Rule> {
    let mut rights = Vec::new();
    for verb in &rule.verbs {
        let verbs = vec![verb.clone()];
        for group in &rule.groups {
            for resource in &rule.resources {
                let right = Rule {
                    verbs: verbs.clone(),
                    groups: vec![group.clone()],
                    resources: vec![resource.clone()],
                    ..Rule::default()
                };
                if rule.names.is_empty() {
                    rights.push(right);
                } else {
                    rights.extend(
                        rule.names
                            .iter()
                            .map(|name| Rule { names: vec![name.clone()], ..right.clone() }),
                    );
                }
            }
        }
        rights.extend(rule.urls.iter().map(|url| Rule {
            verbs: verbs.clone(),
            urls: vec![url.clone()],
            ..Rule::default()
        }));
    }
    rights
}

fn covers(held: &Rule, right: &Rule) -> bool {
    let names = if !right.urls.is_empty() {
        true // paths have no names
    } else if right.names.is_empty() {
        held.names.is_empty()
    } else {
        right.names.iter().all(|name| held.allows_name(name))
    };
    names
        && right.verbs.iter().all(|verb| held.allows_verb(verb))
        && right.groups.iter().all(|group| held.allows_group(group))
        && right.resources.iter().all(|resource| covers_resource(held, resource))
        && right.urls.iter().all(|url| held.allows_url(url))
}

fn covers_resource(held: &Rule, resource: &str) -> bool {
    match resource.split_once('/') {
        _ if held.resources.iter().any(|entry| entry == "*" || entry == resource) => true,
        Some((_, sub)) => held.resources.iter().any(|entry| entry.strip_prefix("*/") == Some(sub)),
        None => false,
    }
}
