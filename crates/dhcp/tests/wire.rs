//! Client and server over a real wire between two namespaces.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::duration_suboptimal_units
)]

use std::net::Ipv4Addr;
use std::time::Duration;

use landbridge_dhcp::{Client, Output, Server, ServerSettings, run_client, run_server};
use landbridge_linux::{Address, Handle, IfName, LinkKind, Namespace, NewLink};
use tokio::sync::oneshot;
use tokio::time::Instant;

fn name(text: &str) -> IfName {
    IfName::new(text).unwrap()
}

#[test]
fn an_address_comes_over_the_wire_before_there_is_any() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: dhcp: needs root");
        return;
    }
    let (here, there) = (Namespace::unnamed().unwrap(), Namespace::unnamed().unwrap());
    let server_net = Handle::in_namespace(&here).unwrap();
    let end = NewLink::new(name("eth0"), LinkKind::Veth).up();
    let link = server_net.create_veth(&end, &end, Some(&there)).unwrap();
    server_net.ensure_address(&Address::new(link.index, "192.0.2.1/24".parse().unwrap())).unwrap();
    let client_net = Handle::in_namespace(&there).unwrap();
    let mac = client_net.expect_link(&name("eth0")).unwrap().mac.unwrap();

    let settings = ServerSettings {
        own: "192.0.2.1/24".parse().unwrap(),
        first: Ipv4Addr::new(192, 0, 2, 50),
        last: Ipv4Addr::new(192, 0, 2, 60),
        router: Some(Ipv4Addr::new(192, 0, 2, 1)),
        resolvers: vec![Ipv4Addr::new(192, 0, 2, 1)],
        domain: Some("lab.example".into()),
        mtu: Some(1400),
        lease_seconds: 600,
        routes: vec![],
        reserved: [].into(),
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = std::thread::spawn(move || {
        here.run(|| {
            in_runtime(run_server(&name("eth0"), Server::new(settings), async {
                let _ = stopped.await;
            }));
        })
    });
    let lease = there
        .run(|| {
            let (leased, seen) = oneshot::channel();
            let (mut leased, mut lease) = (Some(leased), None);
            let client = Client::new(mac.0, 42, Duration::ZERO).with_host_name("worker-0");
            let change = |output| {
                if let Output::Configure(got) = output {
                    lease = Some(got);
                    let _ = leased.take().map(|sender| sender.send(()));
                }
            };
            let stop = async {
                let _ = tokio::time::timeout(Duration::from_secs(10), seen).await;
            };
            in_runtime(async {
                run_client(&name("eth0"), client, Instant::now(), change, stop).await
            });
            lease
        })
        .unwrap()
        .expect("a lease within ten seconds");
    stop.send(()).unwrap();
    serving.join().unwrap().unwrap();

    assert_eq!(lease.address.to_string(), "192.0.2.50/24");
    assert_eq!(lease.routes.len(), 1);
    assert_eq!(lease.resolvers, [Ipv4Addr::new(192, 0, 2, 1)]);
    assert_eq!((lease.domain.as_deref(), lease.mtu), (Some("lab.example"), Some(1400)));
}

fn in_runtime(work: impl Future<Output = std::io::Result<()>>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
        .unwrap();
}
