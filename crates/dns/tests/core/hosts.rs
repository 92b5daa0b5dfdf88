//! Hosts files.

use landbridge_dns::hosts::parse;

fn entries(text: &str) -> Vec<String> {
    let (hosts, _) = parse("hosts", text);
    hosts
        .iter()
        .map(|host| {
            let name = landbridge_dns::wire::Name::from_wire(host.name).unwrap();
            format!("{} {name}", host.address)
        })
        .collect()
}

#[test]
fn lines_that_are_right() {
    let text = "\
# a comment
10.0.0.1 Host1.example.com  host1\t\tthird.
  fd00::1 host1.example.com   # and another

10.0.0.2 münchen.example.com x_y -odd-.example.com\r
";
    assert_eq!(
        entries(text),
        [
            "10.0.0.1 host1.example.com",
            "10.0.0.1 host1",
            "10.0.0.1 third",
            "fd00::1 host1.example.com",
            "10.0.0.2 xn--mnchen-3ya.example.com",
            "10.0.0.2 x_y",
            "10.0.0.2 -odd-.example.com",
        ]
    );
    assert_eq!(parse("hosts", text).1, []);
}

#[test]
fn wrong_entries_are_named_and_the_good_ones_stay() {
    let long = "x".repeat(64);
    let text = format!(
        "host-ip-1 a.example.com\n10.0.0.1\n10.0.0.2 bad..name good.example.com {long}.example.com\n\
         10.0.0.3 odd!name\n10.0.0.4 *.apps.example.com\n300.0.0.1 b\n"
    );
    assert_eq!(
        entries(&text),
        ["10.0.0.2 good.example.com", "10.0.0.3 odd!name", "10.0.0.4 *.apps.example.com"]
    );
    let (_, warnings) = parse("/etc/dnsmasq.d/hosts/x", &text);
    let shown: Vec<String> =
        warnings.iter().map(|w| format!("{}: {}: {}", w.line, w.text, w.why)).collect();
    assert_eq!(
        shown,
        [
            "1: host-ip-1: is no address, so that the line is left out".to_owned(),
            "2: 10.0.0.1: has no name".to_owned(),
            "3: bad..name: has an empty label (two dots in a row, or one at the start), so that it is left out"
                .to_owned(),
            format!("3: {long}.example.com: has a label of more than 63 characters, so that it is left out"),
            "4: odd!name: holds '!', which no host name should; it is served as it stands".to_owned(),
            "5: *.apps.example.com: holds '*', which no host name should; it is served as it stands".to_owned(),
            "6: 300.0.0.1: is no address, so that the line is left out".to_owned(),
        ]
    );
    assert!(warnings[5].help.contains("address=/domain/address"), "{}", warnings[5].help);
    assert_eq!(
        warnings[0].to_string(),
        "/etc/dnsmasq.d/hosts/x:1: \"host-ip-1\": is no address, so that the line is left out; \
         write an IPv4 or IPv6 address at the start of the line"
    );
}

#[test]
fn duplicates_and_contradictions() {
    let text = "10.0.0.1 a b\n10.0.0.1 a\n10.0.0.1 c\n10.0.0.2 a\n";
    assert_eq!(entries(text), ["10.0.0.1 a", "10.0.0.1 b", "10.0.0.1 c", "10.0.0.2 a"]);
    let (_, warnings) = parse("hosts", text);
    let shown: Vec<String> =
        warnings.iter().map(|w| format!("{}: {}: {}", w.line, w.text, w.why)).collect();
    assert_eq!(
        shown,
        [
            "2: a: is a name of 10.0.0.1 already",
            "3: c: is a second entry of 10.0.0.1: line 1 is the first, and says what the reverse lookup answers",
        ]
    );
}

#[test]
fn a_file_of_nothing_but_errors_does_not_flood() {
    let text = "nonsense\n".repeat(5000);
    let (hosts, warnings) = parse("hosts", &text);
    assert!(hosts.is_empty());
    assert_eq!(warnings.len(), 1001);
    assert_eq!(warnings[1000].why, "4000 more entries are wrong");
}
