//! The supervisor's ends of the sockets: lines become questions, answers become lines.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::protocol::{Answer, MAX_QUESTION, NodeRequest, OperatorRequest};

/// So many may ask at once on one socket; the others wait.
const AT_ONCE: usize = 16;
/// Who asks must ask within this time.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whose socket it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    Operator,
    /// A node, by its place in the shape.
    Node(usize),
}

/// A question with the way back.
#[derive(Debug)]
pub(crate) struct Question {
    pub asked: Asked,
    pub answer: oneshot::Sender<Answer>,
}

/// What is asked.
#[derive(Debug)]
pub(crate) enum Asked {
    Operator(OperatorRequest),
    Node(usize, NodeRequest),
}

/// Listens on a path, in the place of what was left there by one that was killed.
pub(crate) fn serve(path: &Path, from: From, questions: mpsc::Sender<Question>) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // The directory is the owner's alone, so nobody comes between these two.
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    tokio::spawn(accept(listener, from, questions));
    Ok(())
}

async fn accept(listener: UnixListener, from: From, questions: mpsc::Sender<Question>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let questions = questions.clone();
                tokio::spawn(async move {
                    // Who hangs up or is too slow gets no answer, and needs none.
                    let _ = tokio::time::timeout(PATIENCE * 3, talk(stream, from, questions)).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!("a socket of the lab takes no questions: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn talk(stream: UnixStream, from: From, questions: mpsc::Sender<Question>) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut line = String::new();
    let mut reader = BufReader::new(reader.take(MAX_QUESTION));
    tokio::time::timeout(PATIENCE, reader.read_line(&mut line)).await??;
    let answer = match asked(from, &line) {
        Err(text) => Answer::Refused { text, errno: None },
        Ok(asked) => {
            let (answer, wait) = oneshot::channel();
            let _ = questions.send(Question { asked, answer }).await;
            wait.await.unwrap_or_else(|_| Answer::Refused {
                text: "the lab is being stopped".to_owned(),
                errno: None,
            })
        }
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    writer.write_all(&line).await
}

fn read<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| format!("the question is not understood: {error}"))
}

fn asked(from: From, line: &str) -> Result<Asked, String> {
    if !line.ends_with('\n') {
        return Err(format!("a question is one line of at most {MAX_QUESTION} bytes"));
    }
    match from {
        From::Operator => read(line).map(Asked::Operator),
        From::Node(number) => read(line).map(|request| Asked::Node(number, request)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_socket_takes_its_own_questions_only() {
        let reboot = "{\"reboot\":{\"node\":\"worker-0\"}}\n";
        assert!(matches!(asked(From::Operator, reboot), Ok(Asked::Operator(_))));
        assert!(asked(From::Node(0), reboot).unwrap_err().contains("not understood"));
        let vlan = "{\"vlan\":{\"candidates\":[\"enp6s0\"],\"base\":\"enp6s0\",\"id\":20,\"name\":\"enp6s0.20\"}}\n";
        assert!(matches!(asked(From::Node(3), vlan), Ok(Asked::Node(3, _))));
        assert!(asked(From::Operator, vlan).is_err());
        for odd in [
            "",
            "x",
            "{}\n",
            "[]\n",
            "{\"vlan\":{\"name\":\"../x\"}}\n",
            "{\"status\":{\"x\":1}}\n",
        ] {
            assert!(asked(From::Node(0), odd).is_err(), "{odd}");
            assert!(asked(From::Operator, odd).is_err(), "{odd}");
        }
    }
}
