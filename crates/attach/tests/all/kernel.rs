//! What is done inside a pod besides what plugins do, in a namespace of the kernel.

use landbridge_attach::networks::{Kernel, Sandboxes};
use landbridge_cni::networks::DefaultRoutes;
use landbridge_linux::{Address, Handle, IfName, LinkKind, Namespace, NewLink};

fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

#[test]
fn default_routes_move_from_one_interface_to_another() {
    if !rustix::process::geteuid().is_root() {
        return skip("needs root for a network namespace");
    }
    let pod = Namespace::unnamed().unwrap();
    let inside = Handle::in_namespace(&pod).unwrap();
    let end = |name: &str| NewLink::new(IfName::new(name).unwrap(), LinkKind::Veth).up();
    inside.create_veth(&end("eth0"), &end("far0"), None).unwrap();
    inside.create_veth(&end("net1"), &end("far1"), None).unwrap();
    let put = |name: &str, addresses: &[&str]| {
        let link = inside.index(&IfName::new(name).unwrap()).unwrap();
        for address in addresses {
            let address = Address::new(link, address.parse().unwrap()).without_dad();
            inside.ensure_address(&address).unwrap();
        }
        link
    };
    let eth0 = put("eth0", &["10.244.0.5/24", "fd01::5/64"]);
    let net1 = put("net1", &["172.17.0.30/24", "fd02::5/64"]);
    for (destination, gateway) in [("0.0.0.0/0", "10.244.0.1"), ("::/0", "fd01::1")] {
        let route =
            landbridge_linux::Route::via(destination.parse().unwrap(), gateway.parse().unwrap());
        inside.add_route(&route.on(eth0)).unwrap();
    }
    // The namespace has no path of its own; this process can name it.
    let held = pod.run(std::process::id).unwrap();
    assert_eq!(held, std::process::id());
    let path = pod_path(&pod);
    let kernel = Kernel;
    let names = kernel.interfaces(&path).unwrap();
    assert!(names.contains(&"eth0".to_owned()) && names.contains(&"net1".to_owned()));
    let drop = DefaultRoutes { drop_v4: true, drop_v6: false, through: vec![] };
    kernel.default_routes(&path, "eth0", &drop).unwrap();
    let through = vec!["172.17.0.1".parse().unwrap()];
    let take = DefaultRoutes { drop_v4: true, drop_v6: false, through };
    kernel.default_routes(&path, "net1", &take).unwrap();
    // Again is no error.
    kernel.default_routes(&path, "net1", &take).unwrap();
    let defaults: Vec<_> = inside
        .routes()
        .unwrap()
        .into_iter()
        .filter(|route| route.destination.prefix_len() == 0 && route.gateway.is_some())
        .map(|route| (route.gateway.unwrap().to_string(), route.link.unwrap()))
        .collect();
    assert!(defaults.contains(&("172.17.0.1".to_owned(), net1)), "{defaults:?}");
    assert!(defaults.contains(&("fd01::1".to_owned(), eth0)), "IPv6 was not asked about");
    assert_eq!(defaults.len(), 2, "{defaults:?}");
    let error = kernel.interfaces("/run/netns/there-is-none").unwrap_err();
    assert_eq!(error.code, landbridge_cni::Code::INVALID_NETNS);
}

/// A path to a namespace that is held by a file descriptor of this process.
fn pod_path(namespace: &Namespace) -> String {
    use std::os::unix::fs::MetadataExt;
    let inode = namespace.identity().unwrap().inode();
    for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
        let path = entry.unwrap().path();
        if std::fs::metadata(&path).is_ok_and(|found| found.ino() == inode) {
            return path.to_string_lossy().into_owned();
        }
    }
    panic!("the namespace is not held by a descriptor");
}
