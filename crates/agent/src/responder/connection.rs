//! One TCP connection, without its socket: bytes in, bytes out.

/// The head of a request may have this many bytes, as with most servers.
const HEAD: usize = 16 << 10;
/// Echoed bytes wait for the client up to here; then nothing more is read.
pub const WAITING: usize = 64 << 10;

const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"];

/// What a client wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// An HTTP request.
    Http { line: String, json: bool },
    /// The one line for clients that do not speak HTTP.
    Line,
}

/// How a connection has turned out so far.
#[derive(Debug)]
enum Speech {
    Unknown,
    Http,
    /// The rest of a request's body, which nobody reads.
    Body(u64),
    Echo,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Connection {
    speech: Speech,
    input: Vec<u8>,
    /// What is to be sent.
    pub output: Vec<u8>,
    /// Close once everything is sent.
    pub closing: bool,
}

impl Default for Connection {
    fn default() -> Self {
        Self { speech: Speech::Unknown, input: Vec::new(), output: Vec::new(), closing: false }
    }
}

impl Connection {
    /// Whether more may be read.
    pub fn hungry(&self) -> bool {
        !self.closing && self.output.len() < WAITING
    }

    /// Takes in what was received. `answer` gives the words for what is asked.
    pub fn receive(&mut self, bytes: &[u8], mut answer: impl FnMut(&Asked) -> String) {
        self.input.extend_from_slice(bytes);
        loop {
            match &mut self.speech {
                Speech::Unknown => match looks_like_http(&self.input) {
                    None => return,
                    Some(true) => self.speech = Speech::Http,
                    Some(false) => {
                        self.output.extend(answer(&Asked::Line).into_bytes());
                        self.speech = Speech::Echo;
                    }
                },
                Speech::Echo => {
                    self.output.append(&mut self.input);
                    return;
                }
                Speech::Body(left) => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(self.input.len());
                    self.input.drain(..taken);
                    *left -= taken as u64;
                    if *left > 0 || self.closing {
                        return;
                    }
                    self.speech = Speech::Http;
                }
                Speech::Http => {
                    let Some(end) = self.input.windows(4).position(|w| w == b"\r\n\r\n") else {
                        if self.input.len() > HEAD {
                            self.refuse("431 Request Header Fields Too Large");
                        }
                        return;
                    };
                    let head: Vec<u8> = self.input.drain(..end + 4).collect();
                    match Head::parse(&head) {
                        Some(head) => self.reply(&head, &mut answer),
                        None => self.refuse("400 Bad Request"),
                    }
                    if self.closing {
                        return;
                    }
                }
            }
        }
    }

    /// The client sends nothing more: what it has asked for is still sent.
    pub fn end(&mut self) {
        self.closing = true;
    }

    fn reply(&mut self, head: &Head, answer: &mut impl FnMut(&Asked) -> String) {
        let body = answer(&Asked::Http { line: head.line.clone(), json: head.json });
        let kind = if head.json { "application/json" } else { "text/plain; charset=utf-8" };
        let connection = if head.close { "close" } else { "keep-alive" };
        let length = body.len();
        let mut text = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
             Cache-Control: no-store\r\nConnection: {connection}\r\n\r\n"
        );
        if !head.bodiless {
            text.push_str(&body);
        }
        self.output.extend(text.into_bytes());
        self.closing = head.close;
        self.speech = Speech::Body(head.length);
    }

    fn refuse(&mut self, status: &str) {
        let text = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        self.output.extend(text.into_bytes());
        self.input.clear();
        self.closing = true;
    }
}

/// Whether bytes begin a request; nothing while that is open.
fn looks_like_http(input: &[u8]) -> Option<bool> {
    let mut open = input.is_empty();
    for method in METHODS {
        let start = [method.as_bytes(), b" "].concat();
        if input.starts_with(&start) {
            return Some(true);
        }
        open |= start.starts_with(input);
    }
    if open { None } else { Some(false) }
}

/// The head of a request, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    line: String,
    length: u64,
    json: bool,
    close: bool,
    /// Whether the answer has no body.
    bodiless: bool,
}

impl Head {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let mut words = lines.next()?.split(' ').filter(|word| !word.is_empty());
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if !version.starts_with("HTTP/1.") {
            return None;
        }
        let mut head = Self {
            line: format!("{method} {}", target.chars().take(256).collect::<String>()),
            length: 0,
            json: false,
            close: version == "HTTP/1.0",
            bodiless: method == "HEAD",
        };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim().to_ascii_lowercase();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = value.parse().ok()?,
                "accept" => head.json |= value.contains("application/json"),
                "connection" if value.contains("close") => head.close = true,
                // The end of such a body is not looked for: the connection ends instead.
                "transfer-encoding" => head.close = true,
                _ => {}
            }
        }
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer(asked: &Asked) -> String {
        match asked {
            Asked::Http { line, json } => format!("<{line} {json}>"),
            Asked::Line => "me\n".to_owned(),
        }
    }

    fn talk(pieces: &[&[u8]]) -> (String, bool) {
        let mut connection = Connection::default();
        for piece in pieces {
            connection.receive(piece, answer);
        }
        (String::from_utf8_lossy(&connection.output).into_owned(), connection.closing)
    }

    fn bodies(text: &str) -> Vec<&str> {
        text.split("\r\n\r\n").skip(1).map(|part| part.split("HTTP/1.1").next().unwrap()).collect()
    }

    #[test]
    fn requests_are_answered_one_after_another() {
        let (text, closing) = talk(&[
            b"GET /a HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n\r\nPOST /b HTTP/1.1\r\n",
            b"Content-Length: 5\r\n\r\nhel",
            b"loGET /c HTTP/1.1\r\nConnection: close\r\n\r\n",
        ]);
        assert_eq!(bodies(&text), ["<GET /a true>", "<POST /b false>", "<GET /c false>"]);
        assert!(closing);
    }

    #[test]
    fn odd_requests_get_an_answer_and_an_end() {
        for (request, status, closing) in [
            ("GET / HTTP/1.0\r\n\r\n", "200 OK", true),
            ("GET / HTTP/1.1\r\n\r\n", "200 OK", false),
            ("GET /\r\n\r\n", "400 Bad Request", true),
            ("GET / HTTP/2\r\n\r\n", "400 Bad Request", true),
            ("PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400 Bad Request", true),
            ("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc", "200 OK", true),
        ] {
            let (text, closed) = talk(&[request.as_bytes()]);
            assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:?}: {text}");
            assert_eq!(closed, closing, "{request:?}");
        }
        let (text, _) = talk(&[b"HEAD / HTTP/1.1\r\n\r\n"]);
        assert!(text.contains("Content-Length: 14\r\n") && text.ends_with("\r\n\r\n"), "{text}");
        let long = [b"GET / HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; HEAD]].concat();
        assert!(talk(&[&long]).0.starts_with("HTTP/1.1 431"));
    }

    #[test]
    fn other_bytes_come_back_after_the_name() {
        assert_eq!(talk(&[b"hello\n", b"you"]), ("me\nhello\nyou".to_owned(), false));
        // Only what can still become a request is waited for.
        assert_eq!(talk(&[b"GE"]).0, "");
        assert_eq!(talk(&[b"GE", b"E"]).0, "me\nGEE");
    }

    proptest! {
        #[test]
        fn how_bytes_are_cut_makes_no_difference(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..200),
                Just(b"POST /x HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n".to_vec()),
            ],
            cut in any::<proptest::sample::Index>(),
        ) {
            let cut = cut.index(bytes.len() + 1);
            prop_assert_eq!(talk(&[&bytes]), talk(&[&bytes[..cut], &bytes[cut..]]));
        }
    }
}
