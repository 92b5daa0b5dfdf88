//! The sandbox of a pod, for whoever wants to look into it from outside of the agent.

use std::io;
use std::path::{Path, PathBuf};

use super::etc;
use super::process::Files;
use super::record::{Records, Stage};

/// What there is of a pod to go into.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// Where its network is; none when it shares its node's.
    pub network: Option<PathBuf>,
    /// Files that are its own, each with the place it sees it at.
    pub files: Vec<(PathBuf, PathBuf)>,
}

/// The sandbox of a pod, from the state directory of the agent that runs it: nothing when it runs no
/// such pod.
pub fn sandbox_of(
    state_dir: &Path,
    netns_dir: &Path,
    namespace: &str,
    name: &str,
) -> io::Result<Option<Sandbox>> {
    if !state_dir.join("sandboxes").is_dir() {
        return Ok(None);
    }
    let found = Records::open(state_dir)?.sandboxes()?.into_iter().find(|record| {
        let pod = &record.identity;
        (pod.namespace.as_str(), pod.name.as_str()) == (namespace, name)
            && record.stage == Stage::Ready
    });
    Ok(found.map(|record| {
        let files = Files::of(state_dir, &record.identity.uid);
        let covers = etc::covers(&files.etc(), record.netns.is_none());
        Sandbox {
            network: record.netns.map(|netns| netns_dir.join(netns)),
            files: covers.into_iter().map(|(file, place)| (file, place.to_owned())).collect(),
        }
    }))
}
