//! Probes, asked: from the node to the pod, as a kubelet does.

use std::net::IpAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::probe::Check;

/// The first line of an answer is not longer than this.
const LINE: usize = 1024;

/// Asks once. The pod's own address is taken where the probe names no other host.
pub async fn check(check: &Check, pod: Option<IpAddr>, timeout: Duration) -> Result<(), String> {
    let asked = async {
        match check {
            Check::Exec => Ok(()),
            Check::Impossible(why) => Err(why.clone()),
            Check::Tcp { host, port } => connect(host.as_deref(), pod, *port).await.map(drop),
            Check::Http { host, port, path, headers } => {
                let stream = connect(host.as_deref(), pod, *port).await?;
                get(stream, host.as_deref(), pod, *port, path, headers).await
            }
        }
    };
    match tokio::time::timeout(timeout, asked).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("no answer within {} s", timeout.as_secs())),
    }
}

async fn connect(host: Option<&str>, pod: Option<IpAddr>, port: u16) -> Result<TcpStream, String> {
    let connected = match (host, pod) {
        (Some(host), _) => TcpStream::connect((host, port)).await,
        (None, Some(ip)) => TcpStream::connect((ip, port)).await,
        (None, None) => return Err("the pod has no address".to_owned()),
    };
    let to = host.map_or_else(|| pod.map(|ip| ip.to_string()).unwrap_or_default(), str::to_owned);
    connected.map_err(|error| format!("dial tcp {to}:{port}: {error}"))
}

async fn get(
    mut stream: TcpStream,
    host: Option<&str>,
    pod: Option<IpAddr>,
    port: u16,
    path: &str,
    headers: &[(String, String)],
) -> Result<(), String> {
    let request = request(host, pod, port, path, headers)?;
    let failed = |error: std::io::Error| format!("GET {path}: {error}");
    stream.write_all(request.as_bytes()).await.map_err(failed)?;
    let mut answer = Vec::new();
    let mut buffer = [0; 256];
    while answer.len() < LINE && !answer.contains(&b'\n') {
        match stream.read(&mut buffer).await.map_err(failed)? {
            0 => break,
            length => answer.extend_from_slice(&buffer[..length]),
        }
    }
    judge(&answer)
}

/// The request, unless something in it would break out of its line.
fn request(
    host: Option<&str>,
    pod: Option<IpAddr>,
    port: u16,
    path: &str,
    headers: &[(String, String)],
) -> Result<String, String> {
    let name = match (host, pod) {
        (Some(host), _) => host.to_owned(),
        (None, Some(IpAddr::V6(ip))) => format!("[{ip}]"),
        (None, Some(ip)) => ip.to_string(),
        (None, None) => String::new(),
    };
    let own = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let mut lines = vec![format!("GET {} HTTP/1.1", path.replace(' ', "%20"))];
    if !own("host") {
        lines.push(format!("Host: {name}:{port}"));
    }
    if !own("user-agent") {
        lines.push("User-Agent: kube-probe/landbridge".to_owned());
    }
    lines.extend(headers.iter().map(|(key, value)| format!("{key}: {value}")));
    lines.push("Connection: close".to_owned());
    if lines.iter().any(|line| line.chars().any(char::is_control)) {
        return Err("the probe's path or a header of it has a control character".to_owned());
    }
    Ok(lines.join("\r\n") + "\r\n\r\n")
}

/// What an answer means: from 200 to 399 is well.
fn judge(answer: &[u8]) -> Result<(), String> {
    let line = String::from_utf8_lossy(answer);
    let line = line.lines().next().unwrap_or_default();
    let code = line.strip_prefix("HTTP/").and_then(|rest| rest.split(' ').nth(1));
    match code.and_then(|code| code.parse::<u16>().ok()) {
        Some(200..=399) => Ok(()),
        Some(code) => Err(format!("HTTP probe failed with statuscode: {code}")),
        None => Err("the answer is no HTTP".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_judged() {
        assert_eq!(judge(b"HTTP/1.1 204 No Content\r\n"), Ok(()));
        assert_eq!(judge(b"HTTP/1.1 399 x\r\n"), Ok(()));
        assert!(judge(b"HTTP/1.1 500 x\r\n").unwrap_err().ends_with("500"));
        assert!(judge(b"SSH-2.0-x\r\n").is_err());
        assert!(judge(b"").is_err());
    }

    #[test]
    fn a_request_stays_one() {
        let header = |value: &str| vec![("X".to_owned(), value.to_owned())];
        let ip = Some("2001:db8::1".parse().unwrap());
        let text = request(None, ip, 80, "/a b", &header("y")).unwrap();
        assert!(text.starts_with("GET /a%20b HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n"), "{text}");
        assert!(request(None, ip, 80, "/", &header("y\r\nZ: 1")).is_err());
        assert!(request(None, ip, 80, "/\r\n", &[]).is_err());
    }
}
