//! Scripts for `nft`: everything anew, or from one state to the next. Either is done at once or not at
//! all.
//!
//! In a script whatever is named must be there: sets and chains are made before rules that use them,
//! and go after them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Rules;
use super::fixed::{self, SETS, TABLE};

/// So many elements go into one command: a longer line is slower to read.
const AT_ONCE: usize = 500;

/// Everything anew, whatever was there.
pub fn replace(rules: &Rules, pods: &str) -> String {
    let mut script = format!("add table {TABLE}\ndelete table {TABLE}\nadd table {TABLE}\n");
    for (name, declaration) in SETS {
        script.push_str(&fixed::declare(name, declaration));
    }
    script.push_str(&fixed::chains(pods));
    script.push_str(&change(&Rules::default(), rules));
    script
}

/// From one state to the next; empty when nothing is different.
pub fn change(old: &Rules, new: &Rules) -> String {
    let mut script = String::new();
    for (name, declaration) in &new.sets {
        if !old.sets.contains_key(name) {
            script.push_str(&fixed::declare(name, declaration));
        }
    }
    for name in new.chains.keys().filter(|name| !old.chains.contains_key(*name)) {
        let _ = writeln!(script, "add chain {TABLE} {name}");
    }
    for (name, lines) in &new.chains {
        match old.chains.get(name) {
            Some(before) if before == lines => continue,
            Some(_) => {
                let _ = writeln!(script, "flush chain {TABLE} {name}");
            }
            None => {}
        }
        for line in lines {
            let _ = writeln!(script, "add rule {TABLE} {name} {line}");
        }
    }
    for (set, _) in SETS {
        let none = BTreeMap::new();
        let before = old.elements.get(set).unwrap_or(&none);
        let after = new.elements.get(set).unwrap_or(&none);
        let differs =
            |a: &BTreeMap<String, String>, key: &String, value: &String| a.get(key) != Some(value);
        let gone = before.iter().filter(|(key, value)| differs(after, key, value));
        let gone: Vec<String> = gone.map(|(key, _)| key.clone()).collect();
        elements(&mut script, "delete", set, &gone);
        let came = after.iter().filter(|(key, value)| differs(before, key, value));
        let came: Vec<String> = came.map(|(key, value)| element(key, value)).collect();
        elements(&mut script, "add", set, &came);
    }
    let gone: Vec<&String> =
        old.chains.keys().filter(|name| !new.chains.contains_key(*name)).collect();
    for (verb, names) in [("flush", &gone), ("delete", &gone)] {
        for name in names {
            let _ = writeln!(script, "{verb} chain {TABLE} {name}");
        }
    }
    for name in old.sets.keys().filter(|name| !new.sets.contains_key(*name)) {
        let _ = writeln!(script, "delete set {TABLE} {name}");
    }
    script
}

fn element(key: &str, value: &str) -> String {
    if value.is_empty() { key.to_owned() } else { format!("{key} : {value}") }
}

fn elements(script: &mut String, verb: &str, set: &str, elements: &[String]) {
    for some in elements.chunks(AT_ONCE) {
        let _ = writeln!(script, "{verb} element {TABLE} {set} {{ {} }}", some.join(", "));
    }
}
