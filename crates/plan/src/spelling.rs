//! Words that are almost right.

/// How many letters must be changed, added, left out or swapped with their neighbour to make one
/// word of the other, letter case aside; `None` when it is more than `most`.
pub(crate) fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut cost = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|distance| *distance <= most)
}

/// How far a word may be from what was meant: short words are close to everything.
fn tolerance(word: &str) -> usize {
    match word.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    }
}

/// The known word that was probably meant; none when the word is itself known.
pub(crate) fn meant<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let most = tolerance(word);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate == word {
            return None;
        }
        let Some(distance) = distance(word, candidate, most) else { continue };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_known_ones_left_alone() {
        let known = ["networkAttachments", "networkAttachment", "storage", "name", "id"];
        let cases = [
            ("networkAttachents", Some("networkAttachments")),
            ("networkattachments", Some("networkAttachments")),
            ("storge", Some("storage")),
            ("sotrage", Some("storage")),
            ("nmae", Some("name")),
            ("storage", None),
            ("xy", None),
            ("tenant", None),
            ("naem2", None),
        ];
        for (word, expected) in cases {
            assert_eq!(meant(word, known), expected, "{word}");
        }
        assert_eq!(distance("abc", "abc", 0), Some(0));
        assert_eq!(distance("", "ab", 2), Some(2));
        assert_eq!(distance("", "abc", 2), None);
    }
}
