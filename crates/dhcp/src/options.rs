//! The options that anybody here reads or writes.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use crate::message::{Kind, Malformed};

const MASK: u8 = 1;
const ROUTERS: u8 = 3;
const RESOLVERS: u8 = 6;
const HOST_NAME: u8 = 12;
const DOMAIN: u8 = 15;
const MTU: u8 = 26;
const REQUESTED: u8 = 50;
const LEASE: u8 = 51;
const KIND: u8 = 53;
const SERVER: u8 = 54;
const WISHES: u8 = 55;
const MESSAGE: u8 = 56;
const RENEW: u8 = 58;
const REBIND: u8 = 59;
const CLIENT: u8 = 61;
const CLASSLESS: u8 = 121;
const PAD: u8 = 0;
const END: u8 = 255;

/// What a client asks servers to tell.
const WISHED: &[u8] = &[MASK, ROUTERS, RESOLVERS, DOMAIN, MTU, LEASE, RENEW, REBIND, CLASSLESS];
/// More of one kind than that is nobody's configuration.
const MOST: usize = 32;

/// Options of a message; what is not known is not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub mask: Option<Ipv4Addr>,
    pub routers: Vec<Ipv4Addr>,
    pub resolvers: Vec<Ipv4Addr>,
    pub host_name: Option<String>,
    pub domain: Option<String>,
    pub mtu: Option<u16>,
    pub requested: Option<Ipv4Addr>,
    pub lease_seconds: Option<u32>,
    pub server: Option<Ipv4Addr>,
    pub message: Option<String>,
    pub renew_seconds: Option<u32>,
    pub rebind_seconds: Option<u32>,
    pub client: Option<Vec<u8>>,
    pub classless_routes: Vec<(Ipv4Net, Ipv4Addr)>,
    /// Whether the usual list of wishes goes out with it.
    pub wishes: bool,
}

impl Options {
    /// Appends all of them, with the message's kind first and the end mark last.
    pub(crate) fn encode(&self, kind: Kind, out: &mut Vec<u8>) {
        let mut put = |code: u8, value: &[u8]| {
            // An option longer than a byte can say goes out in parts (RFC 3396).
            for part in value.chunks(255) {
                out.push(code);
                out.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
                out.extend_from_slice(part);
            }
        };
        put(KIND, &[kind.code()]);
        if let Some(server) = self.server {
            put(SERVER, &server.octets());
        }
        if let Some(address) = self.requested {
            put(REQUESTED, &address.octets());
        }
        if let Some(mask) = self.mask {
            put(MASK, &mask.octets());
        }
        put_addresses(&mut put, ROUTERS, &self.routers);
        put_addresses(&mut put, RESOLVERS, &self.resolvers);
        for (code, seconds) in [
            (LEASE, self.lease_seconds),
            (RENEW, self.renew_seconds),
            (REBIND, self.rebind_seconds),
        ] {
            if let Some(seconds) = seconds {
                put(code, &seconds.to_be_bytes());
            }
        }
        if let Some(mtu) = self.mtu {
            put(MTU, &mtu.to_be_bytes());
        }
        for (code, text) in
            [(HOST_NAME, &self.host_name), (DOMAIN, &self.domain), (MESSAGE, &self.message)]
        {
            if let Some(text) = text {
                put(code, text.as_bytes());
            }
        }
        if let Some(client) = &self.client {
            put(CLIENT, client);
        }
        if !self.classless_routes.is_empty() {
            put(CLASSLESS, &encode_routes(&self.classless_routes));
        }
        if self.wishes {
            put(WISHES, WISHED);
        }
        out.push(END);
    }

    /// Reads them up to the end mark, and the kind of the message with them.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<(Kind, Self), Malformed> {
        let (mut options, mut kind) = (Self::default(), None);
        // Parts of one option follow each other or not; only routes are ever long enough.
        let mut routes = Vec::new();
        while let Some((&code, rest)) = bytes.split_first() {
            bytes = rest;
            match code {
                PAD => continue,
                END => break,
                _ => {}
            }
            let (&length, rest) = bytes.split_first().ok_or(Malformed::Short)?;
            let (value, rest) = rest.split_at_checked(length.into()).ok_or(Malformed::Short)?;
            bytes = rest;
            if code == KIND {
                let [number] = value else { return Err(Malformed::Option(code)) };
                kind = Some(Kind::of(*number).ok_or(Malformed::Kind(*number))?);
            } else if code == CLASSLESS {
                routes.extend_from_slice(value);
            } else {
                options.take(code, value)?;
            }
        }
        options.classless_routes = decode_routes(&routes)?;
        Ok((kind.ok_or(Malformed::NoKind)?, options))
    }

    fn take(&mut self, code: u8, value: &[u8]) -> Result<(), Malformed> {
        let wrong = || Malformed::Option(code);
        let address = || <[u8; 4]>::try_from(value).map(Ipv4Addr::from).map_err(|_| wrong());
        let seconds = || <[u8; 4]>::try_from(value).map(u32::from_be_bytes).map_err(|_| wrong());
        match code {
            MASK => self.mask = Some(address()?),
            ROUTERS => self.routers = addresses(value).ok_or_else(wrong)?,
            RESOLVERS => self.resolvers = addresses(value).ok_or_else(wrong)?,
            HOST_NAME => self.host_name = text(value),
            DOMAIN => self.domain = text(value),
            MESSAGE => self.message = text(value),
            MTU => {
                let bytes = <[u8; 2]>::try_from(value).map_err(|_| wrong())?;
                self.mtu = Some(u16::from_be_bytes(bytes));
            }
            REQUESTED => self.requested = Some(address()?),
            LEASE => self.lease_seconds = Some(seconds()?),
            RENEW => self.renew_seconds = Some(seconds()?),
            REBIND => self.rebind_seconds = Some(seconds()?),
            SERVER => self.server = Some(address()?),
            CLIENT => self.client = Some(value.to_vec()),
            WISHES => self.wishes = true,
            _ => {}
        }
        Ok(())
    }
}

fn put_addresses(put: &mut impl FnMut(u8, &[u8]), code: u8, addresses: &[Ipv4Addr]) {
    if !addresses.is_empty() {
        let bytes: Vec<u8> = addresses.iter().flat_map(Ipv4Addr::octets).collect();
        put(code, &bytes);
    }
}

fn addresses(value: &[u8]) -> Option<Vec<Ipv4Addr>> {
    let (list, rest) = value.as_chunks::<4>();
    let whole = rest.is_empty() && !list.is_empty();
    whole.then(|| list.iter().take(MOST).map(|bytes| Ipv4Addr::from(*bytes)).collect())
}

/// Names come from the network and go into files: only what a name may hold is taken.
fn text(value: &[u8]) -> Option<String> {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    let text = std::str::from_utf8(&value[..end]).ok()?;
    let plain = |c: char| c.is_ascii_graphic() || c == ' ';
    (!text.is_empty() && text.chars().all(plain)).then(|| text.to_owned())
}

fn encode_routes(routes: &[(Ipv4Net, Ipv4Addr)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (to, via) in routes {
        out.push(to.prefix_len());
        let significant = usize::from(to.prefix_len().div_ceil(8));
        out.extend_from_slice(&to.network().octets()[..significant]);
        out.extend_from_slice(&via.octets());
    }
    out
}

fn decode_routes(mut bytes: &[u8]) -> Result<Vec<(Ipv4Net, Ipv4Addr)>, Malformed> {
    const WRONG: Malformed = Malformed::Option(CLASSLESS);
    let mut routes = Vec::new();
    while let Some((&length, rest)) = bytes.split_first() {
        let significant = usize::from(length.div_ceil(8));
        if length > 32 || routes.len() >= MOST {
            return Err(WRONG);
        }
        let (near, rest) = rest.split_at_checked(significant).ok_or(WRONG)?;
        let (via, rest) = rest.split_first_chunk::<4>().ok_or(WRONG)?;
        let mut octets = [0; 4];
        octets[..significant].copy_from_slice(near);
        let to = Ipv4Net::new(octets.into(), length).map_err(|_| WRONG)?;
        routes.push((to.trunc(), Ipv4Addr::from(*via)));
        bytes = rest;
    }
    Ok(routes)
}
