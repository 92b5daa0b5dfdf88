//! Segments of their own: they connect the nodes that asked, and go with the last.

use super::harness::{Lab, eventually, text, users};

fn segments(lab: &Lab) -> Vec<String> {
    let shown = lab.on("-", &["ip", "-br", "link", "show", "type", "bridge"]);
    let names = shown.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| name.starts_with('g')).map(str::to_owned).collect()
}

#[test]
fn a_segment_connects_its_own_and_nobody_else() {
    for user in users() {
        let lab = Lab::up(user);
        lab.segment("worker-0", "3f2a1b4c-5d", "up0", "10.0.0.1/24");
        lab.segment("edpm-compute-0", "3f2a1b4c-5d", "up0", "10.0.0.2/24");
        lab.segment("edpm-compute-1", "a1a1a1a1-a1", "up0", "10.0.0.3/24");
        let shown = lab.on("worker-0", &["ip", "link", "show", "up0"]);
        assert!(shown.contains("mtu 1442") && shown.contains("alias a wire"), "{shown}");
        let _own = lab.answer("edpm-compute-0", "10.0.0.2:7007");
        let _other = lab.answer("edpm-compute-1", "10.0.0.3:7007");
        assert!(lab.pings("worker-0", "10.0.0.2:7007", 1442 - 28));
        assert!(!lab.pings("worker-0", "10.0.0.2:7007", 1443 - 28), "larger than the wire's MTU");
        assert!(!lab.pings("worker-0", "10.0.0.3:7007", 32), "another segment");
        // Nor does a switch reach it: this is one that the node itself is not on.
        lab.on("-", &["ip", "addr", "add", "10.0.0.4/24", "dev", "s2"]);
        assert!(!lab.pings("-", "10.0.0.2:7007", 32));
    }
}

#[test]
fn a_segment_goes_with_its_last_wire() {
    for user in users() {
        let lab = Lab::up(user);
        lab.segment("worker-0", "one", "up0", "10.0.0.1/24");
        lab.segment("worker-1", "one", "up0", "10.0.0.2/24");
        lab.segment("worker-1", "two", "up1", "10.0.1.2/24");
        assert_eq!(segments(&lab), ["gone", "gtwo"]);
        lab.on("worker-0", &["ip", "link", "delete", "up0"]);
        lab.on("worker-1", &["ip", "link", "delete", "up1"]);
        assert!(eventually(|| segments(&lab) == ["gone"]), "{:?}", segments(&lab));
        // Asking again gives a new wire in the place of the old one.
        let again = lab.make_segment("worker-1", "one", "up2", "1442");
        assert!(again.status.success(), "{again:?}");
        let links = lab.on("worker-1", &["ip", "-br", "link"]);
        assert!(links.contains("up2") && !links.contains("up0"), "{links}");
        let rebooted = lab.run(&["reboot", "worker-1"]);
        assert!(rebooted.status.success(), "{rebooted:?}");
        assert!(eventually(|| segments(&lab).is_empty()), "{:?}", segments(&lab));
    }
}

#[test]
fn a_segment_that_cannot_be_is_refused() {
    for user in users() {
        let lab = Lab::up(user);
        for (segment, name, mtu, told) in [
            ("", "x", "1442", "1 to 11 letters"),
            ("twelve-bytes", "x", "1442", "1 to 11 letters"),
            ("../x", "x", "1442", "1 to 11 letters"),
            ("one", "x", "67", "not between 68 and 9216"),
            ("one", "x", "9217", "not between 68 and 9216"),
            ("one", "enp1s0", "1442", "File exists"),
        ] {
            let refused = lab.make_segment("worker-0", segment, name, mtu);
            let error = text(&refused.stderr);
            assert!(!refused.status.success() && error.contains(told), "{segment} {mtu}: {error}");
        }
    }
}
