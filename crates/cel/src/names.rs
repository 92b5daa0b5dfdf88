//! Names of fields as rules spell them.
//!
//! A field whose name is no CEL identifier, or a word CEL keeps for itself, is reached under an
//! escaped name: `self.__namespace__`, `self.with__dash__dash`.

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name under which rules see a declared field; `None` where they cannot see it.
pub fn escape(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || "_.-/".contains(c)) {
        return None;
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (piece, taken) = match c {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            c if c.is_ascii_alphanumeric() || c == '_' => (&rest[..1], 1),
            _ => return None,
        };
        out.push_str(piece);
        rest = &rest[taken..];
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_like_upstream() {
        for (name, seen) in [
            ("plain", Some("plain")),
            ("one_two", Some("one_two")),
            ("namespace", Some("__namespace__")),
            ("with-dash", Some("with__dash__dash")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("a__b", Some("a__underscores__b")),
            ("a___b", Some("a__underscores___b")),
            ("1st", None),
            ("späße", None),
            ("", None),
        ] {
            assert_eq!(escape(name).as_deref(), seen, "{name}");
        }
    }
}
