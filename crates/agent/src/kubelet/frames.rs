//! WebSocket frames (RFC 6455), the server's side: what clients send is taken apart, what they are
//! sent is put together. No IO, and nothing larger than a bound.

/// A message, and so everything of a client that waits, has at most this many bytes.
const MOST: usize = 1 << 20;
/// Frames that steer the connection have at most this many.
const CONTROL: usize = 125;

/// What a client says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Data, whether it was called text or binary.
    Data(Vec<u8>),
    Ping(Vec<u8>),
    Close,
}

/// Why a client is not understood; the number is for the frame that closes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    #[error("a frame is larger than {MOST} bytes")]
    TooLarge,
    #[error("a frame breaks the protocol: {0}")]
    Protocol(&'static str),
}

impl Bad {
    /// The status that says so.
    pub fn status(self) -> u16 {
        match self {
            Self::TooLarge => 1009,
            Self::Protocol(_) => 1002,
        }
    }
}

/// Takes apart what a client sends.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// The parts of a message that has begun.
    begun: Option<Vec<u8>>,
}

impl Decoder {
    /// Takes in bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message, when all of it is there.
    pub fn message(&mut self) -> Result<Option<Message>, Bad> {
        while let Some(Frame { last, kind, payload }) = self.frame()? {
            match kind {
                0x1 | 0x2 if self.begun.is_some() => {
                    return Err(Bad::Protocol("a message begins inside another"));
                }
                0x1 | 0x2 if last => return Ok(Some(Message::Data(payload))),
                0x1 | 0x2 => self.begun = Some(payload),
                0x0 => {
                    let Some(mut begun) = self.begun.take() else {
                        return Err(Bad::Protocol("a message goes on that has not begun"));
                    };
                    if begun.len() + payload.len() > MOST {
                        return Err(Bad::TooLarge);
                    }
                    begun.extend(payload);
                    if last {
                        return Ok(Some(Message::Data(begun)));
                    }
                    self.begun = Some(begun);
                }
                0x8 => return Ok(Some(Message::Close)),
                0x9 => return Ok(Some(Message::Ping(payload))),
                0xA => {}
                _ => return Err(Bad::Protocol("it is of an unknown kind")),
            }
        }
        Ok(None)
    }

    fn frame(&mut self) -> Result<Option<Frame>, Bad> {
        let [first, second, rest @ ..] = self.buffer.as_slice() else { return Ok(None) };
        let (last, kind) = (first & 0x80 != 0, first & 0x0f);
        if first & 0x70 != 0 {
            return Err(Bad::Protocol("it uses an extension"));
        }
        if second & 0x80 == 0 {
            return Err(Bad::Protocol("it is not masked, which clients must do"));
        }
        let (length, rest) = match second & 0x7f {
            126 => match rest.split_first_chunk::<2>() {
                None => return Ok(None),
                Some((length, rest)) => (u64::from(u16::from_be_bytes(*length)), rest),
            },
            127 => match rest.split_first_chunk::<8>() {
                None => return Ok(None),
                Some((length, rest)) => (u64::from_be_bytes(*length), rest),
            },
            short => (u64::from(short), rest),
        };
        let length = usize::try_from(length).ok().filter(|l| *l <= MOST).ok_or(Bad::TooLarge)?;
        if kind >= 0x8 && (length > CONTROL || !last) {
            return Err(Bad::Protocol("a frame that steers must be short and whole"));
        }
        let Some((mask, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let payload: Vec<u8> =
            payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        let used = self.buffer.len() - rest.len() + length;
        self.buffer.drain(..used);
        Ok(Some(Frame { last, kind, payload }))
    }
}

struct Frame {
    last: bool,
    kind: u8,
    payload: Vec<u8>,
}

/// A message of binary data: a channel and what goes on it.
pub fn data(channel: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = header(0x2, payload.len() + 1);
    bytes.push(channel);
    bytes.extend_from_slice(payload);
    bytes
}

/// The answer to a ping.
pub fn pong(payload: &[u8]) -> Vec<u8> {
    let mut bytes = header(0xA, payload.len());
    bytes.extend_from_slice(payload);
    bytes
}

/// The end of a connection.
pub fn close(status: u16) -> Vec<u8> {
    let mut bytes = header(0x8, 2);
    bytes.extend(status.to_be_bytes());
    bytes
}

fn header(kind: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![0x80 | kind];
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short), _) if short < 126 => bytes.push(short),
        (_, Ok(medium)) => {
            bytes.push(126);
            bytes.extend(medium.to_be_bytes());
        }
        _ => {
            bytes.push(127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes
}

/// What a server answers to the key of a client, to show that it speaks the protocol.
pub fn accept(key: &str) -> String {
    use base64::Engine as _;
    const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    // The protocol is built on SHA-1; nothing secret depends on it.
    let algorithm = &ring::digest::SHA1_FOR_LEGACY_USE_ONLY;
    let digest = ring::digest::digest(algorithm, format!("{key}{MAGIC}").as_bytes());
    base64::engine::general_purpose::STANDARD.encode(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As a client would send it.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = header(first & 0x0f, payload.len());
        bytes[0] = first;
        bytes[1] |= 0x80;
        let mask = [1, 2, 3, 4];
        bytes.extend(mask);
        bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        bytes
    }

    fn decode(bytes: &[u8], cut: usize) -> Result<Vec<Message>, Bad> {
        let mut decoder = Decoder::default();
        let mut messages = Vec::new();
        for part in [&bytes[..cut], &bytes[cut..]] {
            decoder.feed(part);
            while let Some(message) = decoder.message()? {
                messages.push(message);
            }
        }
        Ok(messages)
    }

    #[test]
    fn the_key_of_the_standard_is_accepted() {
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn messages_are_put_together_and_steering_comes_between() {
        let bytes = [
            masked(0x02, b"one"),
            masked(0x89, b"hi"),
            masked(0x00, b" and"),
            masked(0x80, b" two"),
            masked(0x81, b"text"),
            masked(0x8A, b""),
            masked(0x88, b""),
        ]
        .concat();
        let data = |text: &str| Message::Data(text.into());
        let expected =
            [Message::Ping(b"hi".to_vec()), data("one and two"), data("text"), Message::Close];
        for cut in 0..=bytes.len() {
            assert_eq!(decode(&bytes, cut).unwrap(), expected, "{cut}");
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_refused() {
        let mut huge = vec![0x82, 0xFF];
        huge.extend(u64::MAX.to_be_bytes());
        for (bytes, status) in [
            (vec![0x82, 0x01, 0x00], 1002),
            (huge, 1009),
            (masked(0xC2, b"x"), 1002),
            (masked(0x83, b"x"), 1002),
            (masked(0x80, b"x"), 1002),
            (masked(0x09, b"x"), 1002),
            (masked(0x89, &[0; 126]), 1002),
            ([masked(0x02, b"x"), masked(0x82, b"y")].concat(), 1002),
            ([masked(0x02, &vec![0; MOST]), masked(0x80, b"y")].concat(), 1009),
        ] {
            assert_eq!(decode(&bytes, 0).unwrap_err().status(), status, "{:?}", &bytes[..2]);
        }
    }

    proptest! {
        #[test]
        fn every_length_comes_through(length in prop_oneof![0..300usize, 65_530..65_540usize]) {
            let payload = vec![7; length];
            let bytes = masked(0x82, &payload);
            prop_assert_eq!(decode(&bytes, length / 2).unwrap(), [Message::Data(payload.clone())]);
            let sent = data(1, &payload);
            prop_assert!(sent.ends_with(&payload) && sent.len() <= length + 11);
        }

        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(&bytes, bytes.len() / 2);
        }
    }
}
