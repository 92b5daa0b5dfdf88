//! What may be set.

use std::time::Duration;

use ipnet::IpNet;

/// How the controllers behave.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Pools that every node gets one subnet of: a pool, and the prefix length of a node's part.
    pub pod_cidrs: Vec<(IpNet, u8)>,
    /// A node that has not been heard of for so long is unreachable.
    pub node_grace: Duration,
    /// Pods of a node that is gone are deleted after so long.
    pub gone_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let pool = |text: &str, part| text.parse().ok().map(|pool| (pool, part));
        Self {
            pod_cidrs: [pool("10.244.0.0/16", 24), pool("fd00:10:244::/48", 64)]
                .into_iter()
                .flatten()
                .collect(),
            node_grace: Duration::from_secs(40),
            gone_grace: Duration::from_secs(5),
        }
    }
}
