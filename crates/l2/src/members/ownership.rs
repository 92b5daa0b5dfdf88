//! Of one address: may it be taken, must it be given?
//!
//! ```text
//!            it is my turn, nobody has it                    I am not able, not ready, alone
//!   Nothing ──────────────────────────────► Holds ─────────────────────────────────► Nothing
//!      │                                     ▲  │  the one whose turn it is wants it
//!      └──► Wants ───────────────────────────┘  └──────────────────────────────────► Nothing
//!   it is my turn,   nobody has it any more        another one holds it too, and comes first
//!   somebody has it
//! ```
//!
//! Who has an address keeps it until the one whose turn it is says so. So nobody gives away what
//! nobody takes, and in between there is only the time of one message. Who sees that another one
//! holds it, too (after a partition), decides by rank, which needs nothing to be agreed on.

use super::message::Stake;

/// What is known of another member that lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    /// What it has to do with the address.
    pub stake: Stake,
    /// Whether it is the one whose turn it is.
    pub is_first: bool,
    /// Whether it comes before us by rank.
    pub outranks_us: bool,
    /// Whether it hears us: who does not cannot give way.
    pub hears_us: bool,
    /// Whether this is the newest it said: what it held before it was gone is no reason to give way.
    pub current: bool,
}

/// What is known of an address.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// Whether we may hold anything at all: we know what is ours, and are not cut off.
    pub may: bool,
    /// Whether we could announce this one.
    pub able: bool,
    /// Whether it is our turn.
    pub our_turn: bool,
    /// Whether we hold it.
    pub holds: bool,
    /// Whether a member that lives may hold it without our knowledge.
    pub unknown: bool,
    /// The others.
    pub others: &'a [Other],
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Hold it, now or still.
    Hold,
    /// Say that it is our turn, and wait.
    Want,
    /// Neither.
    Nothing,
}

/// Decides.
pub fn decide(situation: &Situation<'_>) -> Verdict {
    let Situation { may, able, our_turn, holds, unknown, others } = *situation;
    if !may || !able {
        return Verdict::Nothing;
    }
    let wanting = if our_turn { Verdict::Want } else { Verdict::Nothing };
    let mut rivals = others.iter().filter(|other| other.stake.holds).peekable();
    if !holds {
        let free = rivals.peek().is_none() && !unknown;
        return if our_turn && free { Verdict::Hold } else { wanting };
    }
    if rivals.any(|rival| rival.current && (rival.outranks_us || !rival.hears_us)) {
        return wanting;
    }
    let successor = others.iter().any(|other| other.is_first && other.stake.wants);
    if !our_turn && successor { Verdict::Nothing } else { Verdict::Hold }
}
