//! Many texts in few ConfigMaps, so that a pod can mount them without knowing their names.
//!
//! A pod cannot get one more volume while it runs, so ConfigMaps that come and go would restart it. The
//! texts of all of them are gathered in ConfigMaps whose number never changes; those that are not needed
//! are not there. Each holds as much as a ConfigMap may.

use std::collections::BTreeMap;

/// So many ConfigMaps at most.
pub const COUNT: usize = 16;
/// So much in each: an object may have 1 MiB, with everything that is around the texts.
const MOST: usize = 900 << 10;

/// Who is where.
#[derive(Debug, PartialEq, Eq)]
pub struct Spread<'a> {
    /// The texts of each ConfigMap.
    pub parts: Vec<BTreeMap<&'a str, &'a str>>,
    /// For whom there was no room.
    pub left: Vec<&'a str>,
}

/// Spreads named texts. Whoever is somewhere stays there as long as it fits, so that little is
/// written for a small change.
pub fn spread<'a>(
    texts: &[(&'a str, &'a str)],
    known: impl Fn(&str) -> Option<usize>,
) -> Spread<'a> {
    let mut spread = Spread { parts: vec![BTreeMap::new(); COUNT], left: Vec::new() };
    let mut sizes = [0; COUNT];
    let mut put = |at: usize, (name, text): (&'a str, &'a str)| -> bool {
        let size = name.len() + text.len();
        match (sizes.get_mut(at), spread.parts.get_mut(at)) {
            (Some(used), Some(part)) if *used + size <= MOST => {
                *used += size;
                part.insert(name, text);
                true
            }
            _ => false,
        }
    };
    let (settled, new): (Vec<_>, Vec<_>) =
        texts.iter().partition(|(name, _)| known(name).is_some());
    let mut homeless: Vec<(&str, &str)> = new;
    for text in settled {
        if !known(text.0).is_some_and(|at| put(at, text)) {
            homeless.push(text);
        }
    }
    homeless.sort_unstable();
    let mut left = Vec::new();
    for text in homeless {
        if !(0..COUNT).any(|at| put(at, text)) {
            left.push(text.0);
        }
    }
    spread.left = left;
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_place_keeps_it() {
        let spread = spread(&[("a", "1"), ("b", "2")], |name| (name == "b").then_some(3));
        assert_eq!(spread.parts[0], BTreeMap::from([("a", "1")]));
        assert_eq!(spread.parts[3], BTreeMap::from([("b", "2")]));
        assert_eq!(spread.parts.len(), COUNT);
    }

    #[test]
    fn what_grows_moves_on_and_what_does_not_fit_is_named() {
        let half = "x".repeat(MOST / 2 + 1);
        let all = spread(&[("a", &half), ("b", &half)], |_| Some(0));
        assert!(all.parts[0].contains_key("a") && all.parts[1].contains_key("b"));
        let names: Vec<String> = (0..=COUNT).map(|n| format!("n{n:02}")).collect();
        let texts: Vec<(&str, &str)> = names.iter().map(|name| (&**name, &*half)).collect();
        let all = spread(&texts, |_| None);
        assert_eq!(all.left, ["n16"]);
        assert_eq!(all.parts.iter().map(BTreeMap::len).sum::<usize>(), COUNT);
    }

    #[test]
    fn places_that_do_not_exist_are_no_places() {
        assert!(spread(&[("a", "1")], |_| Some(99)).parts[0].contains_key("a"));
    }
}
