//! Commands on nodes.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use super::harness::{Lab, User, eventually, program, status, text, users};

#[test]
fn the_status_of_the_command_is_that_of_exec() {
    for user in users() {
        let lab = Lab::up(user);
        for (command, status) in [
            (&["true"][..], 0),
            (&["sh", "-c", "exit 7"], 7),
            (&["sh", "-c", "kill -9 $$"], 137),
            (&["no-such-command"], 127),
            (&["/etc/hostname"], 126),
        ] {
            let output = lab.run(&[&["exec", "worker-0"], command].concat());
            assert_eq!(output.status.code(), Some(status), "{user:?} {command:?}: {output:?}");
        }
        let unknown = lab.run(&["exec", "worker-7", "true"]);
        assert_eq!(unknown.status.code(), Some(125));
        let told = text(&unknown.stderr);
        assert!(
            told.contains(
                "no node is called \"worker-7\" (there are: worker-0, worker-1, worker-2, \
                 edpm-compute-0, edpm-compute-1)"
            ),
            "{told}"
        );
        let no_pod = text(&lab.run(&["exec", "worker-0:/run/netns/nope", "true"]).stderr);
        assert!(
            no_pod.contains("no network namespace is at /run/netns/nope on worker-0"),
            "{no_pod}"
        );
    }
}

#[test]
fn the_command_finds_itself_on_the_node() {
    for user in users() {
        let lab = Lab::up(user);
        assert_eq!(lab.on("edpm-compute-1", &["hostname"]), "edpm-compute-1\n");
        assert_eq!(lab.on("worker-2", &["cat", "/etc/hostname"]), "worker-2\n");
        let hosts = lab.on("worker-2", &["cat", "/etc/hosts"]);
        assert!(hosts.contains("192.168.111.20 worker-0"), "{hosts}");
        assert_eq!(lab.on("worker-2", &["id", "-u"]), "0\n");
        // What the node's agent writes into its directory is what the node reads.
        let resolver = lab.directory.join("nodes/worker-2/etc/resolv.conf");
        std::fs::write(&resolver, "nameserver 192.0.2.53\n").unwrap();
        assert_eq!(lab.on("worker-2", &["cat", "/etc/resolv.conf"]), "nameserver 192.0.2.53\n");
        assert_eq!(lab.on("worker-1", &["cat", "/etc/resolv.conf"]), "");
        // Its own links, by the other way to look at them, too.
        let links = lab.on("edpm-compute-0", &["ls", "/sys/class/net"]);
        assert_eq!(links, "enp1s0\nenp6s0\nlo\n");
        let processes = lab.on("worker-0", &["ls", "/proc"]);
        let pids = processes.lines().filter(|name| name.parse::<u32>().is_ok()).count();
        assert!((7..20).contains(&pids), "those of the lab only: {processes}");
    }
}

#[test]
fn a_pod_is_its_own_network_on_its_node() {
    for user in users() {
        let lab = Lab::up(user);
        assert!(lab.own_on("worker-0", &["netns", "pod-a"]).status.success());
        let links = lab.on("worker-0:/run/netns/pod-a", &["ip", "-br", "link"]);
        assert!(links.starts_with("lo") && links.lines().count() == 1, "{links}");
        assert_eq!(lab.on("worker-0:/run/netns/pod-a", &["hostname"]), "worker-0\n");
        assert_eq!(lab.on("worker-0", &["ls", "/run/netns"]), "pod-a\n");
    }
}

#[test]
fn input_output_and_terminal_are_the_callers() {
    for user in users() {
        let lab = Lab::up(user);
        let mut cat = lab
            .command(&["exec", "worker-0", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        cat.stdin.take().unwrap().write_all(b"through\n").unwrap();
        assert_eq!(cat.wait_with_output().unwrap().stdout, b"through\n");
        let mixed = lab.run(&["exec", "worker-0", "sh", "-c", "echo out; echo err >&2"]);
        assert_eq!((&mixed.stdout[..], &mixed.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(lab.run(&["exec", "worker-0", "test", "-t", "0"]).status.code(), Some(1));

        let program = program();
        let line = format!(
            "{} exec {} worker-0 sh -c 'test -t 0 && test -t 1 && stty size && exit 9'",
            program.display(),
            lab.directory.display()
        );
        let in_terminal =
            lab.user.command("script").args(["-qec", &line, "/dev/null"]).output().unwrap();
        assert_eq!(in_terminal.status.code(), Some(9), "{in_terminal:?}");
    }
}

#[test]
fn a_signal_for_exec_is_one_for_the_command() {
    for user in users() {
        let lab = Lab::up(user);
        let mut exec = lab
            .command(&[
                "exec",
                "worker-0",
                "sh",
                "-c",
                "trap 'exit 5' TERM; echo on; while :; do sleep 0.05; done",
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(super::harness::first_line(&mut exec), "on");
        assert!(Command::new("kill").arg(exec.id().to_string()).status().unwrap().success());
        assert_eq!(status(&mut exec), Some(5));
    }
}

#[test]
fn root_enters_the_lab_of_another_and_another_does_not() {
    if !users().contains(&User::Root) || !users().contains(&User::Ordinary) {
        return;
    }
    let lab = Lab::up(User::Ordinary);
    let program = program();
    let by_root = |command: &[&str]| {
        let exec = ["exec", lab.directory.to_str().unwrap(), "worker-0"];
        Command::new(&program).args([&exec[..], command].concat()).output().unwrap()
    };
    assert_eq!(text(&by_root(&["id", "-u"]).stdout), "0\n");
    assert!(by_root(&["ip", "link", "set", "enp6s0", "mtu", "1400"]).status.success());
    // It is root of the lab only: what it makes belongs to the lab's owner.
    let file = lab.directory.join("nodes/worker-0/made-by-root");
    assert!(by_root(&["touch", file.to_str().unwrap()]).status.success());
    assert_eq!(std::fs::metadata(&file).unwrap().uid(), 65_534);

    let other = Command::new("setpriv")
        .args(["--reuid=65533", "--regid=65533", "--clear-groups"])
        .arg(&program)
        .args(["exec".as_ref(), lab.directory.as_os_str(), "worker-0".as_ref(), "true".as_ref()])
        .output()
        .unwrap();
    assert_eq!(other.status.code(), Some(1), "{other:?}");
}

#[test]
fn what_runs_on_a_node_ends_with_the_lab() {
    for user in users() {
        let mut lab = Lab::up(user);
        let mut exec = lab.command(&["exec", "worker-0", "sleep", "60"]).spawn().unwrap();
        assert!(eventually(|| lab.on("worker-0", &["ps", "ax"]).contains("sleep 60")));
        lab.up.kill().unwrap();
        lab.up.wait().unwrap();
        assert_eq!(status(&mut exec), Some(137));
    }
}
