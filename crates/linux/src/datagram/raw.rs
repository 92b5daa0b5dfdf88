//! The system calls of [`super::Batch`], which no safe crate of ours has, with the structures they
//! read and write.
#![expect(unsafe_code, reason = "recvmmsg, sendmmsg and control messages need raw pointers")]
#![expect(
    clippy::cast_possible_truncation,
    reason = "constants, and counts of one batch, in the kernel's types"
)]

use std::io;
use std::mem::{self, offset_of};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::RawFd;
use std::ptr;

use libc::{c_int, c_void};

use super::Arrival;

/// Room for one socket address of either family.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct Name {
    bytes: [u8; Self::ROOM],
    length: u32,
}

impl Name {
    const ROOM: usize = 28;

    pub const EMPTY: Self = Self { bytes: [0; Self::ROOM], length: 0 };

    pub fn of(address: SocketAddr) -> Self {
        let mut name = Self::EMPTY;
        let mut put =
            |at: usize, bytes: &[u8]| name.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        match address {
            SocketAddr::V4(v4) => {
                put(0, &(libc::AF_INET as u16).to_ne_bytes());
                put(2, &v4.port().to_be_bytes());
                put(4, &v4.ip().octets());
                name.length = 16;
            }
            SocketAddr::V6(v6) => {
                put(0, &(libc::AF_INET6 as u16).to_ne_bytes());
                put(2, &v6.port().to_be_bytes());
                put(8, &v6.ip().octets());
                put(24, &v6.scope_id().to_ne_bytes());
                name.length = 28;
            }
        }
        name
    }

    pub fn address(&self) -> Option<SocketAddr> {
        let array4 = |at: usize| {
            [self.bytes[at], self.bytes[at + 1], self.bytes[at + 2], self.bytes[at + 3]]
        };
        let family = c_int::from(u16::from_ne_bytes([self.bytes[0], self.bytes[1]]));
        let port = u16::from_be_bytes([self.bytes[2], self.bytes[3]]);
        match family {
            libc::AF_INET if self.length >= 16 => {
                Some(SocketAddrV4::new(Ipv4Addr::from(array4(4)), port).into())
            }
            libc::AF_INET6 if self.length >= 28 => {
                let mut octets = [0; 16];
                octets.copy_from_slice(&self.bytes[8..24]);
                let scope = u32::from_ne_bytes(array4(24));
                Some(SocketAddrV6::new(Ipv6Addr::from(octets), port, 0, scope).into())
            }
            _ => None,
        }
    }
}

/// Room for one control message with an address: its header, and what it says.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct Control {
    bytes: [u8; Self::ROOM],
    length: usize,
}

/// A control message begins with its length, level and kind.
const HEADER: usize = 16;
const V4: usize = mem::size_of::<libc::in_pktinfo>();
const V6: usize = mem::size_of::<libc::in6_pktinfo>();
// What is read and written by hand below is laid out as the kernel has it.
const _: () = assert!(mem::size_of::<libc::cmsghdr>() == HEADER && V4 == 12 && V6 == 20);
const _: () = assert!(
    offset_of!(libc::cmsghdr, cmsg_level) == 8 && offset_of!(libc::cmsghdr, cmsg_type) == 12
);
const _: () = assert!(
    mem::size_of::<libc::sockaddr_in6>() == Name::ROOM && mem::size_of::<libc::sockaddr_in>() == 16
);

impl Control {
    const ROOM: usize = 40;

    pub const EMPTY: Self = Self { bytes: [0; Self::ROOM], length: 0 };

    /// Says which address a datagram shall leave from.
    pub fn from_source(arrival: Arrival) -> Self {
        let mut control = Self::EMPTY;
        let mut put =
            |at: usize, bytes: &[u8]| control.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        let (level, kind, length) = match arrival.address {
            IpAddr::V4(address) => {
                // The link is left to the routes, as for any other answer.
                put(HEADER + 4, &address.octets());
                (libc::IPPROTO_IP, libc::IP_PKTINFO, V4)
            }
            IpAddr::V6(address) => {
                put(HEADER, &address.octets());
                // An address of one link means nothing without it.
                let link = if address.is_unicast_link_local() { arrival.link } else { 0 };
                put(HEADER + 16, &link.to_ne_bytes());
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, V6)
            }
        };
        put(0, &(HEADER + length).to_ne_bytes());
        put(8, &level.to_ne_bytes());
        put(12, &kind.to_ne_bytes());
        control.length = (HEADER + length).next_multiple_of(8);
        control
    }

    /// What the kernel said about where a datagram was sent to.
    pub fn arrival(&self) -> Option<Arrival> {
        let word = |at: usize| {
            [self.bytes[at], self.bytes[at + 1], self.bytes[at + 2], self.bytes[at + 3]]
        };
        if self.length < HEADER {
            return None;
        }
        match (i32::from_ne_bytes(word(8)), i32::from_ne_bytes(word(12))) {
            (libc::IPPROTO_IP, libc::IP_PKTINFO) if self.length >= HEADER + V4 => Some(Arrival {
                // The header's destination; the other field is the address of the route back.
                address: Ipv4Addr::from(word(HEADER + 8)).into(),
                link: u32::from_ne_bytes(word(HEADER)),
            }),
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) if self.length >= HEADER + V6 => {
                let mut octets = [0; 16];
                octets.copy_from_slice(&self.bytes[HEADER..HEADER + 16]);
                Some(Arrival {
                    address: Ipv6Addr::from(octets).into(),
                    link: u32::from_ne_bytes(word(HEADER + 16)),
                })
            }
            _ => None,
        }
    }
}

fn cvt(result: c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Asks for the destination of every datagram.
pub fn tell_arrival(socket: RawFd, v6: bool) -> io::Result<()> {
    let (level, option) = if v6 {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
    } else {
        (libc::IPPROTO_IP, libc::IP_PKTINFO)
    };
    let on: c_int = 1;
    // SAFETY: the option is an integer, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            socket,
            level,
            option,
            ptr::from_ref(&on).cast(),
            mem::size_of::<c_int>() as u32,
        )
    };
    cvt(result).map(drop)
}

/// The headers of one call: for each datagram its bytes, its peer and its control message.
pub struct Headers {
    messages: Vec<libc::mmsghdr>,
    parts: Vec<libc::iovec>,
}

// SAFETY: the pointers in it are written anew before every call, from references that outlive the
// call, and are never read after it; between calls they are only numbers.
unsafe impl Send for Headers {}

impl Headers {
    pub fn new(capacity: usize) -> Self {
        Self { messages: Vec::with_capacity(capacity), parts: Vec::with_capacity(capacity) }
    }

    /// Takes what is there, at least one; blocks until then. Each datagram gets one of `chunks` of
    /// `bytes`, and its length and flags are given to `note`.
    pub fn receive(
        &mut self,
        socket: RawFd,
        bytes: &mut [u8],
        chunk: usize,
        names: &mut [Name],
        controls: Option<&mut [Control]>,
        mut note: impl FnMut(usize, usize, bool),
    ) -> io::Result<usize> {
        let count = (bytes.len() / chunk).min(names.len());
        self.begin();
        let mut controls = controls.map(|slice| slice.iter_mut());
        for (part, name) in bytes.chunks_exact_mut(chunk).zip(names.iter_mut()) {
            let control = controls.as_mut().and_then(Iterator::next);
            self.add(
                part.as_mut_ptr().cast(),
                part.len(),
                (name.bytes.as_mut_ptr().cast(), Name::ROOM as u32),
                control
                    .map_or((ptr::null_mut(), 0), |c| (c.bytes.as_mut_ptr().cast(), Control::ROOM)),
            );
        }
        self.link();
        // SAFETY: every pointer was written just now from a reference that is held for this call,
        // with the length of what it points to.
        let taken = cvt(unsafe {
            libc::recvmmsg(
                socket,
                self.messages.as_mut_ptr(),
                count as u32,
                libc::MSG_WAITFORONE,
                ptr::null_mut(),
            )
        })?;
        for (index, message) in self.messages.iter().take(taken).enumerate() {
            names[index].length = message.msg_hdr.msg_namelen;
            note(index, message.msg_len as usize, message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0);
        }
        Ok(taken)
    }

    /// The length of the control message that came with a datagram.
    pub fn note_controls(&self, taken: usize, controls: &mut [Control]) {
        for (message, control) in self.messages.iter().take(taken).zip(controls) {
            control.length = message.msg_hdr.msg_controllen;
        }
    }

    /// Forgets the datagrams of the last call.
    pub fn begin(&mut self) {
        self.messages.clear();
        self.parts.clear();
    }

    /// Adds a datagram to be sent. What it points to has to be there until [`Self::send`].
    pub fn add_answer<'a>(
        &mut self,
        bytes: &'a [u8],
        name: &'a Name,
        control: Option<&'a Control>,
    ) {
        self.add(
            bytes.as_ptr().cast_mut().cast(),
            bytes.len(),
            (name.bytes.as_ptr().cast_mut().cast(), name.length),
            control
                .map_or((ptr::null_mut(), 0), |c| (c.bytes.as_ptr().cast_mut().cast(), c.length)),
        );
    }

    fn add(
        &mut self,
        bytes: *mut c_void,
        length: usize,
        (name, name_length): (*mut c_void, u32),
        (control, control_length): (*mut c_void, usize),
    ) {
        self.parts.push(libc::iovec { iov_base: bytes, iov_len: length });
        // SAFETY: a header of zeroes is a valid one.
        let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
        message.msg_hdr.msg_name = name;
        message.msg_hdr.msg_namelen = name_length;
        message.msg_hdr.msg_control = control;
        message.msg_hdr.msg_controllen = control_length;
        message.msg_hdr.msg_iovlen = 1;
        self.messages.push(message);
    }

    /// Points the headers to their parts, once these do not move any more.
    fn link(&mut self) {
        for (message, part) in self.messages.iter_mut().zip(self.parts.iter_mut()) {
            message.msg_hdr.msg_iov = ptr::from_mut(part);
        }
    }

    /// Sends what was added. A datagram the kernel refuses is lost, the others are sent; the number
    /// of refused ones is returned.
    ///
    /// # Safety
    /// Everything handed to [`Self::add_answer`] since [`Self::begin`] is still there and unchanged.
    pub unsafe fn send(&mut self, socket: RawFd) -> usize {
        self.link();
        let (mut done, mut refused) = (0, 0);
        while done < self.messages.len() {
            let rest = &mut self.messages[done..];
            // SAFETY: the caller holds what the headers point to; the parts are in `self`.
            let sent = unsafe { libc::sendmmsg(socket, rest.as_mut_ptr(), rest.len() as u32, 0) };
            match cvt(sent) {
                // The first one was refused: to no route, to a full queue. Go on behind it.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) | Ok(0) => {
                    done += 1;
                    refused += 1;
                }
                Ok(sent) => done += sent,
            }
        }
        refused
    }
}

/// Sends one datagram without waiting.
pub fn send(socket: RawFd, bytes: &[u8], name: &Name, control: Option<&Control>) -> io::Result<()> {
    let mut headers = Headers::new(1);
    headers.begin();
    headers.add_answer(bytes, name, control);
    headers.link();
    let message = &headers.messages[0].msg_hdr;
    // SAFETY: the header points to the arguments of this function, which outlive the call.
    let sent = unsafe { libc::sendmsg(socket, message, libc::MSG_DONTWAIT) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
