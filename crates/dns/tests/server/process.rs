//! The server as a process of its own: how it is called, how it ends, what a kill leaves behind.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::lab::{A, Client, Lab, SOON};

const WORDS: &str = "LANDBRIDGE_DNS_TEST_WORDS";

/// Not a test but a server: other tests start this program again to run it.
#[test]
#[ignore = "started by other tests"]
fn serve() {
    let words = std::env::var(WORDS).expect("started by another test");
    match landbridge_dns::command::parse(words.split('\n')).unwrap() {
        landbridge_dns::command::Command::Serve(config) => {
            landbridge_dns::command::serve(config).unwrap();
        }
        landbridge_dns::command::Command::Test(config) => {
            let wrong = landbridge_dns::command::test(&config);
            assert!(wrong.is_empty(), "{wrong:?}");
        }
    }
}

fn spawn(words: &[String]) -> Process {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::serve", "--ignored", "--nocapture"])
        .env(WORDS, words.join("\n"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Process(child)
}

struct Process(Child);

impl Process {
    fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    fn wait(&mut self) -> (bool, String) {
        let began = Instant::now();
        while began.elapsed() < SOON {
            if let Some(status) = self.0.try_wait().unwrap() {
                let mut text = String::new();
                self.0.stderr.take().unwrap().read_to_string(&mut text).unwrap();
                return (status.success(), text);
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A lab without a server in it: the files and the address.
fn files(hosts: &str) -> Lab {
    let mut lab = Lab::start(&[("hosts/data", hosts)], &[]);
    lab.server = None;
    lab
}

fn wait_until_it_answers(lab: &Lab, addresses: &[&str]) -> Duration {
    let began = Instant::now();
    while began.elapsed() < SOON {
        let client = Client::new(lab.address);
        client.socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        if client.ask("a.example", A).is_some_and(|reply| reply.addresses == addresses) {
            return began.elapsed();
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("no answer")
}

#[test]
fn killed_and_started_again_it_answers_at_once() {
    let lab = files("192.0.2.1 a.example\n");
    for _ in 0..5 {
        let mut process = spawn(&lab.words(&[]));
        wait_until_it_answers(&lab, &["192.0.2.1"]);
        // A connection is left in the middle: the port has to be free all the same.
        let stream = std::net::TcpStream::connect(lab.address).unwrap();
        process.0.kill().unwrap();
        process.0.wait().unwrap();
        drop(stream);
    }
}

#[test]
fn signals_read_again_and_end() {
    let lab = files("192.0.2.1 a.example\n");
    let pid_file = lab.path("pid").display().to_string();
    let mut process = spawn(&lab.words(&[&format!("--pid-file={pid_file}"), "--user=root"]));
    wait_until_it_answers(&lab, &["192.0.2.1"]);
    let pid: u32 = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    assert_eq!(pid, process.0.id());
    process.signal("-HUP");
    process.signal("-USR1");
    wait_until_it_answers(&lab, &["192.0.2.1"]);
    process.signal("-TERM");
    let (success, text) = process.wait();
    assert!(success, "{text}");
    std::net::UdpSocket::bind(lab.address).expect("its port is free");
}

#[test]
fn root_becomes_nobody_and_still_follows_files_only_root_may_read() {
    if !rustix::process::geteuid().is_root() {
        skip("dns: giving up root's rights", "not root");
        return;
    }
    let lab = files("192.0.2.1 a.example\n");
    let secret = |text: &str| {
        let path = lab.path("hosts/.new");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(path, lab.path("hosts/data")).unwrap();
    };
    std::fs::set_permissions(lab.path("hosts"), std::fs::Permissions::from_mode(0o700)).unwrap();
    secret("192.0.2.2 a.example\n");
    let process = spawn(&lab.words(&[]));
    wait_until_it_answers(&lab, &["192.0.2.2"]);
    // The first worker may answer before the last thread is there.
    let began = Instant::now();
    while threads_without_root(process.0.id()) < 4 {
        assert!(began.elapsed() < SOON, "workers, journal, follower and runtime are not all there");
        thread::sleep(Duration::from_millis(10));
    }
    secret("192.0.2.3 a.example\n");
    wait_until_it_answers(&lab, &["192.0.2.3"]);
}

/// How many threads the server has; each of them has given up root's rights. (The frame of the tests keeps a thread of
/// its own.)
fn threads_without_root(process: u32) -> usize {
    let mut threads = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task")).unwrap() {
        // It may have ended since.
        let Ok(status) = std::fs::read_to_string(thread.unwrap().path().join("status")) else {
            continue;
        };
        let line =
            |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        if !line("Name:").contains("dns-") {
            continue;
        }
        threads += 1;
        assert!(!line("Uid:").contains("\t0\t"), "{status}");
        // Bit 2 reads files, bit 10 binds low ports.
        assert_eq!(line("CapEff:"), "CapEff:\t0000000000000404", "{status}");
        assert_eq!(line("CapPrm:"), "CapPrm:\t0000000000000404", "{status}");
    }
    threads
}

fn skip(what: &str, why: &str) {
    use std::io::Write as _;
    if let Ok(path) = std::env::var("LANDBRIDGE_SKIP_FILE") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "{what}: {why}"));
    }
    eprintln!("skipped: {what}: {why}");
}

/// What the Deployment of both generations calls its server with, but for port and directories.
#[test]
fn the_arguments_of_both_deployments_are_taken() {
    let today = "--interface=* --conf-dir=DIR --hostsdir=DIR/hosts --keep-in-foreground --pid-file= --log-debug \
                 --bind-interfaces --listen-address=127.0.0.1 --port PORT --log-facility=- --no-hosts \
                 --domain-needed --no-resolv --bogus-priv --log-queries";
    let seeds = "--interface=* --conf-dir=DIR --hostsdir=DIR/hosts --keep-in-foreground --no-daemon --log-debug \
                 --bind-interfaces --listen-address=127.0.0.1 --port PORT --log-facility=- --no-hosts \
                 --domain-needed --no-resolv --bogus-priv --log-queries";
    for line in [today, seeds] {
        let lab = files("192.0.2.1 a.example\n");
        std::fs::write(lab.path("config.cfg"), "server=192.0.2.250\nno-negcache\nlocal=/svc/\n")
            .unwrap();
        let port = lab.address.port().to_string();
        let directory = lab.directory.path().display().to_string();
        // Other tests have servers at other addresses of this machine: one interface will do.
        let line = line.replace("DIR", &directory).replace("PORT", &port).replace("=*", "=lo");
        let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        words.push("--test".to_owned());
        let (success, text) = spawn(&words).wait();
        assert!(success, "{text}");
        words.pop();
        let _process = spawn(&words);
        wait_until_it_answers(&lab, &["192.0.2.1"]);
    }
}

#[test]
fn a_wrong_option_fails_the_test_and_not_the_server() {
    let lab = files("192.0.2.1 a.example\n");
    std::fs::write(lab.path("conf"), "no-such-option=1\n").unwrap();
    let mut words = lab.words(&[]);
    words.push("--test".to_owned());
    let (success, text) = spawn(&words).wait();
    assert!(!success && text.contains("no-such-option"), "{text}");
    words.pop();
    let _process = spawn(&words);
    wait_until_it_answers(&lab, &["192.0.2.1"]);
}
