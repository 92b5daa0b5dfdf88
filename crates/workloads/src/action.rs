//! What may be written, and what comes back.

use jiff::Timestamp;
use landbridge_controllers::mirror::Key;
use serde_json::Value;

/// The kinds that are watched or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// apps/v1 Deployment.
    Deployment,
    /// apps/v1 ReplicaSet.
    ReplicaSet,
    /// apps/v1 StatefulSet.
    StatefulSet,
    /// apps/v1 DaemonSet.
    DaemonSet,
    /// apps/v1 ControllerRevision: templates of StatefulSets and DaemonSets.
    ControllerRevision,
    /// Pod.
    Pod,
    /// Node.
    Node,
    /// coordination.k8s.io/v1 Lease, of nodes.
    Lease,
    /// Service.
    Service,
    /// discovery.k8s.io/v1 EndpointSlice.
    EndpointSlice,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Deployment,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::ControllerRevision,
        Self::Pod,
        Self::Node,
        Self::Lease,
        Self::Service,
        Self::EndpointSlice,
    ];

    /// As in `kind:` of a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::ControllerRevision => "ControllerRevision",
            Self::Pod => "Pod",
            Self::Node => "Node",
            Self::Lease => "Lease",
            Self::Service => "Service",
            Self::EndpointSlice => "EndpointSlice",
        }
    }

    /// As in `apiVersion:` of a manifest.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::Deployment
            | Self::ReplicaSet
            | Self::StatefulSet
            | Self::DaemonSet
            | Self::ControllerRevision => "apps/v1",
            Self::Pod | Self::Node | Self::Service => "v1",
            Self::Lease => "coordination.k8s.io/v1",
            Self::EndpointSlice => "discovery.k8s.io/v1",
        }
    }
}

/// One write.
#[derive(Clone, Debug)]
pub struct Action {
    /// Of what.
    pub kind: Kind,
    /// Where.
    pub key: Key,
    /// How.
    pub verb: Verb,
    /// What must be true just before, asked of the API itself and not of what was seen.
    pub guard: Option<Guard>,
    /// What people are told when it is done.
    pub notice: Option<Notice>,
}

/// How something is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    /// Only a look, after a write that may or may not have been done. The uid is of the object
    /// that was to be written, if there was one.
    Read(Option<String>),
    /// A new object.
    Create(Value),
    /// A merge patch; it names uid or resourceVersion, so it never hits another object.
    Patch(Value),
    /// The same on the status.
    PatchStatus(Value),
    /// Away with this very object; `now`: without asking its node.
    Delete {
        /// Its uid.
        uid: String,
        /// Without asking its node.
        now: bool,
    },
    /// This very pod goes to a node.
    Bind {
        /// The pod's uid.
        uid: String,
        /// The node.
        node: String,
    },
}

/// See [`Action::guard`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// This very object is there and is not being deleted.
    Alive(Kind, Key, String),
    /// There is no such object.
    Gone(Kind, Key),
}

/// What became of a write.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The object is now so.
    Now(Value),
    /// Somebody else was faster: the object is now so.
    Lost(Value),
    /// The object is gone.
    Gone,
    /// Done; the API does not say what the object looks like now.
    Done,
    /// Not done, and why.
    Failed(String),
}

/// Something to be told as an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// About what.
    pub kind: Kind,
    /// Where it stands.
    pub key: Key,
    /// Its uid.
    pub uid: String,
    /// Whether somebody should look.
    pub warning: bool,
    /// In one word.
    pub reason: &'static str,
    /// In a sentence.
    pub note: String,
}

/// What follows from a look at an item.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// What to write, in no particular order.
    pub actions: Vec<Action>,
    /// What to tell at once.
    pub notices: Vec<Notice>,
    /// When to look again even if nothing happens.
    pub wake: Option<Timestamp>,
}

impl Decision {
    /// Looks again then, or earlier.
    pub fn wake_at(&mut self, at: Timestamp) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// One more write.
    pub fn push(&mut self, kind: Kind, key: &Key, verb: Verb) -> &mut Action {
        let action = Action { kind, key: key.clone(), verb, guard: None, notice: None };
        self.actions.push(action);
        let last = self.actions.len() - 1;
        &mut self.actions[last]
    }
}
