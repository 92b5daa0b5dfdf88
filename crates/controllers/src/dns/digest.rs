//! Whether something changed: one short text for many.

use ring::digest::{Context, SHA256};

/// A text that differs if any of the parts, their number or their order does.
pub fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part.as_bytes());
    }
    let bytes = context.finish();
    // No letter of a word: such texts end in names and are read by people.
    let letters = b"bcdfghjklmnpqrstvwxz2456789";
    let letter = |byte: &u8| letters.get(usize::from(*byte) % letters.len()).copied();
    bytes.as_ref().iter().filter_map(letter).map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_between_parts_count() {
        let all = [digest(["ab", "c"]), digest(["a", "bc"]), digest(["abc"]), digest(["c", "ab"])];
        for (i, one) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|other| other != one), "{all:?}");
            assert_eq!(one.len(), 32);
        }
        assert_eq!(digest(["a"]), digest(["a"]));
    }
}
