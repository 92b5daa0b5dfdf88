//! Replies as far as a client can tell them apart, order left aside.

use std::collections::BTreeSet;

use hickory_proto::op::Message;
use hickory_proto::rr::{RData, Record};

/// What dnsmasq did.
#[derive(Debug)]
pub enum Theirs {
    Reply(Reply),
    /// Bytes that hickory cannot read, and why.
    #[allow(dead_code)] // shown by Debug
    Unreadable(String),
    Nothing,
}

impl Theirs {
    pub fn read(bytes: &[u8]) -> Self {
        match Reply::read(bytes) {
            Ok(reply) => Self::Reply(reply),
            Err(error) => Self::Unreadable(error),
        }
    }

    pub fn reply(&self) -> Option<&Reply> {
        match self {
            Self::Reply(reply) => Some(reply),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub rcode: u16,
    pub aa: bool,
    pub tc: bool,
    pub ra: bool,
    pub rd: bool,
    pub cd: bool,
    /// How the question is written.
    pub question: String,
    pub answers: BTreeSet<String>,
    pub authority: BTreeSet<String>,
    pub additional: BTreeSet<String>,
    /// Size and DO bit.
    pub edns: Option<(u16, bool)>,
    /// The ports that may have answered; empty for an own answer.
    pub forwarded: BTreeSet<u16>,
}

impl Reply {
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let message = Message::from_vec(bytes).map_err(|error| error.to_string())?;
        let section = |records: &[Record]| {
            let set: BTreeSet<String> = records.iter().map(show).collect();
            if set.len() == records.len() { Ok(set) } else { Err(format!("twice in {records:?}")) }
        };
        let forwarded = message
            .answers()
            .iter()
            .filter_map(|record| match record.data() {
                RData::TXT(text) => text.to_string().strip_prefix("port ")?.parse().ok(),
                _ => None,
            })
            .collect();
        Ok(Self {
            rcode: u16::from(message.response_code()),
            aa: message.authoritative(),
            tc: message.truncated(),
            ra: message.recursion_available(),
            rd: message.recursion_desired(),
            cd: message.checking_disabled(),
            question: message.queries().iter().map(ToString::to_string).collect(),
            answers: section(message.answers())?,
            authority: section(message.name_servers())?,
            additional: section(message.additionals())?,
            edns: message
                .extensions()
                .as_ref()
                .map(|edns| (edns.max_payload(), edns.flags().dnssec_ok)),
            forwarded,
        })
    }

    /// What we do instead of answering.
    pub fn forwarded(ports: impl Iterator<Item = u16>) -> Self {
        Self {
            rcode: 0,
            aa: false,
            tc: false,
            ra: true,
            rd: true,
            cd: false,
            question: String::new(),
            answers: BTreeSet::new(),
            authority: BTreeSet::new(),
            additional: BTreeSet::new(),
            edns: None,
            forwarded: ports.collect(),
        }
    }
}

/// Owner (how it is written is the client's in some places and the zone's in others: both are right), TTL, class,
/// type and data.
fn show(record: &Record) -> String {
    format!(
        "{} {} {} {} {}",
        record.name().to_lowercase(),
        record.ttl(),
        record.dns_class(),
        record.record_type(),
        record.data()
    )
}

/// In which way two outcomes differ.
pub fn differ(ours: Option<&Reply>, theirs: &Theirs) -> Option<String> {
    let (ours, theirs) = match (ours, theirs) {
        (None, Theirs::Nothing) => return None,
        (Some(ours), Theirs::Reply(theirs)) => (ours, theirs),
        (ours, theirs) => return Some(format!("ours {ours:?}, theirs {theirs:?}")),
    };
    let equal = if ours.forwarded.is_empty() {
        ours == theirs
    } else {
        // dnsmasq asks one of several.
        !theirs.forwarded.is_empty() && theirs.forwarded.is_subset(&ours.forwarded)
    };
    (!equal).then(|| format!("ours {}, theirs {}", ours.brief(), theirs.brief()))
}

impl Reply {
    fn brief(&self) -> String {
        let Self { rcode, aa, tc, ra, rd, cd, answers, authority, additional, edns, .. } = self;
        if !self.forwarded.is_empty() {
            return format!("forwarded to {:?}", self.forwarded);
        }
        let flags = [(aa, " aa"), (tc, " tc"), (ra, " ra"), (rd, " rd"), (cd, " cd")];
        let flags: String =
            flags.into_iter().filter(|(is, _)| **is).map(|(_, name)| name).collect();
        format!("code {rcode}{flags} {answers:?} {authority:?} {additional:?} {edns:?}")
    }
}
