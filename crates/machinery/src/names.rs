//! Which names are allowed, with upstream's explanations.

/// How a kind's names are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// Lower-case letters, digits, `-` and `.`; up to 253 characters. Most kinds.
    Subdomain,
    /// As [`NameRule::Subdomain`] without dots; up to 63 characters. Namespaces.
    Label,
    /// As [`NameRule::Label`] but starting with a letter. Services.
    Label1035,
    /// Anything that is one path segment. RBAC kinds.
    PathSegment,
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

impl NameRule {
    /// What is wrong with `name`; empty when nothing is. With `prefix`, the name will be continued
    /// (generateName), so it may end in a dash.
    pub fn check(self, name: &str, prefix: bool) -> Vec<String> {
        let judged = if prefix { name.trim_end_matches('-') } else { name };
        match self {
            Self::Subdomain => shape(judged, name, 253, is_subdomain, SUBDOMAIN),
            Self::Label => shape(judged, name, 63, is_label, LABEL),
            Self::Label1035 => shape(judged, name, 63, is_label_1035, LABEL_1035),
            Self::PathSegment => path_segment(name),
        }
    }
}

fn shape(
    judged: &str,
    name: &str,
    limit: usize,
    good: fn(&str) -> bool,
    words: &str,
) -> Vec<String> {
    let mut wrong = Vec::new();
    if name.len() > limit {
        wrong.push(format!("must be no more than {limit} bytes"));
    }
    if !good(judged) {
        wrong.push(words.to_owned());
    }
    wrong
}

fn path_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|c| name.contains(**c))
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}

/// RFC 1123 label.
pub fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
    let edge = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    !bytes.is_empty()
        && bytes.iter().all(inner)
        && bytes.first().is_some_and(edge)
        && bytes.last().is_some_and(edge)
}

/// RFC 1035 label.
pub fn is_label_1035(text: &str) -> bool {
    is_label(text) && text.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
}

/// RFC 1123 subdomain.
pub fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    !bytes.is_empty()
        && bytes.iter().all(inner)
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// What is wrong with the key of a label or annotation: `[prefix/]name`.
pub fn qualified_name(key: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, rest)) if rest.contains('/') => {
            return vec![format!(
                "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else if prefix.len() > 253 || !is_subdomain(prefix) {
                wrong.push(format!("prefix part {SUBDOMAIN}"));
            }
            name
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_word(name) {
        wrong.push(QUALIFIED.to_owned());
    }
    wrong
}

/// What is wrong with the value of a label.
pub fn label_value(value: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if value.len() > 63 {
        wrong.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_word(value) {
        wrong.push(LABEL_VALUE.to_owned());
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_judge_names() {
        let cases = [
            (NameRule::Subdomain, "a.b-c.d", true),
            (NameRule::Subdomain, "A", false),
            (NameRule::Subdomain, "a..b", false),
            (NameRule::Subdomain, "", false),
            (NameRule::Label, "a.b", false),
            (NameRule::Label, "0a", true),
            (NameRule::Label1035, "0a", false),
            (NameRule::Label1035, "a0", true),
            (NameRule::PathSegment, "system:node/x", false),
            (NameRule::PathSegment, "system:Node", true),
            (NameRule::PathSegment, "..", false),
        ];
        for (rule, name, good) in cases {
            assert_eq!(rule.check(name, false).is_empty(), good, "{rule:?} {name:?}");
        }
        assert!(NameRule::Subdomain.check(&"a".repeat(254), false).len() == 1);
        assert!(NameRule::Subdomain.check("run-", true).is_empty());
        assert!(!NameRule::Subdomain.check("run-", false).is_empty());
    }

    #[test]
    fn label_keys_and_values() {
        assert!(qualified_name("app.kubernetes.io/Name_1").is_empty());
        for bad in ["", "/x", "x/", "a/b/c", "-x", "UPPER.example/ok"] {
            assert!(!qualified_name(bad).is_empty(), "{bad}");
        }
        assert!(label_value("").is_empty());
        assert!(label_value("v1.2_x").is_empty());
        assert!(!label_value("a b").is_empty());
    }
}
