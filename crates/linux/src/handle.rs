//! A handle on the network of one namespace.

use std::sync::{Mutex, PoisonError};

use netlink_packet_route::RouteNetlinkMessage;

use crate::connection::{Connection, Failure};
use crate::error::{Attempt, Error, Object, Refusal, Result};
use crate::link::LinkIndex;
use crate::namespace::Namespace;

/// A list that other processes keep changing is read this often before we give up.
const TRIES: u32 = 20;

/// The network of one namespace: what it holds, and every change to it.
///
/// The modules [`link`](crate::link), [`address`](crate::address), [`route`](crate::route),
/// [`rule`](crate::rule) and [`neighbour`](crate::neighbour) each add their own methods.
pub struct Handle {
    connection: Mutex<Connection>,
    namespace: Namespace,
}

/// What it took to have something as wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ensured {
    Created,
    Changed,
    Unchanged,
}

impl Handle {
    /// Opens the namespace of the calling thread.
    pub fn open() -> Result<Self> {
        let namespace = Namespace::current()?;
        Self::here(namespace)
    }

    /// Opens another namespace; the calling thread stays where it is.
    pub fn in_namespace(namespace: &Namespace) -> Result<Self> {
        let held = namespace.clone();
        namespace.visit(|| Self::here(held))?
    }

    /// In the calling thread's namespace, which has to be that one.
    pub(crate) fn here(namespace: Namespace) -> Result<Self> {
        let connection = Connection::open()
            .map_err(|source| Error::Socket { attempt: Attempt::list(Object::Link), source })?;
        Ok(Self { connection: Mutex::new(connection), namespace })
    }

    /// The namespace this handle works in.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Sends a change and waits until the kernel has made it. What was attempted is put into words
    /// only when it failed, and may ask for names then.
    pub(crate) fn execute(
        &self,
        message: RouteNetlinkMessage,
        flags: u16,
        attempt: impl FnOnce() -> Attempt,
    ) -> Result<()> {
        self.query(message, flags, attempt).map(drop)
    }

    /// Sends a request and returns what the kernel answers.
    pub(crate) fn query(
        &self,
        message: RouteNetlinkMessage,
        flags: u16,
        attempt: impl FnOnce() -> Attempt,
    ) -> Result<Vec<RouteNetlinkMessage>> {
        let outcome = self.lock().request(message, flags);
        outcome.map_err(|failure| explain(failure, attempt()))
    }

    /// Reads a list, again when it changed meanwhile: half of two states is neither.
    pub(crate) fn dump(
        &self,
        message: &RouteNetlinkMessage,
        object: Object,
    ) -> Result<Vec<RouteNetlinkMessage>> {
        for _ in 0..TRIES {
            let outcome = self.lock().dump(message.clone());
            match outcome {
                Err(Failure::Interrupted) => {}
                Err(failure) => return Err(explain(failure, Attempt::list(object))),
                Ok(answers) => return Ok(answers),
            }
        }
        Err(Error::Unsteady { attempt: Attempt::list(object), tries: TRIES })
    }

    /// The name of a link, for messages: the number where the link is gone.
    pub(crate) fn called(&self, index: LinkIndex) -> String {
        match self.link(index) {
            Ok(Some(link)) => link.name.to_string(),
            _ => format!("link {index}"),
        }
    }

    /// A connection has no state that a panic elsewhere could spoil: answers carry their question's number.
    fn lock(&self) -> std::sync::MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

fn explain(failure: Failure, attempt: Attempt) -> Error {
    match failure {
        Failure::Refused { errno, message } => {
            Error::Refused(Box::new(Refusal::new(attempt, errno, message)))
        }
        Failure::Socket(source) => Error::Socket { attempt, source },
        Failure::Malformed(reason) => Error::Malformed { attempt, reason },
        Failure::Interrupted => Error::Unsteady { attempt, tries: 1 },
    }
}
