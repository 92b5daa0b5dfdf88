//! What goes into the engine, and what comes out.

use std::sync::Arc;

use landbridge_api::network::{IPSetStatus, Reservation};

use crate::ipam::ledger::{Place, Swap};
use crate::ipam::seen::{Block, Config, Record, Request};
use crate::mirror::{Epoch, Key, Told};

/// News.
#[derive(Debug)]
pub enum News {
    /// Of NetConfigs.
    Config(Told<Config>),
    /// Of IPSets.
    Request(Told<Request>),
    /// Of Reservations.
    Record(Told<Record>),
    /// Of AddressBlocks.
    Block(Told<Block>),
}

/// Something to write (or to look up), for one IPSet or one block.
#[derive(Debug)]
pub enum Action {
    /// Swap a block of the ledger.
    Swap(Swap),
    /// A step for an IPSet.
    Step(Step),
    /// Tell people, as an Event on the IPSet.
    Tell(Notice),
}

/// A step for one IPSet. No other step for it is taken until this one has ended.
#[derive(Debug)]
pub struct Step {
    /// Which IPSet.
    pub key: Key,
    /// What to do.
    pub what: What,
    /// Of IPSets and of Reservations, when it was decided.
    pub(super) epochs: (Epoch, Epoch),
}

/// What to do for an IPSet.
#[derive(Clone, Debug)]
pub enum What {
    /// Set the finalizers of the IPSet that is in this revision.
    Finalizers {
        /// The revision.
        revision: u64,
        /// All finalizers it shall have.
        finalizers: Vec<String>,
    },
    /// Set the finalizers of the Reservation that is in this revision.
    RecordFinalizers {
        /// The revision.
        revision: u64,
        /// All finalizers it shall have.
        finalizers: Vec<String>,
    },
    /// Create the Reservation.
    CreateRecord(Box<Reservation>),
    /// Bring the Reservation that is in this revision up to date.
    UpdateRecord(u64, Box<Reservation>),
    /// Write the status of the IPSet with this identity.
    Status(Arc<str>, Box<IPSetStatus>),
    /// Look whether IPSet and Reservation are really gone, because these claims hang on that.
    Confirm(Vec<(Place, String)>),
}

/// How a step ended.
#[derive(Debug)]
pub enum Ended {
    /// What is there now, as far as it is known: after success, or after a lost race.
    Now(Option<Request>, Option<Record>),
    /// Answer to [`What::Confirm`]: what there is, and what is not there.
    Confirmed(Option<Request>, Option<Record>),
    /// It could not be done.
    Failed(String),
}

/// Something people should know about an IPSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Which IPSet.
    pub key: Key,
    /// Its identity.
    pub uid: Arc<str>,
    /// Whether it is bad news.
    pub warning: bool,
    /// One word for programs.
    pub reason: &'static str,
    /// A sentence for people.
    pub note: String,
}
