//! Who is gone for good.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// So many identities are remembered; of others, the API is asked.
const REMEMBERED: usize = 100_000;

/// Identities of IPSets that were seen to go. An identity never comes back.
#[derive(Debug, Default)]
pub(crate) struct Dead {
    known: HashSet<Arc<str>>,
    order: VecDeque<Arc<str>>,
}

impl Dead {
    pub fn insert(&mut self, uid: Arc<str>) {
        if uid.is_empty() || !self.known.insert(uid.clone()) {
            return;
        }
        self.order.push_back(uid);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    pub fn contains(&self, uid: &str) -> bool {
        self.known.contains(uid)
    }
}
