//! One call on the state of all services, without IO.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;

use crate::chance::Chance;
use crate::config::Config;
use crate::request::{Request, Response, Service};
use crate::state::{Change, Kind, Pools, State, Tx};
use crate::{compute, identity, image, network};

/// The cloud as its single writer holds it.
pub struct Cloud {
    config: Arc<Config>,
    state: State,
    pools: Pools,
}

/// What a call led to.
#[derive(Debug)]
pub struct Outcome {
    /// The answer.
    pub response: Response,
    /// What it changed; nothing when it was refused.
    pub changes: Vec<Change>,
}

impl Cloud {
    /// A cloud in this state.
    pub fn new(config: Arc<Config>, state: State) -> Self {
        Self { config, state, pools: Pools::default() }
    }

    /// The state now; a copy costs nothing.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The settings.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Does what the call asks for, all of it or nothing.
    pub fn handle(
        &mut self,
        now: Timestamp,
        chance: &mut dyn Chance,
        request: &Request,
    ) -> Outcome {
        let mut tx = Tx::new(&self.state, &self.config, now, chance, &mut self.pools);
        let response = answer(&mut tx, request);
        let (state, changes) = tx.finish();
        if response.status.is_success() {
            self.pools.keep();
            self.state = state;
            Outcome { response, changes }
        } else {
            self.pools.undo();
            Outcome { response, changes: Vec::new() }
        }
    }

    /// Shares the texts of rows with the journal, which returned these for the changes.
    pub fn share(&mut self, changes: &[Change], kept: &[Bytes]) {
        for (change, row) in changes.iter().zip(kept) {
            if change.after.is_some() {
                self.state.share(change.kind, &change.id, row);
            }
        }
    }

    /// Goes back to a state from before: what was done since could not be kept.
    pub fn go_back(&mut self, state: State) {
        self.state = state;
        self.pools = Pools::default();
    }
}

/// Answers a call from a state nobody changes. `None` when it would change something after all: then
/// it is one for [`Cloud::handle`].
pub fn read(
    config: &Config,
    state: &State,
    now: Timestamp,
    chance: &mut dyn Chance,
    request: &Request,
) -> Option<Response> {
    let mut pools = Pools::default();
    let mut tx = Tx::new(state, config, now, chance, &mut pools);
    let response = answer(&mut tx, request);
    let (_, changes) = tx.finish();
    (changes.is_empty() || !response.status.is_success()).then_some(response)
}

/// Whether the call can be answered by [`read`]: those that ask, and those for a token, which takes
/// long (a password is hashed) and leaves nothing in the state.
pub fn only_reads(request: &Request) -> bool {
    let token = request.service == Service::Identity
        && request.method == http::Method::POST
        && request.parts() == ["v3", "auth", "tokens"];
    token || request.method == http::Method::GET || request.method == http::Method::HEAD
}

/// Every table of the state.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    [identity::KINDS, network::KINDS, compute::KINDS, image::KINDS].concat().into_iter()
}

fn answer(tx: &mut Tx<'_>, request: &Request) -> Response {
    match request.service {
        Service::Identity => identity::handle(tx, request),
        Service::Network => network::handle(tx, request),
        Service::Compute => compute::handle(tx, request),
        Service::Image => image::handle(tx, request),
    }
}
