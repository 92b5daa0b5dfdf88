//! What agents share besides the API: a key, and the knowledge of who is dead.
//!
//! The key is in the Secret [`SECRET`] of MetalLB's namespace, which the controllers make and renew.
//! Agents only read it.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use landbridge_controllers::memberkey::{CURRENT, NAMESPACE, NEXT, PREVIOUS, SECRET};
use landbridge_l2::members::Keys;
use tokio::sync::watch;

/// Agents tell each other here (UDP) that they live. MetalLB's own is 7946.
pub const PORT: u16 = 7950;

/// Nodes whose agents were members and are dead. Empty: nobody is known to be.
pub type Dead = Arc<BTreeSet<String>>;

/// Both ends of the knowledge of the dead.
pub fn dead() -> (watch::Sender<Dead>, watch::Receiver<Dead>) {
    watch::channel(Dead::default())
}

/// How often the key is read: much more often than it is renewed.
const READ: Duration = Duration::from_secs(30);
/// How soon again where there is none yet.
const MISSED: Duration = Duration::from_secs(1);

/// Keeps reading the key, and hands on what is new. Never ends.
pub async fn follow_key(client: Client, mut hand_on: impl FnMut(Keys)) {
    let secrets: Api<Secret> = Api::namespaced(client, NAMESPACE);
    let mut known = None;
    let mut told = false;
    loop {
        let read = secrets.get_opt(SECRET).await;
        let found = match read {
            Ok(Some(secret)) => keys_of(&secret).map(|keys| (secret, keys)),
            Ok(None) => Err("there is none yet; the controllers make it".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let wait = match found {
            Ok((secret, keys)) => {
                if known.as_ref() != Some(&secret.data) {
                    known = Some(secret.data);
                    hand_on(keys);
                }
                told = false;
                READ
            }
            Err(why) => {
                if !std::mem::replace(&mut told, true) {
                    let without = "agents do not hear each other without it";
                    tracing::warn!(why, "the key of members ({NAMESPACE}/{SECRET}): {without}");
                }
                MISSED
            }
        };
        tokio::time::sleep(wait).await;
    }
}

/// The keys of the Secret. The text of an error names no key.
fn keys_of(secret: &Secret) -> Result<Keys, String> {
    let part = |name: &str| secret.data.as_ref()?.get(name).map(|bytes| bytes.0.as_slice());
    let current = part(CURRENT).ok_or_else(|| format!("it has no {CURRENT}"))?;
    let others: Vec<&[u8]> = [NEXT, PREVIOUS].into_iter().filter_map(part).collect();
    Keys::new(current, &others).map_err(|error| error.to_string())
}

/// The number of this start of the agent: greater than any before, also when the clock was put
/// back, and not to be guessed.
pub fn new_life(directory: &Path, wall_millis: u64, chance: u16) -> io::Result<u64> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let path = directory.join("members.life");
    let last = match std::fs::read_to_string(&path) {
        Ok(text) => text.trim().parse().unwrap_or(0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    let life = (wall_millis << 16 | u64::from(chance)).max(last + 1);
    let new = directory.join("members.life.new");
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&new)?;
    writeln!(file, "{life}")?;
    file.sync_all()?;
    std::fs::rename(new, path)?;
    Ok(life)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::ByteString;

    use super::*;

    #[test]
    fn lives_only_go_forward() {
        let directory = tempfile::tempdir().unwrap();
        let first = new_life(directory.path(), 1_000_000, 7).unwrap();
        assert_eq!(first, 1_000_000 << 16 | 7);
        let back = new_life(directory.path(), 500_000, 9).unwrap();
        assert_eq!(back, first + 1, "the clock was put back");
        std::fs::write(directory.path().join("members.life"), "nonsense").unwrap();
        assert_eq!(new_life(directory.path(), 2_000_000, 0).unwrap(), 2_000_000 << 16);
    }

    #[test]
    fn a_secret_that_is_wrong_is_told_without_its_contents() {
        let secret = |of: &[(&str, &[u8])]| Secret {
            data: Some(
                of.iter()
                    .map(|(name, bytes)| ((*name).to_owned(), ByteString(bytes.to_vec())))
                    .collect::<BTreeMap<_, _>>(),
            ),
            ..Secret::default()
        };
        assert!(keys_of(&secret(&[(CURRENT, &[1; 32]), (PREVIOUS, &[2; 32])])).is_ok());
        assert_eq!(keys_of(&Secret::default()).unwrap_err(), "it has no current");
        let short = keys_of(&secret(&[(CURRENT, b"hunter2")])).unwrap_err();
        assert_eq!(short, "a key of members has 7 bytes, and needs at least 32");
    }
}
