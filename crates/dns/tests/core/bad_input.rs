//! What an administrator may get wrong, and what is left of the rest: the page of docs/dns-options.md.

use landbridge_dns::{Catalog, Settings, hosts};

use crate::ask::answers;

#[test]
fn one_wrong_line_takes_nothing_else_away() {
    let (settings, warnings) = Settings::parse(
        "/etc/dnsmasq.d/config.cfg",
        "host-record=a.example.com,10.0.0.1\nserver=300.1.1.1\nlocal=/example.com/\n",
    );
    let (entries, more) = hosts::parse(
        "/etc/dnsmasq.d/hosts/edpm",
        "10.0.0.2 b.example.com\nhost-ip-1 c.example.com\n10.0.0.3 d..example.com e.example.com\n",
    );
    let shown: Vec<String> = warnings.iter().chain(&more).map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "/etc/dnsmasq.d/config.cfg:2: \"server=300.1.1.1\": \"300.1.1.1\" is no address of a server; \
             give its address: names of servers are not looked up",
            "/etc/dnsmasq.d/hosts/edpm:2: \"host-ip-1\": is no address, so that the line is left out; \
             write an IPv4 or IPv6 address at the start of the line",
            "/etc/dnsmasq.d/hosts/edpm:3: \"d..example.com\": has an empty label (two dots in a row, or one at \
             the start), so that it is left out; use letters, digits and - with dots between the labels, at \
             most 63 per label",
        ]
    );
    let catalog = Catalog::new(settings).with_hosts("edpm", Some(entries));
    assert_eq!(answers(&catalog, "a.example.com", 1), "A 10.0.0.1");
    assert_eq!(answers(&catalog, "b.example.com", 1), "A 10.0.0.2");
    assert_eq!(answers(&catalog, "e.example.com", 1), "A 10.0.0.3");
    assert_eq!(answers(&catalog, "c.example.com", 1), "NXDOMAIN");
}
