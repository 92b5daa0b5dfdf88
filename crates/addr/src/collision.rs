//! Which of many ranges share addresses.
//!
//! Both questions sort the ranges by where they start and sweep over them once. A range of one
//! family never meets one of the other: all of IPv4 sorts before all of IPv6.

use crate::net::Range;

/// Finds ranges that share addresses. Each range is reported at most once, together with an
/// earlier-starting one it collides with, so the answer is never longer than the input.
pub fn overlaps<T: Copy>(ranges: impl IntoIterator<Item = (Range, T)>) -> Vec<(T, T)> {
    let mut found = Vec::new();
    let mut furthest: Option<(Range, T)> = None;
    for (range, label) in sorted(ranges) {
        if let Some((earlier, other)) = furthest {
            if range.first() <= earlier.last() {
                found.push((other, label));
            }
            if range.last() <= earlier.last() {
                continue;
            }
        }
        furthest = Some((range, label));
    }
    found
}

/// Finds every two ranges that share addresses, and the addresses they share. The label of the
/// range that sorts first stands first; equal ranges keep the order they came in.
///
/// There can be as many pairs as the square of the ranges, so they are found one by one while the
/// answer is read: O(n log n) to begin with, and then O(1) for each pair and each range, on average.
pub fn collisions<T: Copy>(
    ranges: impl IntoIterator<Item = (Range, T)>,
) -> impl Iterator<Item = (T, T, Range)> {
    // Earlier ranges that may reach as far as the next one.
    let mut open: Vec<(Range, T)> = Vec::new();
    sorted(ranges).into_iter().flat_map(move |(range, label)| {
        let mut found = Vec::new();
        // Each one looked at is either part of a pair or never looked at again.
        open.retain(|(earlier, other)| {
            let shared = earlier.intersect(&range);
            found.extend(shared.map(|shared| (*other, label, shared)));
            shared.is_some()
        });
        open.push((range, label));
        found
    })
}

fn sorted<T>(ranges: impl IntoIterator<Item = (Range, T)>) -> Vec<(Range, T)> {
    let mut sorted: Vec<_> = ranges.into_iter().collect();
    sorted.sort_by_key(|(range, _)| *range);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(texts: &[&str]) -> Vec<(Range, usize)> {
        texts.iter().enumerate().map(|(i, text)| (text.parse().unwrap(), i)).collect()
    }

    #[test]
    fn overlaps_name_the_earlier_range_first() {
        type Case<'a> = (&'a [&'a str], &'a [(usize, usize)]);
        let cases: [Case<'_>; 6] = [
            (&[], &[]),
            (&["10.0.0.1-10.0.0.5", "10.0.0.6-10.0.0.9"], &[]),
            (&["10.0.0.5-10.0.0.9", "10.0.0.1-10.0.0.5"], &[(1, 0)]),
            (&["10.0.0.1-10.0.0.9", "10.0.0.2-10.0.0.3", "10.0.0.4-10.0.0.5"], &[(0, 1), (0, 2)]),
            (&["10.0.0.1", "10.0.0.1"], &[(0, 1)]),
            (&["0.0.0.1-255.0.0.0", "::1-::2"], &[]),
        ];
        for (ranges, expected) in cases {
            assert_eq!(overlaps(labelled(ranges)), expected, "{ranges:?}");
        }
    }

    #[test]
    fn collisions_are_all_pairs_with_what_they_share() {
        type Case<'a> = (&'a [&'a str], &'a [(usize, usize, &'a str)]);
        let cases: [Case<'_>; 7] = [
            (&[], &[]),
            (&["10.0.0.1-10.0.0.5", "10.0.0.6-10.0.0.9"], &[]),
            (&["10.0.0.5-10.0.0.9", "10.0.0.1-10.0.0.5"], &[(1, 0, "10.0.0.5")]),
            (&["0.0.0.0/0", "::/0"], &[]),
            // One that has ended does not come back, one that goes on does.
            (
                &["10.0.0.0/24", "10.0.0.1-10.0.0.2", "10.0.0.3-10.0.0.4"],
                &[(0, 1, "10.0.0.1-10.0.0.2"), (0, 2, "10.0.0.3-10.0.0.4")],
            ),
            (
                &["10.0.0.7", "10.0.0.7", "10.0.0.7"],
                &[(0, 1, "10.0.0.7"), (0, 2, "10.0.0.7"), (1, 2, "10.0.0.7")],
            ),
            (&["::/0", "0.0.0.0/0", "fd00::/64"], &[(0, 2, "fd00::/64")]),
        ];
        for (ranges, expected) in cases {
            let found: Vec<_> = collisions(labelled(ranges)).collect();
            let expected: Vec<_> =
                expected.iter().map(|(a, b, shared)| (*a, *b, shared.parse().unwrap())).collect();
            assert_eq!(found, expected, "{ranges:?}");
        }
    }

    #[test]
    fn a_few_of_very_many_collisions_cost_little() {
        // A million ranges in one place collide 500 thousand million times.
        let all: Range = "10.0.0.0/8".parse().unwrap();
        let found = collisions((0..1_000_000).map(|label| (all, label))).take(3);
        assert!(found.eq([(0, 1, all), (0, 2, all), (1, 2, all)]));
    }
}
