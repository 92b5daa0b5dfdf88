//! The resolver's file: what it says, and the same file saying something else.

use serde::{Deserialize, Serialize};

/// What a resolver is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolver {
    pub servers: Vec<String>,
    pub search: Vec<String>,
    pub options: Vec<String>,
}

impl Resolver {
    /// Reads a resolv.conf. The last `search` or `domain` line counts, as in the resolver itself.
    pub fn parse(text: &str) -> Self {
        let mut found = Self::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let key = words.next();
            let rest = words.map(str::to_owned);
            match key {
                Some("nameserver") => found.servers.extend(rest.take(1)),
                Some("search" | "domain") => found.search = rest.collect(),
                Some("options") => found.options.extend(rest),
                _ => {}
            }
        }
        found
    }

    /// The file with these entries; lines of other kinds stay, in front.
    pub fn write_into(&self, text: &str) -> String {
        let ours = ["nameserver", "search", "domain", "options"];
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| !line.split_whitespace().next().is_some_and(|key| ours.contains(&key)))
            .map(str::to_owned)
            .collect();
        let listed = |key: &str, words: &[String]| {
            (!words.is_empty()).then(|| format!("{key} {}", words.join(" ")))
        };
        lines.extend(listed("search", &self.search));
        lines.extend(self.servers.iter().map(|server| format!("nameserver {server}")));
        lines.extend(listed("options", &self.options));
        let mut text = lines.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_lines_stay() {
        let before = "# by hand\nsearch old\nnameserver 192.0.2.1\nsortlist 10.0.0.0/8\n\
                      options ndots:5\noptions rotate\nnameserver 2001:db8::1 # v6\n";
        let found = Resolver::parse(before);
        assert_eq!(found.servers, ["192.0.2.1", "2001:db8::1"]);
        assert_eq!(found.search, ["old"]);
        assert_eq!(found.options, ["ndots:5", "rotate"]);
        let wanted = Resolver { servers: vec!["192.0.2.9".into()], ..Resolver::default() };
        let after = wanted.write_into(before);
        assert_eq!(after, "# by hand\nsortlist 10.0.0.0/8\nnameserver 192.0.2.9\n");
        assert_eq!(Resolver::parse(&after), wanted);
        assert_eq!(wanted.write_into(&after), after);
        assert_eq!(Resolver::default().write_into(""), "");
    }
}
