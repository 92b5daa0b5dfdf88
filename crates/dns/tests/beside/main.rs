//! The same files and the same questions to dnsmasq and to us, in one run: equal answers, or a difference
//! that [`differences`] lists with its reason.
//!
//! dnsmasq is Debian's (`scripts/ensure-dnsmasq`); without it the test says so and is skipped. Questions that
//! either of the two does not answer itself go to small servers of this test, which answer with their port.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
#![allow(clippy::format_collect)] // small texts

mod asked;
mod compare;
mod differences;
mod dnsmasq;

use std::fs;
use std::net::{IpAddr, Ipv4Addr};

use compare::{Reply, Theirs};
use dnsmasq::{Dnsmasq, Stub};
use landbridge_dns::{Arrival, Catalog, Outcome, Settings, Transport, answer, hosts};

/// One configuration, and who asks from where.
struct Scene {
    name: &'static str,
    settings: &'static str,
    /// In the order of the command line.
    hosts: &'static [&'static str],
    /// Lines for both sides.
    more: &'static str,
    /// Lines for dnsmasq: on which address it is.
    listen: &'static str,
    authoritative: bool,
    questions: usize,
}

const SCENES: [Scene; 4] = [
    Scene {
        name: "general",
        settings: include_str!("files/general.conf"),
        hosts: &[include_str!("files/general.hosts"), include_str!("files/second.hosts")],
        more: "",
        listen: "listen-address=127.0.0.1\n",
        authoritative: false,
        questions: 4000,
    },
    Scene {
        name: "zone, asked from home",
        settings: include_str!("files/zone.conf"),
        hosts: &[include_str!("files/zone.hosts")],
        more: "auth-server=ns.example.net,192.0.2.250\n",
        listen: "listen-address=127.0.0.1\n",
        authoritative: false,
        questions: 1500,
    },
    Scene {
        name: "zone, asked from outside",
        settings: include_str!("files/zone.conf"),
        hosts: &[include_str!("files/zone.hosts")],
        more: "auth-server=ns.example.net,lo/4\n",
        listen: "listen-address=::1\n",
        authoritative: true,
        questions: 1500,
    },
    Scene {
        name: "deployment",
        settings: include_str!("files/deployment.conf"),
        hosts: &[include_str!("files/deployment.hosts")],
        more: "",
        listen: "listen-address=127.0.0.1\n",
        authoritative: false,
        questions: 1000,
    },
];

#[test]
fn answers_are_those_of_dnsmasq() {
    if !dnsmasq::is_there() {
        return dnsmasq::skip("no dnsmasq; scripts/ensure-dnsmasq installs it");
    }
    let mut used = differences::Used::default();
    let mut wrong = Vec::new();
    let mut asked = 0;
    for scene in &SCENES {
        asked += play(scene, &mut used, &mut wrong);
    }
    println!("{asked} questions\n{used}");
    assert!(wrong.is_empty(), "{} of {asked} differ:\n{}", wrong.len(), first(&wrong, 400));
    // A difference that no longer is one would hide the next.
    assert_eq!(used.unused(), Vec::<&str>::new(), "listed differences that did not show");
}

fn first(wrong: &[String], most: usize) -> String {
    wrong[..wrong.len().min(most)].join("\n")
}

/// Asks both sides, and says how many questions that were.
fn play(scene: &Scene, used: &mut differences::Used, wrong: &mut Vec<String>) -> usize {
    let stubs = [Stub::start(), Stub::start()];
    let text = format!("{}{}", scene.settings, scene.more)
        .replace("@DEFAULT@", &stubs[0].port().to_string())
        .replace("@DOMAIN@", &stubs[1].port().to_string());
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<String> = (0..)
        .zip(scene.hosts)
        .map(|(number, text)| {
            let path = folder.path().join(format!("hosts{number}"));
            fs::write(&path, text).unwrap();
            path.to_string_lossy().into_owned()
        })
        .collect();
    let addn: String = files.iter().map(|file| format!("addn-hosts={file}\n")).collect();
    let text = text + &addn;

    let theirs = Dnsmasq::start(&format!("{text}{}", scene.listen), folder.path());
    let catalog = catalog(&text, &files, scene.hosts);
    let arrival = Arrival {
        authoritative: scene.authoritative,
        ..Arrival::new(Transport::Udp, IpAddr::V4(Ipv4Addr::LOCALHOST))
    };
    let questions = asked::questions(scene.settings, scene.hosts, scene.questions);
    for question in &questions {
        let message = question.message();
        let mut out = [0; 4096];
        let ours = match answer(&catalog, &message, &arrival, &mut out) {
            Outcome::Reply(length) => match Reply::read(&out[..length]) {
                Ok(reply) => Some(reply),
                Err(error) => {
                    panic!("{}: {question}: our reply cannot be read: {error}", scene.name)
                }
            },
            Outcome::Forward(forward) => {
                Some(Reply::forwarded(forward.servers.iter().map(|server| server.address.port())))
            }
            Outcome::Drop => None,
        };
        // What it does not answer at all is of these; for the rest a busy machine may need a second question.
        let patience = if question.opcode == 0 && question.qclass == 1 { 8 } else { 1 };
        let theirs = (0..patience)
            .map(|_| theirs.ask(&message))
            .find(|theirs| !matches!(theirs, Theirs::Nothing))
            .unwrap_or(Theirs::Nothing);
        if let Some(difference) = compare::differ(ours.as_ref(), &theirs) {
            match differences::reason(scene.name, question, ours.as_ref(), &theirs) {
                Some(reason) => used.note(reason),
                None => wrong.push(format!("[{}] {question}: {difference}", scene.name)),
            }
        }
    }
    questions.len()
}

/// Our side, from the same text.
fn catalog(text: &str, files: &[String], hosts: &[&str]) -> Catalog {
    let (settings, warnings) = Settings::parse("dnsmasq.conf", text);
    assert!(warnings.is_empty(), "{warnings:?}");
    let mut catalog = Catalog::new(settings);
    for (file, text) in files.iter().zip(hosts) {
        let (entries, _) = hosts::parse(file, text);
        catalog = catalog.with_hosts(file, Some(entries));
    }
    catalog
}
