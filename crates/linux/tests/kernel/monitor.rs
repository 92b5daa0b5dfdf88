//! Changes as they happen.

use std::time::Duration;

use futures::StreamExt;
use landbridge_linux::monitor::{Reason, Watch};
use landbridge_linux::{Error, Event, Monitor, Route};

use crate::harness::{Node, name};

/// The next event that the test is after.
async fn wait<T>(monitor: &mut Monitor, mut wanted: impl FnMut(Event) -> Option<T>) -> T {
    let search = async {
        loop {
            if let Some(found) = wanted(monitor.next().await.unwrap()) {
                return found;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), search).await.expect("the event")
}

#[tokio::test]
async fn every_kind_of_change_is_told() {
    let Some(node) = Node::new() else { return };
    let watch = Watch { rules: true, neighbours: true, ..Watch::default() };
    let mut monitor = Monitor::in_namespace(&node.namespace, watch).unwrap();
    let bridge = node.bridge("br0");
    wait(&mut monitor, |event| {
        matches!(event, Event::Link(l) if l.name == bridge.name && l.up).then_some(())
    })
    .await;
    let address = node.address(bridge.index, "192.0.2.1/24");
    wait(&mut monitor, |event| {
        matches!(event, Event::Address(a) if a.net == address.net).then_some(())
    })
    .await;
    let route =
        Route::via("10.0.0.0/8".parse().unwrap(), "192.0.2.2".parse().unwrap()).on(bridge.index);
    node.net.add_route(&route).unwrap();
    wait(&mut monitor, |event| (event == Event::Route(route.clone())).then_some(())).await;
    let rule = landbridge_linux::Rule::from("192.0.2.0/24".parse().unwrap(), 10, 20);
    node.net.add_rule(&rule).unwrap();
    wait(&mut monitor, |event| (event == Event::Rule(rule.clone())).then_some(())).await;
    node.net.delete_rule(&rule).unwrap();
    wait(&mut monitor, |event| (event == Event::RuleGone(rule.clone())).then_some(())).await;
    node.net.delete_route(&route).unwrap();
    wait(&mut monitor, |event| (event == Event::RouteGone(route.clone())).then_some(())).await;
    node.net.delete_address(&address).unwrap();
    wait(&mut monitor, |event| {
        matches!(event, Event::AddressGone(a) if a.net == address.net).then_some(())
    })
    .await;
    node.net.delete_link(&bridge).unwrap();
    wait(&mut monitor, |event| {
        matches!(event, Event::LinkGone(l) if l.index == bridge.index).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_port_that_leaves_its_bridge_is_not_gone() {
    let Some(node) = Node::new() else { return };
    let bridge = node.bridge("br0");
    let (port, _) = node.pair("a", "b");
    node.net.set_master(&port, Some(bridge.index)).unwrap();
    let mut monitor = Monitor::in_namespace(&node.namespace, Watch::default()).unwrap();
    node.net.set_master(&port, None).unwrap();
    node.net.set_down(&port).unwrap(); // older kernels rename only what is down
    node.net.rename(&port, &name("last")).unwrap();
    wait(&mut monitor, |event| match event {
        Event::LinkGone(link) => panic!("{link:?}"),
        Event::Link(link) => (link.name.as_str() == "last").then_some(()),
        _ => None,
    })
    .await;
}

#[tokio::test]
async fn a_slow_listener_is_told_to_list_again() {
    let Some(node) = Node::new() else { return };
    let watch = Watch { buffer_bytes: Some(4096), ..Watch::default() };
    let monitor = Monitor::in_namespace(&node.namespace, watch).unwrap();
    let bridge = node.bridge("br0");
    for mtu in 1300..1400 {
        node.net.set_mtu(&bridge, mtu).unwrap();
    }
    let mut stream = std::pin::pin!(monitor.into_stream());
    let lost = async {
        while let Some(event) = stream.next().await {
            if event.unwrap() == Event::Resync(Reason::Overflow) {
                return true;
            }
        }
        false
    };
    assert!(tokio::time::timeout(Duration::from_secs(10), lost).await.unwrap());
    // And it goes on.
    node.net.set_mtu(&bridge, 1450).unwrap();
    let next = async {
        while let Some(event) = stream.next().await {
            if matches!(event.unwrap(), Event::Link(link) if link.mtu == 1450) {
                return true;
            }
        }
        false
    };
    assert!(tokio::time::timeout(Duration::from_secs(10), next).await.unwrap());
}

#[test]
fn outside_a_runtime_it_is_an_error() {
    let Some(node) = Node::new() else { return };
    let outcome = Monitor::in_namespace(&node.namespace, Watch::default());
    assert!(matches!(outcome, Err(Error::NoRuntime)));
}
