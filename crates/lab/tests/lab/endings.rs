//! However a lab ends, nothing of it stays.

use std::process::Command;

use super::harness::{Lab, User, all_processes, eventually, namespace_of, status, text, users};

/// Everything by which a lab could be noticed: processes and namespaces.
struct Traces {
    namespaces: Vec<(&'static str, u64)>,
    mounts: usize,
}

fn mounts() -> usize {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count()
}

impl Traces {
    fn of(lab: &Lab, mounts: usize) -> Self {
        let info = lab.info();
        let mut namespaces = vec![("net", info.switches.inode)];
        for kind in ["mnt", "pid", "uts"] {
            namespaces.push((kind, namespace_of(info.supervisor.pid, kind).unwrap()));
        }
        if lab.user == User::Ordinary {
            namespaces.push(("user", namespace_of(info.supervisor.pid, "user").unwrap()));
        }
        for node in &info.nodes {
            namespaces.push(("net", node.namespaces.net.inode));
            namespaces.push(("mnt", node.namespaces.mnt.inode));
        }
        let traces = Self { namespaces, mounts };
        assert!(!traces.left(lab).is_empty(), "it can be noticed while it runs");
        traces
    }

    fn left(&self, lab: &Lab) -> Vec<String> {
        let mut left: Vec<String> =
            lab.processes().iter().map(|pid| format!("process {pid}")).collect();
        for pid in all_processes() {
            for (kind, inode) in &self.namespaces {
                if namespace_of(pid, kind) == Some(*inode) {
                    left.push(format!("process {pid} in {kind} {inode}"));
                }
            }
        }
        // What this process sees; those of the lab are in its own mount namespace.
        if mounts() != self.mounts {
            left.push(format!("{} mounts instead of {}", mounts(), self.mounts));
        }
        left
    }
}

fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

/// Ends a lab in some way; it must be gone, with what ran on it.
fn ends(how: impl Fn(&mut Lab)) {
    for user in users() {
        let before = mounts();
        let mut lab = Lab::up(user);
        assert!(lab.own_on("worker-0", &["netns", "pod-a"]).status.success());
        lab.on("worker-0", &["sh", "-c", "sleep 60 >/dev/null 2>&1 &"]);
        let traces = Traces::of(&lab, before);
        how(&mut lab);
        assert!(eventually(|| traces.left(&lab).is_empty()), "{user:?}: {:?}", traces.left(&lab));
        let told = text(&lab.run(&["exec", "worker-0", "true"]).stderr);
        assert!(told.contains("no lab runs in"), "{told}");
    }
}

/// The process between `up` and pid 1.
fn outer(lab: &Lab) -> u32 {
    let inner = lab.info().supervisor.pid;
    let status = std::fs::read_to_string(format!("/proc/{inner}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    parent.trim().parse().unwrap()
}

#[test]
fn when_up_is_killed() {
    ends(|lab| {
        lab.up.kill().unwrap();
        lab.up.wait().unwrap();
    });
}

#[test]
fn when_the_outer_process_is_killed() {
    ends(|lab| {
        kill("-9", outer(lab));
        status(&mut lab.up);
    });
}

#[test]
fn when_pid_1_is_killed() {
    ends(|lab| {
        kill("-9", lab.info().supervisor.pid);
        status(&mut lab.up);
    });
}

#[test]
fn when_the_outer_process_is_asked_to_stop() {
    ends(|lab| {
        let outer = outer(lab);
        let begin = std::time::Instant::now();
        kill("-TERM", outer);
        status(&mut lab.up);
        assert!(begin.elapsed() < std::time::Duration::from_secs(5), "{:?}", begin.elapsed());
        // In order: what tells others that a lab runs here is gone, too.
        assert!(!lab.directory.join("lab.json").exists());
        assert!(!lab.directory.join("supervisor.sock").exists());
    });
}
