//! The records of one network on this node. Whoever holds the lock may read and write them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::seen::{self, Records};
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
    /// Once they were needed.
    records: RefCell<Option<Records>>,
    _lock: File,
}

/// Other threads of this process may need them next; the lock is still held here.
impl Drop for Store {
    fn drop(&mut self) {
        if let Some(records) = self.records.take() {
            seen::put(&self.directory, records);
        }
    }
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
        Ok(Self { directory, records: RefCell::default(), _lock: lock })
    }

    /// All records, from their files. An empty one is of somebody who died between making and
    /// writing it: nobody can be in between now, for we hold the lock, so it is taken away.
    fn read(&self) -> Outcome<Records> {
        let what = || format!("failed to read {}", self.directory.display());
        let mut records = Records::new();
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
                self.unlink(ip);
                continue;
            }
            records.insert(ip, Holder::parse(&text));
        }
        Ok(records)
    }

    /// Works with the records, as seen last or else as read now.
    pub fn with<T>(&self, work: impl FnOnce(&Records) -> T) -> Outcome<T> {
        let mut records = self.records.borrow_mut();
        if records.is_none() {
            *records = seen::take(&self.directory);
        }
        if records.is_none() {
            *records = Some(self.read()?);
        }
        Ok(work(records.get_or_insert_default()))
    }

    /// Reads all records anew.
    pub fn look_again(&self) -> Outcome<()> {
        let read = self.read()?;
        *self.records.borrow_mut() = Some(read);
        Ok(())
    }

    /// Addresses of a holder; where there are none, those recorded without an interface.
    pub fn held_by(&self, holder: &Holder) -> Outcome<Vec<IpAddr>> {
        self.with(|records| {
            let of = |wanted: &Holder| -> Vec<IpAddr> {
                records.iter().filter(|(_, found)| *found == wanted).map(|(ip, _)| *ip).collect()
            };
            let held = of(holder);
            if held.is_empty() {
                return of(&Holder { ifname: String::new(), ..holder.clone() });
            }
            held
        })
    }

    /// The address given last out of a set.
    pub fn last(&self, place: usize) -> Option<IpAddr> {
        let text = fs::read_to_string(self.directory.join(format!("last_reserved_ip.{place}")));
        text.ok()?.trim().parse().ok()
    }

    /// Records a holder, and says whether the address was free. On failure there is no record.
    pub fn reserve(&self, holder: &Holder, ip: IpAddr, place: usize) -> Outcome<bool> {
        let file = self.directory.join(ip.to_string());
        let text = format!("{}\r\n{}", holder.container, holder.ifname);
        let what = || format!("failed to record {}", file.display());
        let mut options = OpenOptions::new();
        let mut record = match options.write(true).create_new(true).mode(0o600).open(&file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            outcome => outcome.doing(what)?,
        };
        let last = self.directory.join(format!("last_reserved_ip.{place}"));
        let written = record
            .write_all(text.as_bytes())
            .and_then(|()| {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(true).mode(0o600);
                options.open(last)?.write_all(ip.to_string().as_bytes())
            })
            .doing(what);
        written.inspect_err(|_| self.unlink(ip))?;
        if let Some(records) = self.records.borrow_mut().as_mut() {
            records.insert(ip, holder.clone());
        }
        Ok(true)
    }

    /// Takes a record away that this call has made.
    pub fn remove(&self, ip: IpAddr) {
        self.unlink(ip);
        if let Some(records) = self.records.borrow_mut().as_mut() {
            records.remove(&ip);
        }
    }

    fn unlink(&self, ip: IpAddr) {
        let file = self.directory.join(ip.to_string());
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(%error, file = %file.display(), "an address stays taken");
            }
            _ => {}
        }
    }

    /// Takes all records of a holder away. Nothing held is worth a look at the files: what was seen
    /// may be old.
    pub fn release(&self, holder: &Holder) -> Outcome<()> {
        let mut held = self.held_by(holder)?;
        let names_holder = |ip: &IpAddr| {
            let text = fs::read_to_string(self.directory.join(ip.to_string()));
            text.is_ok_and(|text| {
                let found = Holder::parse(&text);
                found.container == holder.container
                    && (found.ifname == holder.ifname || found.ifname.is_empty())
            })
        };
        if held.is_empty() || !held.iter().all(names_holder) {
            self.look_again()?;
            held = self.held_by(holder)?;
        }
        for ip in held {
            self.remove(ip);
        }
        Ok(())
    }

    /// Takes all records away but those of these holders.
    pub fn keep_only(&self, valid: &BTreeSet<Holder>) -> Outcome<()> {
        for (ip, holder) in self.read()? {
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
