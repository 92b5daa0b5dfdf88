//! `healthCheckNodePort`: what kube-proxy says.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use landbridge_agent::services::health::{Check, Door, Doors, checks};
use landbridge_linux::Namespace;
use serde_json::{Value, json};

use crate::table::{endpoints, seen};
use crate::wires::{Wires, connect, to};

/// What is asked for on node `a`: `PORT/FAMILY COUNT`, in order.
fn asked(spec: &Value, words: &str) -> String {
    let found = checks(&seen(spec, &json!({}), &endpoints(words)), "a");
    let each = found.iter().map(|(door, check)| {
        let family = if door.ipv4 { 4 } else { 6 };
        assert_eq!((&*check.namespace, &*check.name), ("ns", "web"));
        format!("{}/{family} {}", door.port, check.local)
    });
    each.collect::<Vec<_>>().join(", ")
}

#[test]
fn ready_endpoints_of_this_node_count() {
    let local = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local",
        "healthCheckNodePort": 31234});
    let with = |field: &str, value: Value| {
        let mut spec = local.clone();
        spec[field] = value;
        spec
    };
    let dual = with("clusterIPs", json!(["10.96.0.7", "fd00:96::7"]));
    for (spec, words, expected) in [
        (&local, "10.0.0.1@a 10.0.0.2@a 10.0.0.3@b", "31234/4 2"),
        (&local, "10.0.0.1@b", "31234/4 0"),
        (&local, "", "31234/4 0"),
        // Who is not ready does not count, nor who is going away and still answers.
        (&local, "!10.0.0.1@a -10.0.0.2@a x10.0.0.3@a", "31234/4 0"),
        // Each family by itself.
        (&dual, "10.0.0.1@a fd00::1@b", "31234/4 1, 31234/6 0"),
        // Only where the port means something.
        (&with("externalTrafficPolicy", json!("Cluster")), "10.0.0.1@a", ""),
        (&with("type", json!("NodePort")), "10.0.0.1@a", ""),
        (&with("healthCheckNodePort", json!(null)), "10.0.0.1@a", ""),
        (&with("healthCheckNodePort", json!(0)), "10.0.0.1@a", ""),
    ] {
        let mut found: Vec<String> = asked(spec, words).split(", ").map(str::to_owned).collect();
        found.sort();
        assert_eq!(found.join(", "), expected, "{spec} with {words:?}");
    }
}

#[test]
fn one_pod_in_two_slices_is_one() {
    let spec = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local",
        "healthCheckNodePort": 31234});
    let mut seen = seen(&spec, &json!({}), &endpoints("10.0.0.1@a"));
    let key = |name: &str| ("ns".to_owned(), name.to_owned());
    let twice = Arc::clone(&seen.slices[&key("four")]);
    seen.slices.insert(key("again"), twice);
    assert_eq!(checks(&seen, "a").values().map(|check| check.local).collect::<Vec<_>>(), [1]);
}

/// Status and body; an error in words.
fn get(from: &Namespace, at: SocketAddr, path: &str) -> Result<(u16, Value), String> {
    from.run(|| {
        let mut stream = connect(at)?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map_err(|error| error.to_string())?;
        let (head, body) = text.split_once("\r\n\r\n").ok_or("no answer")?;
        assert!(head.contains("content-type: application/json"), "{head}");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        let weight = format!("x-load-balancing-endpoint-weight: {}", body["localEndpoints"]);
        assert!(head.contains(&weight), "{head}");
        Ok((status, body))
    })
    .unwrap()
}

#[test]
fn a_client_outside_is_told_whether_to_come_here() {
    let Some(wires) = Wires::new() else { return };
    let runtime = wires.node.run(|| tokio::runtime::Runtime::new().unwrap()).unwrap();
    let doors = Arc::new(Mutex::new(Doors::default()));
    let apply = |port: u16, local: Option<usize>, works: bool| {
        let check = |local| Check { namespace: "ns".into(), name: "web".into(), local };
        let door = Door { port, ipv4: true };
        let wanted: BTreeMap<_, _> = local.map(|local| (door, check(local))).into_iter().collect();
        let doors = Arc::clone(&doors);
        let work = runtime.spawn(async move { doors.lock().unwrap().apply(wanted, works) });
        runtime.block_on(work).unwrap();
    };
    let at = to("192.168.111.20:31234");
    let says = |local: usize, works: bool| {
        json!({"service": {"namespace": "ns", "name": "web"}, "localEndpoints": local,
            "serviceProxyHealthy": works})
    };
    let refused = Err("connection refused".to_owned());
    assert_eq!(get(&wires.office, at, "/"), refused);
    apply(31234, Some(2), true);
    for path in ["/", "/healthz", "/any/thing?x=1"] {
        assert_eq!(get(&wires.office, at, path), Ok((200, says(2, true))), "{path}");
    }
    apply(31234, Some(0), true);
    assert_eq!(get(&wires.office, at, "/"), Ok((503, says(0, true))));
    // Nobody shall come to a node that does not forward, whoever is on it.
    apply(31234, Some(2), false);
    assert_eq!(get(&wires.office, at, "/"), Ok((503, says(2, false))));
    // A Service of IPv4 is not asked for at IPv6 addresses.
    assert_eq!(get(&wires.pods[0], to("[fd00:244::1]:31234"), "/"), refused);
    assert_eq!(get(&wires.pods[0], to("10.244.0.1:31234"), "/"), Ok((503, says(2, false))));
    // Another port, and none.
    apply(31235, Some(1), true);
    assert_eq!(get(&wires.office, to("192.168.111.20:31235"), "/"), Ok((200, says(1, true))));
    // Who listened is told to stop, and stops a moment later; a client that comes in between is cut off.
    let is_closed = |at: SocketAddr| {
        (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            get(&wires.office, at, "/") == refused
        })
    };
    assert!(is_closed(at));
    apply(31235, None, true);
    assert!(is_closed(to("192.168.111.20:31235")));
}

#[test]
fn a_port_that_is_taken_is_had_when_it_is_free() {
    let Some(wires) = Wires::new() else { return };
    let runtime = wires.node.run(|| tokio::runtime::Runtime::new().unwrap()).unwrap();
    let taken = wires.node.run(|| std::net::TcpListener::bind("0.0.0.0:31234").unwrap()).unwrap();
    let doors = Arc::new(Mutex::new(Doors::default()));
    let apply = || {
        let check = Check { namespace: "ns".into(), name: "web".into(), local: 1 };
        let wanted = BTreeMap::from([(Door { port: 31234, ipv4: true }, check)]);
        let doors = Arc::clone(&doors);
        let work = runtime.spawn(async move { doors.lock().unwrap().apply(wanted, true) });
        runtime.block_on(work).unwrap();
    };
    apply();
    drop(taken);
    apply();
    assert_eq!(
        get(&wires.office, to("192.168.111.20:31234"), "/").map(|(status, _)| status),
        Ok(200)
    );
}
