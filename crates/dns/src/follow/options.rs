//! The command line: dnsmasq's options, with the dashes.

/// Options in their order: name without dashes, value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub given: Vec<Given>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub key: String,
    pub value: Option<String>,
}

/// Letters of dnsmasq's short options that make sense here, and their long names.
const SHORT: &[(char, &str)] = &[
    ('0', "dns-forward-max"),
    ('7', "conf-dir"),
    ('a', "listen-address"),
    ('A', "address"),
    ('b', "bogus-priv"),
    ('B', "bogus-nxdomain"),
    ('c', "cache-size"),
    ('C', "conf-file"),
    ('d', "no-daemon"),
    ('D', "domain-needed"),
    ('e', "selfmx"),
    ('E', "expand-hosts"),
    ('g', "group"),
    ('h', "no-hosts"),
    ('H', "addn-hosts"),
    ('i', "interface"),
    ('I', "except-interface"),
    ('k', "keep-in-foreground"),
    ('n', "no-poll"),
    ('N', "no-negcache"),
    ('o', "strict-order"),
    ('p', "port"),
    ('P', "edns-packet-max"),
    ('q', "log-queries"),
    ('Q', "query-port"),
    ('r', "resolv-file"),
    ('R', "no-resolv"),
    ('s', "domain"),
    ('S', "server"),
    ('T', "local-ttl"),
    ('u', "user"),
    ('W', "srv-host"),
    ('x', "pid-file"),
    ('y', "localise-queries"),
    ('Y', "txt-record"),
    ('z', "bind-interfaces"),
    ('8', "log-facility"),
];

/// Short options without a value, so that `-kd` is two of them.
const FLAGS: &str = "bdDeEhkNnoqRyz";

impl Options {
    /// Reads words as dnsmasq does: `--key=value`, `--key value`, `--key`, `-k`, `-p 53`, `-p53`.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut given: Vec<Given> = Vec::new();
        // Whether the last option may still get its value as a word of its own.
        let mut open = false;
        for word in words {
            if let Some(long) = word.strip_prefix("--") {
                let (key, value) = match long.split_once('=') {
                    Some((key, value)) => (key, Some(value.to_owned())),
                    None => (long, None),
                };
                open = value.is_none();
                given.push(Given { key: key.to_owned(), value });
            } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                open = short(word, letters, &mut given)?;
            } else if let Some(last) = given.last_mut().filter(|_| open) {
                last.value = Some(word.to_owned());
                open = false;
            } else {
                return Err(format!("{word:?} is no option: options begin with --"));
            }
        }
        Ok(Self { given })
    }

    /// Whether an option stands there.
    pub fn has(&self, key: &str) -> bool {
        self.given.iter().any(|given| given.key == key)
    }

    /// Takes the values of an option out.
    pub fn take(&mut self, key: &str) -> Vec<Option<String>> {
        let mut taken = Vec::new();
        self.given.retain(|given| {
            let other = given.key != key;
            if !other {
                taken.push(given.value.clone());
            }
            other
        });
        taken
    }
}

/// Reads the letters of one word; says whether a value may follow.
fn short(word: &str, letters: &str, given: &mut Vec<Given>) -> Result<bool, String> {
    for (at, letter) in letters.char_indices() {
        let Some((_, key)) = SHORT.iter().find(|(short, _)| *short == letter) else {
            return Err(format!("-{letter} in {word:?} is no option here; --help lists them"));
        };
        let rest = &letters[at + letter.len_utf8()..];
        let flag = FLAGS.contains(letter);
        let value = (!flag && !rest.is_empty()).then(|| rest.to_owned());
        let open = !flag && value.is_none();
        given.push(Given { key: (*key).to_owned(), value });
        if !flag {
            return Ok(open);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Vec<(String, Option<String>)> {
        let options = Options::parse(line.split_whitespace()).unwrap();
        options.given.into_iter().map(|given| (given.key, given.value)).collect()
    }

    fn is(key: &str, value: Option<&str>) -> (String, Option<String>) {
        (key.to_owned(), value.map(str::to_owned))
    }

    #[test]
    fn words_are_read_as_dnsmasq_reads_them() {
        assert_eq!(
            read("--interface=* --pid-file= --port 5353 --no-hosts --log-facility=-"),
            [
                is("interface", Some("*")),
                is("pid-file", Some("")),
                is("port", Some("5353")),
                is("no-hosts", None),
                is("log-facility", Some("-")),
            ]
        );
        assert_eq!(
            read("-kd -p53 -p 54 -C /a -S8.8.8.8"),
            [
                is("keep-in-foreground", None),
                is("no-daemon", None),
                is("port", Some("53")),
                is("port", Some("54")),
                is("conf-file", Some("/a")),
                is("server", Some("8.8.8.8")),
            ]
        );
        assert!(Options::parse(["file"]).unwrap_err().contains("\"file\""));
        assert!(Options::parse(["--port=1", "2"]).unwrap_err().contains("\"2\""));
        assert!(Options::parse(["-J"]).unwrap_err().contains("-J"));
    }

    #[test]
    fn ours_are_taken_out() {
        let mut options = Options::parse(["--workers=2", "--port=1", "--workers", "3"]).unwrap();
        assert!(options.has("port"));
        assert_eq!(options.take("workers"), [Some("2".to_owned()), Some("3".to_owned())]);
        assert_eq!(options.given.len(), 1);
    }
}
