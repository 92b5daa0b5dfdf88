//! "Did you mean".

/// The candidate a misspelt word most probably stands for, or `None` if none is near.
///
/// A word that differs only in case is always near. Otherwise at most two letters may be wrong (missing,
/// extra, replaced, or swapped with their neighbour), one in words of up to five letters, and none in
/// words of up to two, where everything is near everything.
///
/// ```
/// use landbridge_manifest::didyoumean;
///
/// let fields = ["networkAttachments", "allocationRanges", "subnetName"];
/// assert_eq!(didyoumean("networkAttachents", fields), Some("networkAttachments"));
/// assert_eq!(didyoumean("replicas", fields), None);
/// ```
pub fn didyoumean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower: Vec<char> = word.to_lowercase().chars().collect();
    let allowed = match lower.len() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == word {
            return None;
        }
        let other: Vec<char> = candidate.to_lowercase().chars().collect();
        if lower.len().abs_diff(other.len()) > allowed {
            continue;
        }
        let distance = distance(&lower, &other);
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Damerau-Levenshtein distance, in the form where a pair is swapped at most once.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(x != y);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = last;
        last = row;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FIELDS: &[&str] = &[
        "networkAttachments",
        "allocationRanges",
        "subnetName",
        "subnets",
        "cidr",
        "vlan",
        "mtu",
        "gateway",
        "routes",
        "excludeAddresses",
        "name",
        "networks",
        "fixedIP",
        "defaultRoute",
        "ip",
    ];

    #[test]
    fn near_and_far() {
        for (word, expected) in [
            ("networkAttachents", Some("networkAttachments")),
            ("allocationRange", Some("allocationRanges")),
            ("subnetname", Some("subnetName")),
            ("fixedIp", Some("fixedIP")),
            ("cdir", Some("cidr")),
            ("vlam", Some("vlan")),
            ("IP", Some("ip")),
            ("subnet", Some("subnets")),
            ("netwroks", Some("networks")),
            ("gatway", Some("gateway")),
            ("id", None),
            ("vln2", None),
            ("replicas", None),
            ("serviceNetwork", None),
            ("", None),
            ("cidr", None),
        ] {
            assert_eq!(didyoumean(word, FIELDS.iter().copied()), expected, "{word}");
        }
    }

    proptest! {
        #[test]
        fn distance_is_a_measure(a in "[abc]{0,6}", b in "[abc]{0,6}") {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            let d = distance(&a, &b);
            prop_assert_eq!(d, distance(&b, &a));
            prop_assert_eq!(d == 0, a == b);
            prop_assert!(d <= a.len().max(b.len()) && d >= a.len().abs_diff(b.len()));
        }
    }
}
