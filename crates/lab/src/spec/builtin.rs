//! The shapes that have a name.

use std::path::Path;

use super::file::{FileError, parse, read};
use super::{Kind, Shape};

/// Name, what it is for, and the file.
const ALL: [(&str, &str, &str); 5] = [
    (
        "default",
        "three workers and two compute nodes, trunk on enp6s0",
        include_str!("../../shapes/default.yaml"),
    ),
    ("openstack", "the same, for OpenStack on it", include_str!("../../shapes/default.yaml")),
    (
        "director",
        "workers of the director operator: DHCP on enp1s0, enp6s0 and enp7s0 for bridges",
        include_str!("../../shapes/director.yaml"),
    ),
    (
        "ipi",
        "a cluster being installed: bootstrap, three masters, two workers on one network",
        include_str!("../../shapes/ipi.yaml"),
    ),
    (
        "machines",
        "three workers beside an empty tenant network",
        include_str!("../../shapes/machines.yaml"),
    ),
];

/// The names with what each is for.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.iter().map(|(name, purpose, _)| (*name, *purpose))
}

/// The file of a named shape, to start one's own from.
pub fn text(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(known, ..)| *known == name).map(|(.., text)| *text)
}

/// What the user asked for: the name of a shape, or else the path of a file.
pub fn find(name_or_path: &str) -> Result<Shape, FindError> {
    if let Some(text) = text(name_or_path) {
        return Ok(parse(text, name_or_path)?);
    }
    let path = Path::new(name_or_path);
    if path.exists() || name_or_path.contains(['/', '.']) {
        return Ok(read(path)?);
    }
    let names = names().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    Err(FindError::Unknown { name: name_or_path.to_owned(), names })
}

/// Why there is no such shape.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("no lab is called {name:?} and no file is (the labs are: {names})")]
    Unknown { name: String, names: String },
    #[error(transparent)]
    File(#[from] FileError),
}

impl Shape {
    /// The names of the nodes of a kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter(move |node| node.kind == kind).map(|node| node.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_valid_and_none_is_missing() {
        for (name, _) in names() {
            let shape = find(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(shape.of_kind(Kind::Kubernetes).count() > 0, "{name}");
        }
        let unknown = find("defualt").unwrap_err().to_string();
        assert!(unknown.contains("default, openstack, director, ipi, machines"), "{unknown}");
        // The file that shows everything one can say.
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lab.yaml");
        let shape = find(example).unwrap_or_else(|error| panic!("{error}"));
        let (_, gateway) = shape.node("gateway").unwrap();
        assert_eq!(gateway.nics[0].mac.to_string(), "52:54:00:12:34:56");
        assert!(find("./nowhere.yaml").unwrap_err().to_string().contains("cannot read"));
    }

    #[test]
    fn the_default_one_is_what_the_manifests_expect() {
        let shape = find("default").unwrap();
        let names: Vec<&str> = shape.of_kind(Kind::Kubernetes).collect();
        assert_eq!(names, ["worker-0", "worker-1", "worker-2"]);
        let hosts: Vec<&str> = shape.of_kind(Kind::Host).collect();
        assert_eq!(hosts, ["edpm-compute-0", "edpm-compute-1"]);
        let (_, worker) = shape.node("worker-1").unwrap();
        let nics: Vec<_> = worker.nics.iter().map(|nic| (nic.name.as_str(), nic.mtu)).collect();
        assert_eq!(nics, [("enp1s0", 1500), ("enp6s0", 1500), ("enp7s0", 9000)]);
        let addresses: Vec<String> =
            worker.nics[0].addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["192.168.111.21/24", "fd00:111::21/64"]);
        let (_, compute) = shape.node("edpm-compute-0").unwrap();
        let trunk = worker.nics[1].switch;
        assert_eq!(compute.nic("enp6s0").unwrap().1.switch, trunk, "one trunk for all");
    }
}
