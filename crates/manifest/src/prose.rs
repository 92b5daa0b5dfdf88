//! Whether a file is a text for people.

/// Whether most lines read like sentences and hardly any like fields.
///
/// Asked only about files in which nothing could be read, so it decides which message is the
/// helpful one and nothing else.
pub(crate) fn reads_like_prose(text: &str) -> bool {
    let mut prose = 0_usize;
    let mut fields = 0_usize;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()).take(400) {
        if is_field(line) {
            fields += 1;
        } else if is_sentence(line) {
            prose += 1;
        }
    }
    prose > 0 && prose >= 2 * fields
}

/// `key: value`, `- item`, brackets.
fn is_field(line: &str) -> bool {
    let line = line.strip_prefix("- ").unwrap_or(line);
    if line.starts_with(['{', '}', '[', ']', '"', '\'']) || line.starts_with("---") {
        return true;
    }
    let key =
        line.split_once(':').map(|(key, value)| (key, value.is_empty() || value.starts_with(' ')));
    matches!(key, Some((key, true)) if !key.is_empty() && !key.trim_end().contains(' '))
}

/// A heading, or words one after the other.
fn is_sentence(line: &str) -> bool {
    let line = line.trim_start_matches(['#', '*', '-', '>', '=', ' ']);
    let words =
        line.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count();
    words >= 3 || (words >= 1 && line.ends_with(['.', '!', '?']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_manifests() {
        for (text, prose) in [
            ("The network is described below.\nIt has two subnets.\n", true),
            ("# Networking\n\nHow the pods reach the storage network\n", true),
            ("Dear all,\n\nplease find attached: the plan for the move of the rack.\n", true),
            ("apiVersion: v1\nkind: Service\n  spec: broken: x\n", false),
            ("{ \"a\": 1,\n", false),
            ("- a\n- b\n", false),
            ("NAME   READY\n", false),
            ("", false),
        ] {
            assert_eq!(reads_like_prose(text), prose, "{text:?}");
        }
    }
}
