//! The responder alone, by real packets.

use std::time::Duration;

use landbridge_agent::responder::{
    Container, HandedPort, Port, Problem, Protocol, Report, ResponderConfig,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::harness::{get, in_node, until};

struct Running {
    dir: tempfile::TempDir,
    child: std::process::Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(ports: &[(u16, Protocol)]) -> Self {
        Self::start_handing(ports, |_| Vec::new())
    }

    fn start_handing(
        ports: &[(u16, Protocol)],
        handed: impl FnOnce(&std::path::Path) -> Vec<HandedPort>,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ports =
            ports.iter().map(|(number, protocol)| Port { number: *number, protocol: *protocol });
        let container = Container {
            name: "web".into(),
            ports: ports.collect(),
            log: Some(dir.path().join("0.log")),
        };
        let config = ResponderConfig {
            namespace: "openstack".into(),
            pod: "web-0".into(),
            uid: "u".into(),
            node: "worker-1".into(),
            containers: vec![container],
            report: Some(dir.path().join("report.json")),
            authority: None,
            name_server: None,
            handed: handed(dir.path()),
        };
        let path = dir.path().join("responder.json");
        std::fs::write(&path, serde_json::to_vec(&config).unwrap()).unwrap();
        let command = crate::processes::responder_command();
        let (program, arguments) = command.split_first().unwrap();
        let mut command = std::process::Command::new(program);
        command.args(arguments).arg(path).stdout(std::process::Stdio::null());
        Self { child: command.spawn().unwrap(), dir }
    }

    async fn report(&self, is: impl Fn(&Report) -> bool) -> Report {
        until("a report", || async {
            let text = std::fs::read(self.dir.path().join("report.json")).ok()?;
            let report: Report = serde_json::from_slice(&text).unwrap();
            is(&report).then_some(report)
        })
        .await
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("0.log")).unwrap()
    }
}

#[test]
fn it_says_who_it_is_to_every_kind_of_client() {
    in_node(|| async {
        let tcp_udp = [(8080, Protocol::Tcp), (53, Protocol::Udp), (9, Protocol::Sctp)];
        let running = Running::start(&tcp_udp);
        let report = running.report(|_| true).await;
        assert_eq!(report, Report { pid: running.child.id(), problems: vec![] });

        let text = get("127.0.0.1:8080", "").await;
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(text.contains("\r\n\r\npod openstack/web-0 on worker-1\n"), "{text}");
        let answer = get("[::1]:8080", "Accept: application/json\r\n").await;
        let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!(body["pod"], "web-0");
        assert_eq!(body["container"], "web");
        assert!(body["peer"].as_str().unwrap().starts_with("[::1]:"), "{body}");

        let mut stream = TcpStream::connect("127.0.0.1:8080").await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut echo = String::new();
        stream.read_to_string(&mut echo).await.unwrap();
        assert!(echo.starts_with("pod openstack/web-0 on worker-1, port 8080, you are 127.0.0.1:"));
        assert!(echo.ends_with("\nhello"), "{echo}");

        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.send_to(b"?", "127.0.0.1:53").await.unwrap();
        let mut buffer = [0; 1500];
        let received = tokio::time::timeout(Duration::from_secs(5), socket.recv(&mut buffer)).await;
        let line = String::from_utf8_lossy(&buffer[..received.unwrap().unwrap()]).into_owned();
        assert!(line.starts_with("pod openstack/web-0 on worker-1, port 53"), "{line}");

        let log = until("the last request is in the log", || async {
            Some(running.log()).filter(|log| log.contains("UDP 53"))
        })
        .await;
        for part in [
            "images are not run",
            "listening on port 8080/TCP",
            "SCTP",
            "TCP 8080 GET /x",
            "UDP 53",
        ] {
            assert!(log.contains(part), "{part}: {log}");
        }
        let form = |line: &str| line.split(' ').nth(1) == Some("stdout");
        assert!(log.lines().all(form), "{log}");
    });
}

#[test]
fn a_port_that_is_taken_is_told_and_had_later() {
    in_node(|| async {
        let other = TcpListener::bind("0.0.0.0:8080").await.unwrap();
        let running = Running::start(&[(8080, Protocol::Tcp), (8081, Protocol::Tcp)]);
        let report = running.report(|_| true).await;
        let [Problem { container, port, why }] = report.problems.as_slice() else {
            panic!("{report:?}")
        };
        assert_eq!((container.as_str(), port.number), ("web", 8080));
        assert!(why.contains("another process"), "{why}");
        assert!(get("127.0.0.1:8081", "").await.contains("web-0"));
        drop(other);
        running.report(|report| report.problems.is_empty()).await;
        assert!(get("127.0.0.1:8080", "").await.contains("web-0"));
        assert!(running.log().contains("cannot listen on port 8080/TCP"));
    });
}

#[test]
fn it_is_small_and_bounded() {
    in_node(|| async {
        let running = Running::start(&[(8080, Protocol::Tcp)]);
        running.report(|_| true).await;
        // More clients than it keeps: the oldest silent ones go, the newest is served.
        let mut clients = Vec::new();
        for _ in 0..200 {
            clients.push(TcpStream::connect("127.0.0.1:8080").await.unwrap());
        }
        assert!(get("127.0.0.1:8080", "").await.contains("web-0"));
        let mut first = clients.swap_remove(0);
        let mut buffer = [0; 16];
        assert_eq!(first.read(&mut buffer).await.unwrap_or(0), 0, "the first one was let go");
        let status = std::fs::read_to_string(format!("/proc/{}/status", running.child.id()));
        let status = status.unwrap();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        eprintln!("RssAnon {} kB, VmRSS {} kB", field("RssAnon"), field("VmRSS"));
        assert!(field("RssAnon") < 4 << 10, "{status}");
    });
}

/// Answers what it is sent in capitals, until the other side has ended.
async fn shout(mut stream: tokio::net::UnixStream) {
    let mut buffer = [0; 1000];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        let words = buffer[..length].to_ascii_uppercase();
        stream.write_all(&words).await.unwrap();
    }
    stream.write_all(b"!").await.unwrap();
}

#[test]
fn a_port_that_is_handed_on_is_answered_by_whoever_stands_behind_it() {
    in_node(|| async {
        // Longer than names of sockets may be.
        let deep = |dir: &std::path::Path| dir.join("d".repeat(100));
        let ports = [(5000, Protocol::Tcp), (8080, Protocol::Tcp)];
        let running = Running::start_handing(&ports, |dir| {
            std::fs::create_dir(deep(dir)).unwrap();
            let socket = deep(dir).join("identity.sock");
            vec![HandedPort { container: "web".into(), number: 5000, socket }]
        });
        running.report(|_| true).await;
        // Nobody is there yet: clients are told so, not left waiting.
        let text = get("127.0.0.1:5000", "").await;
        assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
        let own = get("127.0.0.1:8080", "").await;
        assert!(own.starts_with("HTTP/1.1 200 "), "only that port: {own}");

        let handle = std::fs::File::open(deep(running.dir.path())).unwrap();
        let short = std::path::PathBuf::from(format!(
            "/proc/self/fd/{}/identity.sock",
            std::os::fd::AsRawFd::as_raw_fd(&handle)
        ));
        let listener = tokio::net::UnixListener::bind(short).unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(shout(stream));
            }
        });
        let mut clients = Vec::new();
        for number in 0..3_u8 {
            clients.push(tokio::spawn(async move {
                let mut stream = TcpStream::connect("[::1]:5000").await.unwrap();
                // More than waits anywhere, so that it has to flow.
                let words = vec![b'a' + number; 300_000];
                let (mut reader, mut writer) = stream.split();
                let mut answer = Vec::new();
                let send = async {
                    writer.write_all(&words).await.unwrap();
                    writer.shutdown().await.unwrap();
                };
                let ((), read) = tokio::join!(send, reader.read_to_end(&mut answer));
                read.unwrap();
                assert_eq!(answer.len(), words.len() + 1, "nothing is lost");
                assert!(answer.ends_with(b"!"), "the end came last");
                assert!(answer[..words.len()].iter().all(|byte| *byte == b'A' + number));
            }));
        }
        for client in clients {
            tokio::time::timeout(Duration::from_secs(20), client).await.unwrap().unwrap();
        }
    });
}
