//! What a resolver's file tells containers.

use landbridge_cni::result::Dns;

use crate::failure::{Context, Outcome};

/// Reads the file; none named is nothing told.
pub(super) fn read(file: &str) -> Outcome<Dns> {
    if file.is_empty() {
        return Ok(Dns::default());
    }
    std::fs::read_to_string(file)
        .map(|text| parse(&text))
        .doing(|| format!("failed to read {file}"))
}

fn parse(text: &str) -> Dns {
    let mut dns = Dns::default();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        let mut words = line.split_whitespace().map(str::to_owned);
        match words.next().as_deref() {
            Some("nameserver") => dns.nameservers.extend(words.next()),
            Some("domain") => dns.domain = words.next().unwrap_or_default(),
            Some("search") => dns.search.extend(words),
            Some("options") => dns.options.extend(words),
            _ => {}
        }
    }
    dns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_resolvers_do() {
        let dns = parse(
            "# x\nnameserver 10.0.0.1\nnameserver  fd00::1 \n;y\ndomain a.b\nsearch c d\noptions ndots:5\nnameserver\n",
        );
        assert_eq!(dns.nameservers, ["10.0.0.1", "fd00::1"]);
        assert_eq!((dns.domain.as_str(), dns.search.len(), dns.options.len()), ("a.b", 2, 1));
    }
}
