//! What goes into the engine, and what comes out.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use landbridge_plan::Site;
use landbridge_vips::figures::PoolStatus;

use crate::ipam::ledger::{Place, Swap};
use crate::ipam::seen::Block;
use crate::mirror::{Epoch, Key, Told};
use crate::vips::seen::{Namespace, Pool, Service};

/// News.
#[derive(Debug)]
pub enum News {
    /// Of Services.
    Service(Told<Service>),
    /// Of IPAddressPools.
    Pool(Told<Pool>),
    /// Of namespaces.
    Namespace(Told<Namespace>),
    /// Of AddressBlocks.
    Block(Told<Block>),
    /// Which wires the addresses of pools are on, by name of the pool.
    Sites(BTreeMap<String, Vec<Site>>),
}

/// Something to write or to look up.
#[derive(Debug)]
pub enum Action {
    /// Swap a block of the ledger.
    Swap(Swap),
    /// A step for a Service.
    Step(Step),
    /// Tell people, as an Event on the Service.
    Tell(Notice),
    /// Write the status of a pool.
    Pool(Key, PoolStatus),
    /// Say whether the pools make sense: what is wrong with them, if anything.
    Configuration(Option<String>),
}

/// A step for one Service. No other step for it is taken until this one has ended.
#[derive(Debug)]
pub struct Step {
    /// Which Service.
    pub key: Key,
    /// Its identity.
    pub uid: Arc<str>,
    /// What to do.
    pub what: What,
    /// Of Services and of blocks, when it was decided.
    pub(super) epochs: (Epoch, Epoch),
}

/// What to do for a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Write status and annotation of the Service that is in this revision.
    Status {
        /// The revision.
        revision: u64,
        /// The addresses it has from now on.
        addresses: Vec<IpAddr>,
        /// The pool they are of; `None`: it has none.
        pool: Option<String>,
        /// Whether they are others than it has.
        fresh: bool,
    },
    /// Change the Service that is in this revision, so that no status can be written for it any more.
    Fence {
        /// The revision.
        revision: u64,
    },
    /// Read these blocks of the ledger anew: the status of the Service that is in this revision names
    /// addresses that others are said to use.
    Refresh {
        /// The revision.
        revision: u64,
        /// The addresses.
        places: Vec<Place>,
    },
    /// Look whether the Service is really gone, because these claims of an identity hang on that.
    Confirm(Vec<(Place, String)>),
}

/// How a step ended.
#[derive(Debug)]
pub enum Ended {
    /// It was done, and this is the Service now.
    Done(Service),
    /// Somebody was faster; this is the Service now, if it is there.
    Lost(Option<Service>),
    /// Answer to [`What::Confirm`].
    Confirmed(Option<Service>),
    /// Answer to [`What::Refresh`]: the blocks that are there.
    Refreshed(Vec<Block>),
    /// It could not be done.
    Failed(String),
}

/// Something people should know about a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Which Service.
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
