//! Configuration files.

use landbridge_dns::Settings;
use landbridge_dns::settings::{Domain, Rdata, Route};

fn parse(text: &str) -> Settings {
    let (settings, warnings) = Settings::parse("conf", text);
    assert_eq!(warnings, []);
    settings
}

/// The reason why a line is not taken.
fn why(line: &str) -> String {
    let (settings, warnings) = Settings::parse("conf", line);
    assert_eq!(warnings.len(), 1, "{line}: {warnings:?}");
    assert_eq!(settings, Settings::default(), "{line} is wrong and changed something");
    assert!(!warnings[0].help.is_empty(), "{line}: nothing to do about it");
    warnings[0].why.clone()
}

#[test]
fn lines() {
    let settings = parse(
        "# comment\n\n  port = 5353  # why\nno-hosts\nno-resolv=\ntxt-record=a.b,\"x, # y\",z\\,\n\
         txt-record = c.d , e ",
    );
    assert_eq!(settings.port, 5353);
    assert!(settings.no_hosts && settings.no_resolv);
    let texts: Vec<&Rdata> = settings.records.iter().map(|record| &record.data).collect();
    // A comma within quotes is a part of the text; a backslash outside of them is one too.
    assert_eq!(*texts[0], Rdata::Bytes(b"\x06x, # y\x02z\\".as_slice().into()));
    assert_eq!(*texts[1], Rdata::Bytes(b"\x01e".as_slice().into()));
}

#[test]
fn the_arguments_of_the_deployment() {
    let mut settings = Settings::default();
    let arguments = [
        ("interface", Some("*")),
        ("conf-dir", Some("/etc/dnsmasq.d")),
        ("hostsdir", Some("/etc/dnsmasq.d/hosts")),
        ("keep-in-foreground", None),
        ("pid-file", Some("")),
        ("log-debug", None),
        ("bind-interfaces", None),
        ("listen-address", Some("10.0.0.5")),
        ("port", Some("5353")),
        ("log-facility", Some("-")),
        ("no-hosts", None),
        ("domain-needed", None),
        ("no-resolv", None),
        ("bogus-priv", None),
        ("log-queries", None),
        ("no-daemon", None),
        ("test", None),
    ];
    for (key, value) in arguments {
        settings.option(key, value).unwrap();
    }
    assert_eq!(settings.interfaces, ["*"]);
    assert_eq!(settings.hostsdirs, ["/etc/dnsmasq.d/hosts"]);
    assert_eq!(settings.conf_dirs, ["/etc/dnsmasq.d"]);
    assert_eq!(settings.pid_file, None);
    assert_eq!(settings.port, 5353);
    assert!(
        settings.domain_needed
            && settings.bogus_priv
            && settings.log_queries
            && settings.bind_interfaces
    );
}

#[test]
fn servers() {
    let settings = parse(
        "server=10.0.0.1\nserver=fd00::1#5353@eth0\nserver=10.0.0.2@10.0.0.9#1000\nserver=/#/10.0.0.3\n\
         server=/a.example/B.example/10.0.0.4#54\nserver=//10.0.0.5\nserver=/*glob/10.0.0.6\n\
         server=/c.example/#\nlocal=/d.example/\naddress=/e.example/1.2.3.4\naddress=/f.example/#\n\
         server=fe80::1%3",
    );
    let servers: Vec<String> = settings
        .servers
        .iter()
        .map(|s| format!("{} {:?} {:?}", s.address, s.source, s.interface))
        .collect();
    assert_eq!(
        servers,
        [
            "10.0.0.1:53 None None",
            "[fd00::1]:5353 None Some(\"eth0\")",
            "10.0.0.2:53 Some(10.0.0.9:1000) None",
            "10.0.0.3:53 None None",
            "[fe80::1%3]:53 None None",
        ]
    );
    let rules: Vec<String> = settings
        .rules
        .iter()
        .map(|rule| {
            let domain = match &rule.domain {
                Domain::Below(name) => name.to_string(),
                Domain::Ending(text) => format!("*{text}"),
                Domain::Plain => "plain".to_owned(),
            };
            let route = match &rule.route {
                Route::Server(server) => server.address.to_string(),
                other => format!("{other:?}"),
            };
            format!("{domain}: {route}")
        })
        .collect();
    assert_eq!(
        rules,
        [
            "a.example: 10.0.0.4:54",
            "b.example: 10.0.0.4:54",
            "plain: 10.0.0.5:53",
            "*glob: 10.0.0.6:53",
            "c.example: Default",
            "d.example: Local",
            "e.example: Address(1.2.3.4)",
            "f.example: Zeros",
        ]
    );
}

#[test]
fn networks_of_reverse_lookups() {
    let domains = |line: &str| -> Vec<String> {
        let rules = parse(line).rules;
        rules
            .iter()
            .map(|rule| match &rule.domain {
                Domain::Below(name) => name.to_string(),
                other => format!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(domains("rev-server=10.7.0.0/16,10.0.0.1"), ["7.10.in-addr.arpa"]);
    assert_eq!(domains("rev-server=10.7.0.9,10.0.0.1"), ["9.0.7.10.in-addr.arpa"]);
    assert_eq!(
        domains("rev-server=10.8.0.0/15,10.0.0.1"),
        ["8.10.in-addr.arpa", "9.10.in-addr.arpa"]
    );
    assert_eq!(domains("rev-server=fd00:7::/28,10.0.0.1"), ["0.0.0.0.0.d.f.ip6.arpa"]);
    assert_eq!(domains("rev-server=10.0.0.0/25,10.0.0.1").len(), 128);
}

#[test]
fn every_key_of_dnsmasq_custom_resources() {
    let settings = parse(
        "server=10.0.0.1\nrev-server=10.0.0.0/8,10.0.0.1\nsrv-host=_a._tcp.b,c,1\ntxt-record=a,b\n\
         ptr-record=a.b,c.d\nrebind-domain-ok=/a.b/c.d/\nnaptr-record=a,1,2,s,b,c\ncname=a.b,c.d\n\
         host-record=a,10.0.0.1\ncaa-record=a,0,issue,b\ndns-rr=a,65,00\nauth-zone=a.b,10.0.0.0/8\n\
         synth-domain=a.b,10.0.0.0/24,x-\nno-negcache\nlocal=/x.svc/\nlocal-ttl=1\ndhcp-ttl=2\nmax-ttl=3",
    );
    assert_eq!((settings.local_ttl, settings.max_ttl), (1, 3));
    assert!(settings.no_negcache);
    assert_eq!(settings.records.len(), 6);
    assert_eq!(settings.rebind_domain_ok.len(), 2);
}

#[test]
fn wrong_lines_say_why() {
    for (line, expected) in [
        ("servr=10.0.0.1", "the option \"servr\" is unknown"),
        ("server", "server has no value"),
        ("server=10.0.0", "\"10.0.0\" is no address of a server"),
        ("server=10.0.0.1#99999", "\"99999\" is no port"),
        ("server=10.0.0.1#0", "nobody listens on port 0"),
        ("server=/a.example", "the list of domains does not end"),
        (
            "server=/a..b/10.0.0.1",
            "the name \"a..b\" has an empty label (two dots in a row, or one at the start)",
        ),
        ("server=10.0.0.1@fd00::1", "the source and the server are of different families"),
        ("address=10.0.0.1", "names no domain"),
        ("address=/a/b", "\"b\" is no address"),
        ("rev-server=10.0.0.0/33,10.0.0.1", "\"10.0.0.0/33\" is no network"),
        ("rev-server=10.0.0.0/0,10.0.0.1", "a prefix length of 0 is all addresses"),
        ("cname=a", "has no target"),
        ("host-record=a", "has no address"),
        ("host-record=10.0.0.1", "has no name"),
        ("srv-host=_a._tcp.b,c,70000", "\"70000\" is no port"),
        ("srv-host=_a._tcp.b,c,1,2,3,4", "has 6 fields, 5 at most"),
        ("naptr-record=a,1,2,s", "has too few fields"),
        ("caa-record=a,0,issue", "has too few fields"),
        ("caa-record=a,999,issue,b", "\"999\" is no flags"),
        ("dns-rr=a,b", "has no number of a type"),
        ("dns-rr=a,65,012", "the data is not hexadecimal"),
        ("synth-domain=a.b", "has no range of addresses"),
        ("synth-domain=a.b,10.0.0.9,10.0.0.1,x-", "10.0.0.9 to 10.0.0.1 is no range"),
        ("synth-domain=a.b,10.0.0.0/24,x y", "\"x y\" cannot begin a host name"),
        ("synth-domain=a.b,fd00::/56,x-*", "the range leaves its /64"),
        ("auth-zone=a.b,eth0", "\"eth0\" is no network"),
        ("local-ttl=soon", "\"soon\" is no number that local-ttl can be"),
        ("max-ttl=-1", "\"-1\" is no number that max-ttl can be"),
        ("no-hosts=yes", "no-hosts takes no value, and has \"yes\""),
        ("txt-record=a,\"b", "a quote is not closed"),
        ("dhcp-range=10.0.0.1,10.0.0.9", "dhcp-range of dnsmasq has no effect here"),
        ("dnssec-check-unsigned", "dnssec-check-unsigned of dnsmasq has no effect here"),
        ("txt-record=,b", "the name \"\" is empty"),
    ] {
        assert_eq!(why(line), expected, "{line}");
    }
}

#[test]
fn contradictions_keep_the_first() {
    let (settings, warnings) = Settings::parse(
        "conf",
        "cname=a.b,c.d\ncname=A.b,e.f\ncname=c.d,a.b\ncname=x.y,x.y\ntxt-record=t,1\ntxt-record=t,1\n\
         auth-zone=z.z\nauth-zone=z.z,10.0.0.0/8\ncname=g.h,a.b\n",
    );
    let shown: Vec<String> = warnings.iter().map(|w| format!("{}: {}", w.line, w.why)).collect();
    assert_eq!(
        shown,
        [
            "2: A.b is an alias already",
            "3: c.d would be an alias of itself",
            "4: x.y would be an alias of itself",
            "6: stands here twice",
            "8: this zone is there already",
        ]
    );
    assert_eq!(settings.cnames.len(), 2);
    assert_eq!(settings.records.len(), 1);
    assert_eq!(settings.auth_zones.len(), 1);
}
