//! Releases that could not be made yet, one file each.
//!
//! A DEL must not fail and must not block because the cluster is away, and what it was to free must
//! not be lost. So it is written down: atomically, on disk before DEL answers, readable by nobody
//! else. Whoever can reach the cluster next makes the release and removes the file. Making one
//! twice is no harm: a release names the container, and frees nothing of a later one.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use landbridge_cni::{CniError, Code};
use serde::{Deserialize, Serialize};

use crate::whereabouts::Holder;

/// How many are read at once, and how large one may be.
const COUNT_MAX: usize = 4096;
const SIZE_MAX: u64 = 256 * 1024;

/// Something to free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Release {
    /// Addresses of whereabouts.
    #[serde(rename_all = "camelCase")]
    Whereabouts {
        /// The pools to look in.
        pools: Vec<String>,
        /// Sets reservations apart.
        network_name: String,
        /// Whether there are reservations.
        overlapping: bool,
        /// Whose they are.
        holder: Holder,
    },
    /// IPSets of the network IPAM.
    #[serde(rename_all = "camelCase")]
    IPSets {
        /// Where they are.
        namespace: String,
        /// What they are called.
        names: Vec<String>,
        /// For which container.
        container_id: String,
    },
    /// A whole DEL that nobody was there for.
    Call {
        /// The plugin.
        plugin: String,
        /// Its environment.
        env: BTreeMap<String, String>,
        /// Its configuration.
        config: String,
    },
}

/// How long nobody is asked after a release could not be made.
const PAUSE: Duration = Duration::from_secs(5);

/// The directory they are in.
#[derive(Clone, Debug)]
pub struct Releases {
    directory: PathBuf,
    /// Until when releases are written down at once. A cluster that does not answer costs a DEL
    /// seconds; the next DELs of a node that is being emptied need not find that out again.
    pause: Arc<Mutex<Option<Instant>>>,
}

impl Releases {
    /// The directory is made when something is written.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), pause: Arc::default() }
    }

    /// Frees with `make`, or writes it down. Never fails: what can be neither done nor written is
    /// told, and found by the collection of orphans.
    pub fn make_or_put(&self, release: &Release, make: impl FnOnce() -> Result<(), CniError>) {
        let now = Instant::now();
        let pause = |until| *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = until;
        let until = *self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        let error = if until.is_some_and(|until| now < until) {
            CniError::new(Code::TRY_AGAIN, "the cluster did not answer a moment ago")
        } else {
            match make() {
                Ok(()) => return pause(None),
                Err(error) => error,
            }
        };
        pause(Some(until.filter(|until| now < *until).unwrap_or_else(|| Instant::now() + PAUSE)));
        match self.put(release) {
            Ok(path) => tracing::warn!(%error, queued = %path.display(), "released later"),
            Err(io) => tracing::error!(%error, %io, ?release,
                "an address could be neither released nor queued; reconcile will find it"),
        }
    }

    /// Writes one down. The same one twice is one.
    pub fn put(&self, release: &Release) -> io::Result<PathBuf> {
        let text = serde_json::to_vec(release)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let name = format!("{:016x}.json", hash(&text));
        let path = self.directory.join(&name);
        write_atomically(&path, &text, 0o600)?;
        Ok(path)
    }

    /// All that are there, by file. What cannot be read is told and set aside, so that it neither
    /// stops the others nor is lost.
    pub fn all(&self) -> io::Result<Vec<(PathBuf, Release)>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut found = Vec::new();
        for entry in entries.take(COUNT_MAX) {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match read(&path) {
                Ok(release) => found.push((path, release)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let aside = path.with_extension("unreadable");
                    tracing::error!(file = %path.display(), aside = %aside.display(), %error,
                        "a queued release cannot be read and is set aside");
                    fs::rename(&path, &aside)?;
                }
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// Removes one that is made.
    pub fn done(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Makes all that are there with `make`, and says how many are left. One that fails stays.
    pub fn retry<E: std::fmt::Display>(
        &self,
        make: impl Fn(&Release) -> Result<(), E>,
    ) -> io::Result<usize> {
        let mut left = 0;
        for (path, release) in self.all()? {
            match make(&release) {
                Ok(()) => self.done(&path)?,
                Err(error) => {
                    tracing::warn!(file = %path.display(), %error, "a release is still waiting");
                    left += 1;
                }
            }
        }
        Ok(left)
    }
}

fn read(path: &Path) -> io::Result<Release> {
    let mut text = Vec::new();
    fs::File::open(path)?.take(SIZE_MAX).read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(io::Error::other)
}

/// Writes a file so that at any instant it is there whole or not at all.
pub(crate) fn write_atomically(path: &Path, text: &[u8], mode: u32) -> io::Result<()> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("tmp-{}-{number}", std::process::id()));
    let written = (|| {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
        return written;
    }
    if let Some(directory) = path.parent() {
        fs::File::open(directory)?.sync_all()?;
    }
    Ok(())
}

/// FNV-1a: only names files and objects.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn release(container: &str) -> Release {
        Release::IPSets {
            namespace: "n".into(),
            names: vec!["p.net1".into()],
            container_id: container.into(),
        }
    }

    #[test]
    fn what_is_written_is_read_once_and_by_nobody_else() {
        let directory = tempfile::tempdir().unwrap();
        let releases = Releases::new(directory.path().join("releases"));
        assert_eq!(releases.all().unwrap(), []);
        let path = releases.put(&release("c1")).unwrap();
        assert_eq!(releases.put(&release("c1")).unwrap(), path);
        releases.put(&release("c2")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let mut found: Vec<_> = releases.all().unwrap().into_iter().map(|(_, r)| r).collect();
        found.sort_by_key(|release| format!("{release:?}"));
        assert_eq!(found, [release("c1"), release("c2")]);
        let left = releases.retry(|r| if *r == release("c1") { Ok(()) } else { Err("away") });
        assert_eq!(left.unwrap(), 1);
        assert_eq!(releases.all().unwrap().len(), 1);
    }

    #[test]
    fn a_cluster_that_is_away_is_asked_once() {
        let directory = tempfile::tempdir().unwrap();
        let releases = Releases::new(directory.path());
        let asked = std::cell::Cell::new(0);
        for container in ["c1", "c2", "c3"] {
            releases.clone().make_or_put(&release(container), || {
                asked.set(asked.get() + 1);
                Err(CniError::new(Code::TRY_AGAIN, "away"))
            });
        }
        assert_eq!((asked.get(), releases.all().unwrap().len()), (1, 3));
    }

    #[test]
    fn a_torn_file_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let releases = Releases::new(directory.path());
        releases.put(&release("c1")).unwrap();
        fs::write(directory.path().join("bad.json"), b"{\"kind\":").unwrap();
        assert_eq!(releases.all().unwrap().len(), 1);
        assert!(directory.path().join("bad.unreadable").exists());
        assert_eq!(releases.all().unwrap().len(), 1);
    }
}
