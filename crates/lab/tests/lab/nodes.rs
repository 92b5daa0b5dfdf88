//! Agents and nodes that end, and come back.

use super::harness::{Lab, eventually, text, users};

#[test]
fn an_agent_that_is_killed_starts_again_on_the_same_node() {
    for user in users() {
        let lab = Lab::up(user);
        let before = lab.info().nodes[0].clone();
        lab.vlan("worker-0", "enp6s0", 20, "enp6s0.20", "172.17.0.10/24");
        let pid = before.agent.pid.unwrap();
        let environment = lab.on("worker-0", &["cat", &format!("/proc/{pid}/environ")]);
        assert!(environment.contains("NODE=worker-0"), "{environment}");
        assert!(!environment.contains("LANDBRIDGE_LAB_INSIDE"), "{environment}");
        lab.on("worker-0", &["kill", "-9", &pid.to_string()]);
        let again = || lab.info().nodes[0].agent.pid.is_some_and(|now| now != pid);
        assert!(eventually(again));
        let after = lab.info().nodes[0].clone();
        assert_eq!(after.agent.restarts, 1);
        assert_eq!(after.agent.last_exit.as_deref(), Some("signal 9"));
        assert_eq!((after.namespaces, after.boots), (before.namespaces, 1), "it is the same node");
        lab.on("worker-0", &["ip", "link", "show", "enp6s0.20"]);
    }
}

#[test]
fn a_node_lives_without_any_process() {
    for user in users() {
        let lab = Lab::up(user);
        let node = lab.info().nodes[4].clone();
        lab.on(&node.name, &["ip", "addr", "add", "10.9.9.9/32", "dev", "lo"]);
        lab.on(&node.name, &["kill", "-9", &node.agent.pid.unwrap().to_string()]);
        assert!(eventually(|| lab.info().nodes[4].agent.pid.is_none()), "for a second");
        let shown = lab.on(&node.name, &["ip", "addr", "show", "lo"]);
        assert!(shown.contains("10.9.9.9"), "{shown}");
    }
}

#[test]
fn orphans_are_buried() {
    for user in users() {
        let lab = Lab::up(user);
        // The inner one outlives its parent and is given to pid 1.
        let orphan = lab.on("worker-0", &["sh", "-c", "sh -c 'sleep 0.2 & echo $!' "]);
        let orphan = orphan.trim().to_owned();
        let gone = || {
            let stat = lab.run(&["exec", "worker-0", "cat", &format!("/proc/{orphan}/stat")]);
            !stat.status.success()
        };
        assert!(eventually(gone), "{orphan} is a zombie for ever");
    }
}

#[test]
fn a_rebooted_node_has_its_nics_and_nothing_else() {
    for user in users() {
        let lab = Lab::up(user);
        let before = lab.info();
        lab.vlan("worker-0", "enp6s0", 20, "enp6s0.20", "172.17.0.10/24");
        lab.on("worker-0", &["ip", "addr", "add", "10.0.0.5/24", "dev", "enp6s0"]);
        assert!(lab.own_on("worker-0", &["netns", "pod-a"]).status.success());
        assert!(lab.own_on("worker-1", &["netns", "pod-b"]).status.success());
        let in_pod = |node: &str, pod: &str, script: &str| {
            lab.on(&format!("{node}:/run/netns/{pod}"), &["sh", "-c", script])
        };
        // Something in a pod of the node, and something in one of another node.
        let start = "sleep 60 >/dev/null 2>&1 & echo $!";
        let (gone, stays) =
            (in_pod("worker-0", "pod-a", start), in_pod("worker-1", "pod-b", start));
        lab.on("worker-0", &["touch", "/run/left-behind"]);
        let boot = |node| lab.on(node, &["cat", "/proc/sys/kernel/random/boot_id"]);
        let boots = [boot("worker-0"), boot("worker-1")];
        let rebooted = lab.run(&["reboot", "worker-0"]);
        assert!(rebooted.status.success(), "{rebooted:?}");

        let links = lab.on("worker-0", &["ip", "-br", "link"]);
        let mut names: Vec<&str> =
            links.lines().map(|line| line.split(['@', ' ']).next().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["enp1s0", "enp6s0", "enp7s0", "lo"], "{links}");
        let addresses = lab.on("worker-0", &["ip", "addr"]);
        assert!(addresses.contains("192.168.111.20/24") && !addresses.contains("10.0.0.5"));
        assert_eq!(
            lab.on("worker-0", &["ls", "/run", "/run/netns"]),
            "/run:\nnetns\n\n/run/netns:\n"
        );
        assert_eq!(lab.on("worker-1", &["ls", "/run/netns"]), "pod-b\n");
        let alive =
            |pid: &str| lab.on("-", &["sh", "-c", &format!("kill -0 {pid} && echo yes || true")]);
        assert_eq!(alive(gone.trim()), "");
        assert_eq!(alive(stays.trim()), "yes\n");

        // By this number everybody on the node tells that it was booted.
        assert!(
            boots.iter().all(|boot| boot.trim().len() == 36) && boots[0] != boots[1],
            "{boots:?}"
        );
        assert_ne!(boot("worker-0"), boots[0]);
        assert_eq!(boot("worker-1"), boots[1]);

        let after = lab.info();
        assert_eq!((after.nodes[0].boots, after.nodes[1].boots), (2, 1));
        assert_ne!(after.nodes[0].namespaces, before.nodes[0].namespaces);
        assert_eq!(after.nodes[1..], before.nodes[1..], "the others noticed nothing");
        assert_ne!(after.nodes[0].agent.pid, before.nodes[0].agent.pid);
        let _there = lab.answer("worker-1", "192.168.111.21:7007");
        assert!(lab.pings("worker-0", "192.168.111.21:7007", 32));
        let wrong = text(&lab.run(&["reboot", "worker-9"]).stderr);
        assert!(wrong.contains("(there are: worker-0, worker-1"), "{wrong}");
    }
}

#[test]
fn a_node_asks_for_itself_only() {
    for user in users() {
        let lab = Lab::up(user);
        // Of the lab's directory it sees its own part only.
        let directory = lab.directory.to_str().unwrap();
        let seen = lab.on("worker-1", &["find", directory, "-type", "s"]);
        assert_eq!(seen, format!("{directory}/nodes/worker-1/wires.sock\n"));
        // What the host puts there later it sees, too.
        std::fs::write(lab.directory.join("nodes/worker-1/api.sock"), "").unwrap();
        lab.on("worker-1", &["ls", &format!("{directory}/nodes/worker-1/api.sock")]);
        // And its socket reboots nobody.
        let socket = lab.directory.join("nodes/worker-0/wires.sock");
        let mut wires = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        let refused = say(&mut wires, "{\"reboot\":{\"node\":\"worker-1\"}}\n");
        assert!(refused.contains("not understood"), "{refused}");
        let mut wires = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        let refused = say(&mut wires, &"x".repeat(70_000));
        assert!(refused.contains("one line of at most"), "{refused}");
        assert_eq!(lab.info().nodes[1].boots, 1);
    }
}

fn say(stream: &mut std::os::unix::net::UnixStream, question: &str) -> String {
    use std::io::{Read, Write};
    // It may have heard enough before the end.
    let _ = stream.write_all(question.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn the_status_is_what_the_file_says() {
    for user in users() {
        let lab = Lab::up(user);
        let status = lab.run(&["status"]);
        let told: landbridge_lab::info::LabInfo = serde_json::from_slice(&status.stdout).unwrap();
        assert_eq!(told, lab.info());
        assert!(told.ready && told.nodes.len() == 5);
    }
}
