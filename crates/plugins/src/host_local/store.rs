//! The records of one network on this node. Whoever holds the lock may read and write them.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::call::Call;
use crate::failure::{Context, Outcome};

/// Records are two short lines; what is larger is none.
const RECORD_MAX: u64 = 4096;

/// Who holds an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holder {
    pub container: String,
    /// Empty in records of long ago.
    pub ifname: String,
}

impl Holder {
    pub fn of(call: &Call) -> Self {
        Self {
            container: call.environment.container_id.clone(),
            ifname: call.environment.interface.clone(),
        }
    }

    fn parse(text: &str) -> Self {
        let mut lines = text.lines().map(str::trim);
        let mut line = || lines.next().unwrap_or_default().to_owned();
        Self { container: line(), ifname: line() }
    }
}

/// The records of a network, locked until dropped.
pub(super) struct Store {
    directory: PathBuf,
    _lock: File,
}

impl Store {
    /// Opens the records, and makes their directory where it is missing.
    pub fn open(data_dir: &str, network: &str) -> Outcome<Self> {
        let directory = Path::new(data_dir).join(network);
        let mut builder = fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o755)
            .create(&directory)
            .doing(|| format!("failed to make {}", directory.display()))?;
        Self::lock(directory)
    }

    /// Opens the records where there are any.
    pub fn open_existing(data_dir: &str, network: &str) -> Outcome<Option<Self>> {
        let directory = Path::new(data_dir).join(network);
        if directory.is_dir() { Self::lock(directory).map(Some) } else { Ok(None) }
    }

    fn lock(directory: PathBuf) -> Outcome<Self> {
        let file = directory.join("lock");
        let what = || format!("failed to lock {}", file.display());
        let mut options = OpenOptions::new();
        let lock = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let lock = lock.open(&file).doing(what)?;
        flock(&lock, FlockOperation::LockExclusive).doing(what)?;
        Ok(Self { directory, _lock: lock })
    }

    /// All records. An empty one is of somebody who died between making and writing it: nobody can
    /// be in between now, for we hold the lock, so it is taken away.
    fn records(&self) -> Outcome<Vec<(IpAddr, Holder)>> {
        let what = || format!("failed to read {}", self.directory.display());
        let mut records = Vec::new();
        for entry in fs::read_dir(&self.directory).doing(what)? {
            let entry = entry.doing(what)?;
            let name = entry.file_name();
            let Some(ip) = name.to_str().and_then(|name| name.parse::<IpAddr>().ok()) else {
                continue;
            };
            if entry.metadata().is_ok_and(|data| data.len() > RECORD_MAX) {
                continue;
            }
            let text = fs::read_to_string(entry.path()).doing(what)?;
            if text.trim().is_empty() {
                self.remove(ip);
                continue;
            }
            records.push((ip, Holder::parse(&text)));
        }
        Ok(records)
    }

    /// Addresses that somebody holds.
    pub fn taken(&self) -> Outcome<BTreeSet<IpAddr>> {
        Ok(self.records()?.into_iter().map(|(ip, _)| ip).collect())
    }

    /// Addresses of a holder; where there are none, those recorded without an interface.
    pub fn held_by(&self, holder: &Holder) -> Outcome<Vec<IpAddr>> {
        let records = self.records()?;
        let of = |wanted: &Holder| -> Vec<IpAddr> {
            records.iter().filter(|(_, found)| found == wanted).map(|(ip, _)| *ip).collect()
        };
        let held = of(holder);
        if held.is_empty() {
            return Ok(of(&Holder { ifname: String::new(), ..holder.clone() }));
        }
        Ok(held)
    }

    /// The address given last out of a set.
    pub fn last(&self, place: usize) -> Option<IpAddr> {
        let text = fs::read_to_string(self.directory.join(format!("last_reserved_ip.{place}")));
        text.ok()?.trim().parse().ok()
    }

    /// Records a holder. On failure there is no record.
    pub fn reserve(&self, holder: &Holder, ip: IpAddr, place: usize) -> Outcome<()> {
        let file = self.directory.join(ip.to_string());
        let text = format!("{}\r\n{}", holder.container, holder.ifname);
        let what = || format!("failed to record {}", file.display());
        let mut options = OpenOptions::new();
        let mut record =
            options.write(true).create_new(true).mode(0o600).open(&file).doing(what)?;
        let last = self.directory.join(format!("last_reserved_ip.{place}"));
        let written = record
            .write_all(text.as_bytes())
            .and_then(|()| {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(true).mode(0o600);
                options.open(last)?.write_all(ip.to_string().as_bytes())
            })
            .doing(what);
        written.inspect_err(|_| self.remove(ip))
    }

    /// Takes a record away.
    pub fn remove(&self, ip: IpAddr) {
        let file = self.directory.join(ip.to_string());
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(%error, file = %file.display(), "an address stays taken");
            }
            _ => {}
        }
    }

    /// Takes all records of a holder away.
    pub fn release(&self, holder: &Holder) -> Outcome<()> {
        for ip in self.held_by(holder)? {
            self.remove(ip);
        }
        Ok(())
    }

    /// Takes all records away but those of these holders.
    pub fn keep_only(&self, valid: &BTreeSet<Holder>) -> Outcome<()> {
        for (ip, holder) in self.records()? {
            let known = valid.contains(&holder)
                || (holder.ifname.is_empty()
                    && valid.iter().any(|other| other.container == holder.container));
            if !known {
                self.remove(ip);
            }
        }
        Ok(())
    }
}
