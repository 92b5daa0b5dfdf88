//! The way in: where it leads, and where there is none.

use std::fmt::Write as _;
use std::process::Command;

use super::harness::{Lab, User, program, skip, text, users};

#[test]
fn one_directory_holds_one_lab() {
    for user in users() {
        let lab = Lab::up(user);
        let second = lab
            .user
            .command(program())
            .args(["lab-without-lifeline".as_ref(), lab.directory.as_os_str(), "default".as_ref()])
            .output()
            .unwrap();
        assert_eq!(second.status.code(), Some(1), "{second:?}");
        assert!(text(&second.stderr).contains("another lab runs in"), "{second:?}");
        lab.on("worker-0", &["true"]);
    }
}

#[test]
fn every_shape_comes_up() {
    for user in users() {
        for (shape, node, nics) in [
            ("openstack", "edpm-compute-0", "enp1s0 enp6s0 lo"),
            ("director", "worker-2", "enp1s0 enp2s0 enp6s0 enp7s0 lo"),
            ("ipi", "bootstrap", "ens3 lo"),
            ("machines", "worker-0", "enp1s0 lo"),
        ] {
            let lab = Lab::of(user, shape);
            let links = lab.on(node, &["ls", "/sys/class/net"]);
            assert_eq!(links.split_whitespace().collect::<Vec<_>>().join(" "), nics, "{shape}");
        }
    }
}

#[test]
fn a_large_lab_of_a_file_comes_up() {
    let Some(user) = users().pop() else { return };
    let home = user.directory();
    let file = home.path().join("large.yaml");
    let mut yaml = "switches: [{name: a}, {name: b}]\nnodes:\n".to_owned();
    for node in 0..64 {
        let ip = format!("10.0.0.{}/24", node + 1);
        let nic = format!("{{name: e0, switch: a, addresses: [{ip}]}}");
        let _ = write!(yaml, "- {{name: n{node}, kind: host, nics: [{nic}");
        for nic in 1..4 {
            let _ = write!(yaml, ", {{name: e{nic}, switch: b}}");
        }
        yaml += "]}\n";
    }
    std::fs::write(&file, yaml).unwrap();
    let lab = Lab::of(user, file.to_str().unwrap());
    let _there = lab.answer("n63", "10.0.0.64:7007");
    assert!(lab.pings("n0", "10.0.0.64:7007", 32));
}

/// A directory below `/run` stays reachable although the lab has a `/run` of its own.
#[test]
fn a_lab_in_a_directory_below_run() {
    if !users().contains(&User::Root) {
        return;
    }
    // Another /run than the host's, so that nothing is left there.
    let script = format!(
        "mount -t tmpfs none /run && mkdir /run/state; {p} up /run/state/lab default & \
         for i in $(seq 100); do test -e /run/state/lab/lab.json && break; sleep 0.1; done; \
         {p} exec /run/state/lab worker-0 sh -c 'ls -d /run/state/lab/nodes/worker-0/wires.sock /run/netns; ls /run' && \
         {p} exec /run/state/lab worker-0 {p} vlan /run/state/lab/nodes/worker-0/wires.sock enp6s0 20 v20; s=$?; \
         kill %1; wait; exit $s",
        p = program().display()
    );
    let output = Command::new("unshare").args(["-m", "bash", "-c", &script]).output().unwrap();
    let told = text(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        told.contains("/run/netns\n/run/state/lab/nodes/worker-0/wires.sock\nnetns\nstate\n"),
        "{told}"
    );
}

/// Where user namespaces are forbidden the error says by what, and what to do.
#[test]
fn forbidden_namespaces_are_explained() {
    if !users().contains(&User::Ordinary) {
        return;
    }
    let home = User::Ordinary.directory();
    // In a user namespace one may forbid further ones, and then give up all rights.
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && \
         exec setpriv --bounding-set=-all --inh-caps=-all {} lab-without-lifeline {}/lab default",
        program().display(),
        home.path().display()
    );
    let output =
        User::Ordinary.command("unshare").args(["-Ur", "sh", "-c", &script]).output().unwrap();
    let told = text(&output.stderr);
    if told.contains("Permission denied") && told.contains("max_user_namespaces") {
        skip("lab: forbidden namespaces", "this kernel's sysctl cannot be written");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(told.contains("cannot make a user namespace"), "{told}");
    assert!(told.contains("user.max_user_namespaces is 0"), "{told}");
    assert!(told.contains("sudo sysctl -w user.max_user_namespaces"), "{told}");
}
