//! A lab per test, and short ways to say things.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use landbridge_lab::info::LabInfo;
use tempfile::TempDir;

/// Nobody in particular.
const NOBODY: u32 = 65_534;

/// Who starts the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    Root,
    /// Without any right.
    Ordinary,
}

/// Those who can start a lab on this machine; the others are skipped with a reason.
pub fn users() -> Vec<User> {
    let root = rustix::process::geteuid().is_root();
    let mut users = vec![User::Ordinary];
    if root {
        users.push(User::Root);
    } else {
        skip("lab as root", "needs root");
    }
    let probe = User::Ordinary.command("unshare").args(["-Ur", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        skip("lab as an ordinary user", "user namespaces are forbidden here");
        users.retain(|user| *user != User::Ordinary);
    } else if let Err(error) = User::Ordinary.command(program()).arg("?").output() {
        skip("lab as an ordinary user", &format!("the program cannot be reached: {error}"));
        users.retain(|user| *user != User::Ordinary);
    }
    users
}

impl User {
    /// A command of this user.
    pub fn command(self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        if self == Self::Ordinary && rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}")]);
            command.arg("--clear-groups").arg(program);
            command
        } else {
            Command::new(program)
        }
    }

    /// A directory of this user.
    pub fn directory(self) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        if self == Self::Ordinary && rustix::process::geteuid().is_root() {
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        directory
    }
}

/// The example, which cargo builds with the tests.
pub fn program() -> PathBuf {
    let me = std::env::current_exe().unwrap();
    let program = me.parent().unwrap().parent().unwrap().join("examples/lab");
    assert!(program.exists(), "cargo build -p landbridge-lab --example lab");
    program
}

/// A running lab.
pub struct Lab {
    pub user: User,
    pub up: Child,
    pub directory: PathBuf,
    _home: TempDir,
}

impl Lab {
    pub fn up(user: User) -> Self {
        Self::of(user, "default")
    }

    pub fn of(user: User, shape: &str) -> Self {
        let home = user.directory();
        let directory = home.path().join("lab");
        let mut up = user
            .command(program())
            .args(["up".as_ref(), directory.as_os_str(), shape.as_ref()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = first_line(&mut up);
        assert!(line.starts_with("ready "), "{user:?}: {line}");
        eprintln!("{user:?}: {line}");
        Self { user, up, directory, _home: home }
    }

    pub fn info(&self) -> LabInfo {
        LabInfo::read(&self.directory).unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.user.command(program());
        command.arg(arguments[0]).arg(&self.directory).args(&arguments[1..]);
        command
    }

    /// Runs a command of the example on this lab.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command on a node, which must succeed.
    pub fn on(&self, node: &str, command: &[&str]) -> String {
        let output = self.run(&[&["exec", node], command].concat());
        assert!(output.status.success(), "{:?} {node} {command:?}: {output:?}", self.user);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command of the example itself on a node.
    pub fn own_on(&self, node: &str, command: &[&str]) -> Output {
        let program = program();
        self.run(&[&["exec", node, program.to_str().unwrap()], command].concat())
    }

    /// Something that answers pings on a node, until it is dropped.
    pub fn answer(&self, node: &str, address: &str) -> Answering {
        let program = program();
        let mut child = self
            .command(&["exec", node, program.to_str().unwrap(), "answer", address])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(first_line(&mut child), "listening", "{node} {address}");
        Answering(child)
    }

    /// Whether a ping is answered.
    pub fn pings(&self, node: &str, address: &str, size: usize) -> bool {
        self.own_on(node, &["ping", address, &size.to_string()]).status.success()
    }

    /// Gives a node a VLAN with an address, switched on.
    pub fn vlan(&self, node: &str, base: &str, id: u16, name: &str, address: &str) {
        let made = self.make_vlan(node, base, id, name, &[]);
        assert!(made.status.success(), "{node} {name}: {made:?}");
        self.on(node, &["ip", "addr", "add", address, "dev", name]);
        self.on(node, &["ip", "link", "set", name, "up"]);
    }

    pub fn make_vlan(&self, node: &str, base: &str, id: u16, name: &str, mtu: &[&str]) -> Output {
        let socket = self.directory.join("nodes").join(node).join("wires.sock");
        let id = id.to_string();
        self.own_on(node, &[&["vlan", socket.to_str().unwrap(), base, &id, name], mtu].concat())
    }

    /// Gives a node a wire into a segment, with an address, switched on.
    pub fn segment(&self, node: &str, segment: &str, name: &str, address: &str) {
        let made = self.make_segment(node, segment, name, "1442");
        assert!(made.status.success(), "{node} {name}: {made:?}");
        self.on(node, &["ip", "addr", "add", address, "dev", name]);
        self.on(node, &["ip", "link", "set", name, "up"]);
    }

    pub fn make_segment(&self, node: &str, segment: &str, name: &str, mtu: &str) -> Output {
        let socket = self.directory.join("nodes").join(node).join("wires.sock");
        self.own_on(node, &["segment", socket.to_str().unwrap(), segment, name, mtu])
    }

    /// The processes that have to do with this lab, as the host sees them.
    pub fn processes(&self) -> Vec<u32> {
        let mark = self.directory.as_os_str().as_encoded_bytes();
        let mut found = Vec::new();
        for pid in all_processes() {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if line.windows(mark.len()).any(|window| window == mark) {
                found.push(pid);
            }
        }
        found
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.up.kill();
        let _ = self.up.wait();
        // The directory goes next, and nobody may write into it then.
        if !eventually(|| self.processes().is_empty()) {
            for pid in self.processes() {
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            }
        }
    }
}

pub struct Answering(Child);

impl Drop for Answering {
    fn drop(&mut self) {
        // Politely: this signal is passed on to the command.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

pub fn all_processes() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

pub fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// Whether it becomes so before patience ends.
pub fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// How a process ended, which it must do soon.
pub fn status(child: &mut Child) -> Option<i32> {
    let mut status = None;
    eventually(|| {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let _ = child.kill();
    status.and_then(|status| status.code())
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The number of a namespace of a process.
pub fn namespace_of(pid: u32, kind: &str) -> Option<u64> {
    rustix::fs::stat(Path::new(&format!("/proc/{pid}/ns/{kind}"))).ok().map(|stat| stat.st_ino)
}

pub fn skip(what: &str, why: &str) {
    eprintln!("skipped: {what}: {why}");
    let Some(path) = std::env::var_os("LANDBRIDGE_SKIP_FILE") else { return };
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    writeln!(file, "{what}: {why}").unwrap();
}
