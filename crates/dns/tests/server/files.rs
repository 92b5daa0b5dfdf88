//! Files that change while the server runs.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::lab::{A, Client, Lab};

#[test]
fn every_way_to_change_a_file_is_seen() {
    let lab = Lab::start(&[("hosts/data", "192.0.2.1 a.example\n")], &[]);
    lab.wait_for("a.example", &["192.0.2.1"]);
    // In place.
    fs::write(lab.path("hosts/data"), "192.0.2.2 a.example\n").unwrap();
    lab.wait_for("a.example", &["192.0.2.2"]);
    // As editors do.
    fs::write(lab.path("hosts/.data.new"), "192.0.2.3 a.example\n").unwrap();
    fs::rename(lab.path("hosts/.data.new"), lab.path("hosts/data")).unwrap();
    lab.wait_for("a.example", &["192.0.2.3"]);
    // A new one, and one less.
    fs::write(lab.path("hosts/more"), "192.0.2.4 b.example\n").unwrap();
    lab.wait_for("b.example", &["192.0.2.4"]);
    fs::remove_file(lab.path("hosts/more")).unwrap();
    lab.wait_for("b.example", &[]);
    // What is nobody's hosts file.
    fs::write(lab.path("hosts/data~"), "192.0.2.9 a.example\n").unwrap();
    fs::write(lab.path("hosts/data"), "192.0.2.5 a.example\n").unwrap();
    lab.wait_for("a.example", &["192.0.2.5"]);
}

#[test]
fn kubernetes_swaps_a_directory() {
    let lab = Lab::start(&[], &[]);
    let hosts = lab.path("hosts");
    let version = |number: u8| {
        let directory = hosts.join(format!("..2026_{number}"));
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("cm"), format!("192.0.2.{number} a.example\n")).unwrap();
        directory
    };
    let first = version(1);
    symlink(first.file_name().unwrap(), hosts.join("..data")).unwrap();
    symlink("..data/cm", hosts.join("cm")).unwrap();
    lab.wait_for("a.example", &["192.0.2.1"]);
    for number in 2..6 {
        let next = version(number);
        symlink(next.file_name().unwrap(), hosts.join("..data_tmp")).unwrap();
        fs::rename(hosts.join("..data_tmp"), hosts.join("..data")).unwrap();
        lab.wait_for("a.example", &[&format!("192.0.2.{number}")]);
    }
    fs::remove_dir_all(first).unwrap();
    lab.wait_for("a.example", &["192.0.2.5"]);
}

#[test]
fn a_single_file_and_a_directory_that_come_later() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("later/hosts");
    let option = format!("--addn-hosts={}", file.display());
    let lab = Lab::start(&[], &[&option]);
    lab.wait_for("a.example", &[]);
    fs::create_dir(directory.path().join("later")).unwrap();
    thread::sleep(Duration::from_millis(100));
    fs::write(&file, "192.0.2.7 a.example\n").unwrap();
    lab.wait_for("a.example", &["192.0.2.7"]);
}

#[test]
fn settings_are_read_again_too() {
    let lab = Lab::start(&[("conf", "address=/a.example/192.0.2.1\n")], &[]);
    lab.wait_for("www.a.example", &["192.0.2.1"]);
    fs::write(lab.path("conf"), "address=/a.example/192.0.2.2\nno such option\n").unwrap();
    lab.wait_for("www.a.example", &["192.0.2.2"]);
}

#[test]
fn half_a_file_is_not_told() {
    use std::io::Write as _;

    let lab = Lab::start(&[("hosts/data", "192.0.2.1 a.example\n192.0.2.2 b.example\n")], &[]);
    lab.wait_for("b.example", &["192.0.2.2"]);
    // Somebody writes slowly, in place: truncated, one line, a pause, the other.
    let mut file = fs::File::create(lab.path("hosts/data")).unwrap();
    file.write_all(b"192.0.2.3 a.example\n").unwrap();
    // Something else changes meanwhile and makes the server look.
    fs::write(lab.path("hosts/other"), "192.0.2.8 c.example\n").unwrap();
    lab.wait_for("c.example", &["192.0.2.8"]);
    assert_eq!(lab.ask("b.example", A).addresses, ["192.0.2.2"]);
    assert_eq!(lab.ask("a.example", A).addresses, ["192.0.2.1"]);
    file.write_all(b"192.0.2.4 b.example\n").unwrap();
    drop(file);
    lab.wait_for("b.example", &["192.0.2.4"]);
    lab.wait_for("a.example", &["192.0.2.3"]);
}

/// While a file changes again and again, every query is answered, and names that stay, stay.
#[test]
fn no_query_fails_while_files_change() {
    let text = |number: u32| {
        let mut text = String::from("192.0.2.1 steady.example\n");
        for host in 0..2000_u32 {
            let (a, b, c) = (number % 200, host / 250, host % 250);
            writeln!(text, "10.{a}.{b}.{c} host{host}.example").unwrap();
        }
        text
    };
    let lab = Lab::start(&[("hosts/data", &text(0))], &[]);
    let stop = Arc::new(AtomicBool::new(false));
    let (asked, failed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (0..3)
        .map(|number| {
            let (stop, asked, failed) =
                (Arc::clone(&stop), Arc::clone(&asked), Arc::clone(&failed));
            let address = lab.address;
            thread::spawn(move || {
                let client = Client::new(address);
                while !stop.load(Ordering::Relaxed) {
                    let steady = client.ask("steady.example", A);
                    let other = client.ask(&format!("host{number}.example"), A);
                    asked.fetch_add(2, Ordering::Relaxed);
                    let good = steady.is_some_and(|reply| reply.addresses == ["192.0.2.1"])
                        && other.is_some_and(|reply| reply.addresses.len() == 1);
                    if !good {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    for number in 1..30 {
        if number % 2 == 0 {
            fs::write(lab.path("hosts/data"), text(number)).unwrap();
        } else {
            fs::write(lab.path("hosts/.new"), text(number)).unwrap();
            fs::rename(lab.path("hosts/.new"), lab.path("hosts/data")).unwrap();
        }
        lab.wait_for("host0.example", &[&format!("10.{number}.0.0")]);
    }
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().unwrap();
    }
    assert_eq!(failed.load(Ordering::Relaxed), 0, "of {}", asked.load(Ordering::Relaxed));
    assert!(asked.load(Ordering::Relaxed) > 500);
}

#[test]
fn a_warning_is_told_once_and_names_the_entry() {
    use landbridge_dns::follow::{Files, Options};

    let directory = tempfile::tempdir().unwrap();
    let hosts = directory.path().join("hosts");
    let conf = directory.path().join("conf");
    fs::write(&conf, "frobnicate=1\n").unwrap();
    fs::write(&hosts, "192.0.2.300 bad.example\n192.0.2.1 good.example\n").unwrap();
    let words = [
        format!("--conf-file={}", conf.display()),
        format!("--addn-hosts={}", hosts.display()),
        "--no-hosts".to_owned(),
        "--no-resolv".to_owned(),
        "--nonsense=2".to_owned(),
    ];
    let options = Options::parse(words.iter().map(String::as_str)).unwrap();
    let (mut files, first) = Files::open(options);
    let text = first.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for part in ["192.0.2.300", "frobnicate", "--nonsense=2", "hosts:1", "conf:1", "command line"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(first.warnings.len(), 3);
    let again = files.refresh(|_| false);
    assert!(!again.changed && again.warnings.is_empty());
    // The wrong entry stays, another comes: only that one is told.
    fs::write(&hosts, "192.0.2.300 bad.example\n192.0.2.1 good.example\n192.0.2.2 bad..example\n")
        .unwrap();
    let third = files.refresh(|_| false);
    assert!(third.changed && !third.settings);
    assert_eq!(third.warnings.len(), 1, "{:?}", third.warnings);
    assert_eq!(files.settings_warnings().count(), 2);
}
