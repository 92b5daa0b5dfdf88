//! Who made what: marks on objects of Neutron, so that what was made here is known again, and nothing else
//! is ever taken away.
//!
//! Neutron takes no tags when an object is made (but for ports), and an answer may be lost. So an object is
//! made with a *birth mark* as its description; then it is tagged; then it gets the description that is
//! wanted. Whatever dies in between, there is no moment in which it cannot be told whose it is.
//!
//! | mark | where | says |
//! |---|---|---|
//! | `landbridge:octavia:<namespace>:<name>` | networks, subnets, security groups | which Octavia looks after it |
//! | `landbridge:made:<what>`, `landbridge:adopted:<what>` | the same | what it is, whatever it is called now; whether it goes with the Octavia |
//! | `landbridge:router:<id>`, `landbridge:port:<id>` | networks | this router, this port was made here: those carry no tags themselves |

use std::fmt::Write as _;

use super::seen::Thing;

const OWNER: &str = "landbridge:octavia:";
const MADE: &str = "landbridge:made:";
const ADOPTED: &str = "landbridge:adopted:";
const ROUTER: &str = "landbridge:router:";
const PORT: &str = "landbridge:port:";
const BIRTH: &str = "being made by landbridge for Octavia ";
/// Neutron takes 255 letters.
const LONGEST: usize = 200;

/// One Octavia, as it stands in marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    tag: String,
    birth: String,
}

/// Whose an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This Octavia's.
    Ours,
    /// That of another one, by this name.
    Others(String),
    /// No mark says.
    Nobodys,
}

/// What was made besides networks, subnets and groups: noted on networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// A router.
    Router,
    /// A port.
    Port,
}

impl Noted {
    fn prefix(self) -> &'static str {
        match self {
            Self::Router => ROUTER,
            Self::Port => PORT,
        }
    }

    /// The tag that notes this one.
    pub fn tag(self, id: &str) -> String {
        format!("{}{id}", self.prefix())
    }

    /// The ids that stand in tags.
    pub fn ids<'t>(self, tags: impl Iterator<Item = &'t str>) -> impl Iterator<Item = &'t str> {
        tags.filter_map(move |tag| tag.strip_prefix(self.prefix())).filter(|id| !id.is_empty())
    }
}

impl Owner {
    /// The Octavia of this namespace and name.
    pub fn new(namespace: &str, name: &str) -> Self {
        let whose = short(&format!("{namespace}:{name}"));
        Self { tag: format!("{OWNER}{whose}"), birth: format!("{BIRTH}{whose}") }
    }

    /// The tag by which everything of this Octavia is found.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The description of what was just made.
    pub fn birth(&self) -> &str {
        &self.birth
    }

    /// Whether it still has its birth mark.
    pub fn is_newborn(&self, thing: &Thing) -> bool {
        thing.text("description") == self.birth
    }

    /// Whose an object is.
    pub fn whose(&self, thing: &Thing) -> Whose {
        let readable = |text: &str| text.replacen(':', "/", 1);
        if let Some(other) = thing.tags().find_map(|tag| tag.strip_prefix(OWNER)) {
            return if thing.tags().any(|tag| tag == self.tag) {
                Whose::Ours
            } else {
                Whose::Others(readable(other))
            };
        }
        match thing.text("description").strip_prefix(BIRTH) {
            Some(_) if self.is_newborn(thing) => Whose::Ours,
            Some(other) => Whose::Others(readable(other)),
            None => Whose::Nobodys,
        }
    }
}

/// The tag that says what it is, and whether it was made here.
pub fn role_tag(what: &str, is_made: bool) -> String {
    format!("{}{}", if is_made { MADE } else { ADOPTED }, short(&encoded(what)))
}

/// What an object is by its tag, and whether it was made here.
pub fn role(thing: &Thing) -> Option<(&str, bool)> {
    let made = thing.tags().find_map(|tag| tag.strip_prefix(MADE)).map(|what| (what, true));
    made.or_else(|| {
        thing.tags().find_map(|tag| tag.strip_prefix(ADOPTED)).map(|what| (what, false))
    })
}

/// Whether it is this, by its tag.
pub fn is_role(thing: &Thing, what: &str) -> bool {
    role(thing).is_some_and(|(known, _)| known == short(&encoded(what)))
}

/// Whether a tag is one of those above.
pub fn is_mark(tag: &str) -> bool {
    [OWNER, MADE, ADOPTED, ROUTER, PORT].iter().any(|prefix| tag.starts_with(prefix))
}

/// Names of zones may hold anything; a tag stands in URLs.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                out.push(char::from(byte));
            }
            other => {
                let _ = write!(out, "={other:02X}");
            }
        }
    }
    out
}

/// A text that is too long ends with what tells it from others.
fn short(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let end = (0..=LONGEST - 17).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let mut out = format!("{}.", &text[..end]);
    for byte in &digest.as_ref()[..8] {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn thing(description: &str, tags: &[&str]) -> Thing {
        Thing::new(json!({"id": "x", "description": description, "tags": tags}))
    }

    #[test]
    fn marks_tell_whose_it_is() {
        let owner = Owner::new("openstack", "octavia");
        let rows = [
            (thing("", &[]), Whose::Nobodys),
            (thing("LBaaS Management Network", &["prod"]), Whose::Nobodys),
            (thing(owner.birth(), &[]), Whose::Ours),
            (thing("", &["landbridge:octavia:openstack:octavia"]), Whose::Ours),
            (
                thing("", &["landbridge:octavia:other:octavia"]),
                Whose::Others("other/octavia".into()),
            ),
            (thing(Owner::new("other", "o").birth(), &[]), Whose::Others("other/o".into())),
            // The tag came later than the birth mark.
            (thing(Owner::new("other", "o").birth(), &[owner.tag()]), Whose::Ours),
        ];
        for (thing, whose) in rows {
            assert_eq!(owner.whose(&thing), whose, "{thing:?}");
        }
    }

    #[test]
    fn tags_fit_into_neutron_and_urls_and_differ() {
        let long = "z".repeat(250);
        let names =
            ["lb-mgmt-net", "lb-mgmt-a/b,c d-net", "lb-mgmt-ä-net", &long, &format!("{long}y")];
        let tags: std::collections::BTreeSet<String> =
            names.iter().map(|name| role_tag(name, true)).collect();
        assert_eq!(tags.len(), names.len());
        for tag in &tags {
            assert!(tag.len() <= 255, "{tag}");
            assert!(tag.bytes().all(|b| b.is_ascii_graphic() && !b"/,%?# ".contains(&b)), "{tag}");
        }
        for name in names {
            let tag = role_tag(name, false);
            assert!(is_role(&thing("", &[&tag]), name) && !is_role(&thing("", &[&tag]), "other"));
            assert_eq!(role(&thing("", &[&tag])).map(|(_, is_made)| is_made), Some(false));
        }
        assert!(Owner::new(&"n".repeat(63), &"o".repeat(253)).tag().len() <= 255);
    }
}
