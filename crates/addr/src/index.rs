//! Which of many labelled ranges hold an address.
//!
//! The ranges are sorted by where they start and read as a balanced tree without pointers: the
//! middle of a slice is its root, the halves beside it are the subtrees. Each root knows how far
//! the ranges of its slice reach, so a search passes by every slice that ends too early or begins
//! too late. A search that finds k of n ranges costs O(log n) and at most as much again for each
//! of the k, less the closer together they are.

use std::net::IpAddr;

use crate::net::Range;

/// Labelled ranges, built once and asked often.
#[derive(Clone, Debug)]
pub struct RangeIndex<T> {
    /// Sorted by range; equal ranges stand in the order they came in.
    entries: Vec<Entry<T>>,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    range: Range,
    label: T,
    /// The highest address in the slice this entry is the middle of.
    reach: IpAddr,
}

impl<T> RangeIndex<T> {
    /// The ranges that hold the address, lowest first.
    pub fn holding(&self, address: IpAddr) -> impl Iterator<Item = (Range, &T)> {
        self.intersecting(address.into())
    }

    /// The ranges that share an address with this one, lowest first.
    pub fn intersecting(&self, range: Range) -> impl Iterator<Item = (Range, &T)> {
        // What is still to be looked at, the lowest on top.
        let mut todo = vec![Step::Slice(self.entries.as_slice())];
        std::iter::from_fn(move || {
            while let Some(step) = todo.pop() {
                match step {
                    Step::Slice(slice) => {
                        let (below, rest) = slice.split_at(slice.len() / 2);
                        let Some((root, above)) = rest.split_first() else { continue };
                        let begins = below.first().unwrap_or(root).range.first();
                        if begins <= range.last() && root.reach >= range.first() {
                            todo.extend([Step::Slice(above), Step::One(root), Step::Slice(below)]);
                        }
                    }
                    Step::One(entry) => {
                        if entry.range.intersect(&range).is_some() {
                            return Some((entry.range, &entry.label));
                        }
                    }
                }
            }
            None
        })
    }

    /// All ranges, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = (Range, &T)> {
        self.entries.iter().map(|entry| (entry.range, &entry.label))
    }

    /// How many ranges.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no range in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<T> Default for RangeIndex<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<T> FromIterator<(Range, T)> for RangeIndex<T> {
    fn from_iter<I: IntoIterator<Item = (Range, T)>>(ranges: I) -> Self {
        let entry = |(range, label): (Range, T)| Entry { range, label, reach: range.last() };
        let mut entries: Vec<_> = ranges.into_iter().map(entry).collect();
        entries.sort_by_key(|entry| entry.range);
        measure(&mut entries);
        Self { entries }
    }
}

enum Step<'a, T> {
    Slice(&'a [Entry<T>]),
    One(&'a Entry<T>),
}

/// Writes into each entry how far its slice reaches, and says so for the whole one. It calls
/// itself as deep as the tree is high.
fn measure<T>(slice: &mut [Entry<T>]) -> Option<IpAddr> {
    let (below, rest) = slice.split_at_mut(slice.len() / 2);
    let (root, above) = rest.split_first_mut()?;
    let reach = measure(below).max(measure(above)).max(Some(root.range.last()));
    root.reach = reach.unwrap_or(root.reach);
    reach
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(texts: &[&str]) -> RangeIndex<usize> {
        texts.iter().enumerate().map(|(label, text)| (text.parse().unwrap(), label)).collect()
    }

    #[test]
    fn every_range_that_holds_an_address_is_found() {
        let index = index(&[
            "10.0.0.0/8",
            "10.0.0.1-10.0.0.5",
            "10.0.0.5-10.0.0.9",
            "10.0.0.5-10.0.0.9",
            "::/0",
            "255.255.255.255",
            "fd00::/64",
        ]);
        let cases: [(&str, &[usize]); 9] = [
            ("10.0.0.0", &[0]),
            ("10.0.0.5", &[0, 1, 2, 3]),
            ("10.0.0.10", &[0]),
            ("11.0.0.0", &[]),
            ("255.255.255.255", &[5]),
            ("::", &[4]),
            ("fd00::1", &[4, 6]),
            ("10.0.0.6-10.0.0.7", &[0, 2, 3]),
            ("0.0.0.0/0", &[0, 1, 2, 3, 5]),
        ];
        for (asked, expected) in cases {
            let found = index.intersecting(asked.parse().unwrap()).map(|(_, label)| *label);
            assert_eq!(found.collect::<Vec<_>>(), expected, "{asked}");
        }
        assert_eq!(index.len(), 7);
        assert_eq!(index.iter().count(), 7);
    }

    #[test]
    fn an_empty_index_finds_nothing() {
        assert!(index(&[]).is_empty());
        assert_eq!(index(&[]).intersecting("::/0".parse().unwrap()).count(), 0);
    }
}
