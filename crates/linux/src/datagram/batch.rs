//! Many datagrams with one call, each with room for the answer to it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;

use super::raw::{Control, Headers, Name};
use super::{Arrival, DatagramSocket};

/// Datagrams that came in together, and the answers to them that go out together.
///
/// Room is allocated once; a server that answers from it allocates nothing per datagram.
pub struct Batch {
    chunk: usize,
    bytes: Vec<u8>,
    names: Vec<Name>,
    controls: Vec<Control>,
    lengths: Vec<(usize, bool)>,
    room: usize,
    answers: Vec<u8>,
    answer_lengths: Vec<usize>,
    taken: usize,
    headers: Headers,
}

/// One datagram and its answer.
pub struct Slot<'a> {
    /// What came.
    pub question: &'a [u8],
    /// Whether it was longer than what is kept of it.
    pub cut: bool,
    /// Who sent it.
    pub peer: SocketAddr,
    /// Where it was sent to, if the socket is bound to a wildcard.
    pub arrival: Option<Arrival>,
    /// Room for the answer.
    pub answer: &'a mut [u8],
    /// How long the answer is; none is sent if this stays 0.
    pub answer_length: &'a mut usize,
}

impl Batch {
    /// Room for so many datagrams, so many bytes of each and of each answer.
    pub fn new(capacity: usize, chunk: usize, room: usize) -> Self {
        Self {
            chunk,
            bytes: vec![0; capacity * chunk],
            names: vec![Name::EMPTY; capacity],
            controls: vec![Control::EMPTY; capacity],
            lengths: vec![(0, false); capacity],
            room,
            answers: vec![0; capacity * room],
            answer_lengths: vec![0; capacity],
            taken: 0,
            headers: Headers::new(capacity),
        }
    }

    /// Waits for a datagram and takes all that are there, as far as there is room.
    pub fn receive(&mut self, socket: &DatagramSocket) -> io::Result<usize> {
        self.taken = 0;
        let lengths = &mut self.lengths;
        let controls = socket.tells_arrival.then_some(self.controls.as_mut_slice());
        self.taken = self.headers.receive(
            socket.socket.as_raw_fd(),
            &mut self.bytes,
            self.chunk,
            &mut self.names,
            controls,
            |index, length, cut| lengths[index] = (length, cut),
        )?;
        if socket.tells_arrival {
            self.headers.note_controls(self.taken, &mut self.controls);
        }
        Ok(self.taken)
    }

    /// The datagrams, one after the other, with an empty answer each.
    pub fn for_each(&mut self, socket: &DatagramSocket, mut handle: impl FnMut(Slot<'_>)) {
        let questions = self.bytes.chunks_exact(self.chunk);
        let taken = self.lengths.iter().take(self.taken);
        let answers = self.answers.chunks_exact_mut(self.room).zip(&mut self.answer_lengths);
        let rest = self.names.iter().zip(&self.controls).zip(answers);
        for ((&(length, cut), bytes), ((name, control), (answer, answer_length))) in
            taken.zip(questions).zip(rest)
        {
            *answer_length = 0;
            // A datagram from nowhere can not be answered.
            let (Some(question), Some(peer)) = (bytes.get(..length), name.address()) else {
                continue;
            };
            let arrival = if socket.tells_arrival { control.arrival() } else { None };
            handle(Slot { question, cut, peer, arrival, answer, answer_length });
        }
    }

    /// Sends the answers; how many the kernel refused.
    #[expect(unsafe_code, reason = "the headers point into this batch")]
    pub fn send(&mut self, socket: &DatagramSocket) -> usize {
        self.headers.begin();
        if socket.tells_arrival {
            // The address a question was sent to is the one its answer leaves from.
            for control in self.controls.iter_mut().take(self.taken) {
                *control = control.arrival().map_or(Control::EMPTY, Control::from_source);
            }
        }
        let answers = self.answers.chunks_exact(self.room).zip(&self.answer_lengths);
        let rest = self.names.iter().zip(&self.controls).zip(answers);
        for ((name, control), (answer, &length)) in rest.take(self.taken) {
            if let Some(answer) = answer.get(..length).filter(|answer| !answer.is_empty()) {
                self.headers.add_answer(answer, name, socket.tells_arrival.then_some(control));
            }
        }
        // SAFETY: names, controls and answers are fields of `self`, which is borrowed until the end.
        let refused = unsafe { self.headers.send(socket.socket.as_raw_fd()) };
        self.taken = 0;
        refused
    }
}
