//! The sandbox of a pod, for whoever wants to look into it from outside of the agent.

use std::io;
use std::path::{Path, PathBuf};

use super::record::{Records, Stage};

/// Where the network of a pod is, from the state directory of the agent that runs it: nothing when it
/// runs no such pod, no path when the pod shares its node's network.
pub fn sandbox_of(
    state_dir: &Path,
    netns_dir: &Path,
    namespace: &str,
    name: &str,
) -> io::Result<Option<Option<PathBuf>>> {
    if !state_dir.join("sandboxes").is_dir() {
        return Ok(None);
    }
    let found = Records::open(state_dir)?.sandboxes()?.into_iter().find(|record| {
        let pod = &record.identity;
        (pod.namespace.as_str(), pod.name.as_str()) == (namespace, name)
            && record.stage == Stage::Ready
    });
    Ok(found.map(|record| record.netns.map(|netns| netns_dir.join(netns))))
}
