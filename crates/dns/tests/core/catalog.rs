//! Catalogues that are made from catalogues.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Instant;

use landbridge_dns::wire::{Key, Name};
use landbridge_dns::{Catalog, Settings, hosts};
use proptest::prelude::*;

use crate::ask::answers;

fn with(catalog: &Catalog, file: &str, text: &str) -> Catalog {
    catalog.with_hosts(file, Some(hosts::parse(file, text).0))
}

fn knows(catalog: &Catalog, name: &str) -> bool {
    catalog.knows(&Key::from(&Name::from_text(name).unwrap()))
}

#[test]
fn files_come_and_go() {
    let empty = Catalog::new(Settings::default());
    let one = with(&empty, "one", "10.0.0.1 a.x\n10.0.0.2 b.x\n");
    let two = with(&one, "two", "10.0.0.3 a.x\n");
    assert_eq!(answers(&two, "a.x", 1), "A 10.0.0.1, A 10.0.0.3");
    // The one before did not change.
    assert_eq!(answers(&one, "a.x", 1), "A 10.0.0.1");
    let less = two.with_hosts("one", None);
    assert_eq!(answers(&less, "a.x", 1), "A 10.0.0.3");
    assert_eq!(answers(&less, "b.x", 1), "REFUSED");
    assert_eq!(answers(&less, "1.0.0.10.in-addr.arpa", 12), "REFUSED");
    let none = less.with_hosts("two", None).with_hosts("three", None);
    assert_eq!(answers(&none, "a.x", 1), "REFUSED");
    assert!(!knows(&none, "x"), "its last name is gone");
    assert_eq!(none.hosts_files().count(), 0);
}

#[test]
fn names_above_hosts_exist() {
    let catalog = with(&Catalog::new(Settings::default()), "one", "10.0.0.1 a.b.c.d\n");
    for name in ["a.b.c.d", "b.c.d", "c.d", "d"] {
        assert!(knows(&catalog, name), "{name}");
    }
    for name in ["x.a.b.c.d", "a.b.c", "."] {
        assert!(!knows(&catalog, name), "{name}");
    }
}

#[test]
fn the_first_file_names_an_address() {
    let (settings, _) = Settings::parse("conf", "addn-hosts=/early\naddn-hosts=/late\n");
    let mut catalog = Catalog::new(settings);
    let reverse = |catalog: &Catalog| answers(catalog, "1.0.0.10.in-addr.arpa", 12);
    for (file, name, expected) in [
        ("/dir/zz", "zz.x", "PTR zz.x."),
        ("/dir/aa", "aa.x", "PTR aa.x."),
        ("/early", "early.x", "PTR early.x."),
        ("/late", "late.x", "PTR late.x."),
        ("/etc/hosts", "etc.x", "PTR etc.x."),
    ] {
        catalog = with(&catalog, file, &format!("10.0.0.1 {name}\n10.0.0.1 second-{name}\n"));
        assert_eq!(reverse(&catalog), expected, "{file}");
    }
    for (file, expected) in
        [("/etc/hosts", "PTR late.x."), ("/late", "PTR early.x."), ("/early", "PTR aa.x.")]
    {
        catalog = catalog.with_hosts(file, None);
        assert_eq!(reverse(&catalog), expected, "without {file}");
    }
}

#[test]
fn other_settings_keep_the_hosts() {
    let catalog = with(&Catalog::new(Settings::default()), "one", "10.0.0.1 a\n");
    let (settings, _) = Settings::parse("conf", "expand-hosts\ndomain=x.y\nlocal-ttl=9\n");
    let other = catalog.with_settings(settings);
    assert_eq!(answers(&other, "a.x.y", 1), "A 10.0.0.1");
    assert_eq!(answers(&other, "1.0.0.10.in-addr.arpa", 12), "PTR a.x.y.");
    assert_eq!(answers(&catalog, "a.x.y", 1), "REFUSED");
}

/// What a catalogue should hold: for each file its pairs.
type Model = BTreeMap<u8, Vec<(u8, u8)>>;

fn address(number: u8) -> IpAddr {
    if number.is_multiple_of(3) {
        IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, u16::from(number)])
    } else {
        IpAddr::from([10, 0, 0, number])
    }
}

fn check(catalog: &Catalog, model: &Model) {
    for number in 0..24 {
        let name = format!("n{number}.x");
        for (qtype, v4) in [(1, true), (28, false)] {
            let mut expected: Vec<String> = model
                .values()
                .flatten()
                .filter(|(of, to)| *of == number && address(*to).is_ipv4() == v4)
                .map(|(_, to)| format!("{} {}", if v4 { "A" } else { "AAAA" }, address(*to)))
                .collect();
            expected.sort();
            expected.dedup();
            let expected =
                if expected.is_empty() { "REFUSED".to_owned() } else { expected.join(", ") };
            assert_eq!(answers(catalog, &name, qtype), expected, "{name} {model:?}");
        }
        // Of the first file that has the address, the first name.
        let reverse = match address(number) {
            IpAddr::V4(v4) => {
                let [a, b, c, d] = v4.octets();
                format!("{d}.{c}.{b}.{a}.in-addr.arpa")
            }
            IpAddr::V6(v6) => {
                let bits = v6.to_bits();
                let nibbles: Vec<String> =
                    (0..32).map(|at| format!("{:x}", (bits >> (4 * at)) & 15)).collect();
                nibbles.join(".") + ".ip6.arpa"
            }
        };
        let first = model.values().find_map(|pairs| pairs.iter().find(|(_, to)| *to == number));
        let expected = first.map_or("REFUSED".to_owned(), |(of, _)| format!("PTR n{of}.x."));
        assert_eq!(answers(catalog, &reverse, 12), expected, "{reverse} {model:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever files come, change and go in which order: the catalogue holds what the last ones say.
    #[test]
    fn holds_what_the_files_say(
        steps in prop::collection::vec(
            (0u8..6, prop::option::weighted(0.8, prop::collection::vec((0u8..24, 0u8..24), 0..30))),
            1..14,
        )
    ) {
        let mut catalog = Catalog::new(Settings::default());
        let mut model = Model::new();
        for (file, pairs) in steps {
            let name = format!("file{file}");
            catalog = if let Some(pairs) = pairs {
                let text: String =
                    pairs.iter().map(|(of, to)| format!("{} n{of}.x\n", address(*to))).collect();
                model.insert(file, pairs);
                with(&catalog, &name, &text)
            } else {
                model.remove(&file);
                catalog.with_hosts(&name, None)
            };
        }
        check(&catalog, &model);
    }
}

/// A hundred thousand hosts in one file.
pub fn many(count: u32) -> String {
    (0..count)
        .map(|n| {
            let [_, b, c, d] = n.to_be_bytes();
            format!("10.{b}.{c}.{d} edpm-compute-{n}.ctlplane.example.com\n")
        })
        .collect()
}

#[test]
fn every_one_of_many_hosts_is_found() {
    let catalog = with(&Catalog::new(Settings::default()), "many", &many(100_000));
    for n in (0..100_000u32).step_by(7) {
        let [_, b, c, d] = n.to_be_bytes();
        let name = format!("edpm-compute-{n}.ctlplane.example.com");
        assert_eq!(answers(&catalog, &name, 1), format!("A 10.{b}.{c}.{d}"));
        let reverse = format!("{d}.{c}.{b}.10.in-addr.arpa");
        assert_eq!(answers(&catalog, &reverse, 12), format!("PTR {name}."));
    }
    assert_eq!(answers(&catalog, "edpm-compute-100000.ctlplane.example.com", 1), "REFUSED");
}

/// A large file is not made anew as a whole. Whatever changes in it, it answers like one that was never anything else.
#[test]
fn a_large_file_that_changes_is_as_if_read_for_the_first_time() {
    let empty = Catalog::new(Settings::default());
    let mut lines: Vec<String> = many(6000).lines().map(str::to_owned).collect();
    let mut changing = with(&empty, "large", &(lines.join("\n") + "\n"));
    let compute = |n: u32| format!("edpm-compute-{n}.ctlplane.example.com");
    let edits: [fn(&mut Vec<String>); 9] = [
        |lines| lines[7] = lines[7].replace("10.0.0.7 ", "10.9.0.7 "),
        |lines| lines[8] = "10.0.0.8 renamed.elsewhere.example.org".to_owned(),
        |lines| drop(lines.remove(9)),
        // The names above it are gone with it.
        |lines| lines[8] = "10.0.0.8 edpm-compute-8.ctlplane.example.com".to_owned(),
        |lines| lines.push("10.0.0.1 second.example.com".to_owned()),
        // Who is first names the address.
        |lines| lines.rotate_right(1),
        |lines| lines.push("10.0.0.1 third.example.com fourth.example.com".to_owned()),
        |lines| lines.rotate_right(1),
        // Two hosts change places.
        |lines| {
            lines[20] = "10.0.0.30 edpm-compute-20.ctlplane.example.com".to_owned();
            lines[30] = "10.0.0.20 edpm-compute-30.ctlplane.example.com".to_owned();
        },
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        edit(&mut lines);
        let text = lines.join("\n") + "\n";
        changing = with(&changing, "large", &text);
        let fresh = with(&empty, "large", &text);
        let names = (0..40).map(compute).chain(
            ["renamed.elsewhere", "elsewhere", "second", "third", "fourth"].map(|name| {
                format!("{name}.example.{}", if name.contains("else") { "org" } else { "com" })
            }),
        );
        for name in names {
            let asked = |catalog: &Catalog| (answers(catalog, &name, 1), knows(catalog, &name));
            assert_eq!(asked(&changing), asked(&fresh), "{name} after edit {number}");
        }
        for reverse in (0..40).map(|n| format!("{n}.0.0.10.in-addr.arpa")) {
            let asked = |catalog: &Catalog| answers(catalog, &reverse, 12);
            assert_eq!(asked(&changing), asked(&fresh), "{reverse} after edit {number}");
        }
    }
    assert_eq!(answers(&changing, "1.0.0.10.in-addr.arpa", 12), "PTR third.example.com.");
    let small = with(&changing, "large", "10.0.0.1 a.x\n");
    assert_eq!(answers(&small, &compute(11), 1), "REFUSED");
    assert!(!knows(&small, "example.com"));
}

/// A small file costs what it holds, not what the others hold; a large one is read again in a fraction of
/// the tenth of a second that the change of a record may take. The limits are wide: this may be a debug build
/// on a shared machine. `make bench` has the figures.
#[test]
fn changes_are_cheap() {
    let text = many(100_000);
    let large = with(&Catalog::new(Settings::default()), "large", &text);
    let start = Instant::now();
    let small = with(&large, "small", "10.200.0.1 new.example.com\n");
    let one = start.elapsed();
    assert_eq!(answers(&small, "new.example.com", 1), "A 10.200.0.1");
    let changed = text.replacen("10.0.0.7 ", "10.200.0.7 ", 1);
    let start = Instant::now();
    let after = with(&small, "large", &changed);
    let all = start.elapsed();
    assert_eq!(answers(&after, "edpm-compute-7.ctlplane.example.com", 1), "A 10.200.0.7");
    println!("one host of a small file: {one:?}; one of a file of 100,000: {all:?}");
    assert!(one.as_millis() < 50, "{one:?} for one host");
    assert!(all.as_millis() < 2000, "{all:?} for a file");
}
