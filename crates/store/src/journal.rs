//! The journal file: where a commit is made durable with one write and one sync.
//!
//! The file is filled with zeros ahead of what is written, so that a commit changes neither its size
//! nor where it lies on the disk: the sync then has only the data to write. It is used from its start
//! again with each generation (see [`crate::durable`]) and never shrinks.
//!
//! After an append that failed, nothing is known of what the file holds: the generation is over, and
//! only that the database takes a new one ([`Journal::begin`]) makes the journal usable again.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::frame::{BLOCK, Generation, encode};
use crate::log::LogError;
use crate::record::Record;

/// How much is filled with zeros at a time.
const CHUNK: usize = 512 << 10;
/// What of the buffer is kept for the next frame.
const BUFFER: usize = 64 << 10;

/// What the journal needs of a file; tests put a failing one here.
pub(crate) trait Disk: Send {
    fn len(&self) -> io::Result<u64>;
    /// Writes all of it, or fails and may have written a part.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
}

impl Disk for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write_all_at(data, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// How the file is opened, and made if it is not there.
pub(crate) type DiskOpener = Box<dyn Fn(&Path) -> io::Result<Box<dyn Disk>> + Send>;

/// Opens the file, and makes it, for nobody else to read, if it is not there.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    // A new name is durable only once its directory is.
    if let Some(dir) = path.parent() {
        File::open(dir)?.sync_all()?;
    }
    Ok(file)
}

/// All that the file holds; `None` if there is no such file.
pub(crate) fn read_file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(mut file) => file.read_to_end(&mut bytes).map(|_| Some(bytes)),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err),
    }
}

pub(crate) struct Journal {
    path: PathBuf,
    opener: DiskOpener,
    /// `None` until it is first needed.
    file: Option<Box<dyn Disk>>,
    capacity: usize,
    /// How far the file is filled, with zeros or with frames.
    filled: usize,
    /// `None` until the database has taken one, and after a failure.
    generation: Option<Generation>,
    /// Where the next frame goes, and its number.
    end: usize,
    sequence: u64,
    buffer: Vec<u8>,
}

impl Journal {
    pub(crate) fn new(path: PathBuf, opener: DiskOpener, capacity: usize) -> Self {
        Self {
            path,
            opener,
            file: None,
            capacity: capacity.next_multiple_of(BLOCK),
            filled: 0,
            generation: None,
            end: 0,
            sequence: 0,
            buffer: Vec::new(),
        }
    }

    /// Whether a frame of `len` bytes can be appended.
    pub(crate) fn has_room(&self, len: usize) -> bool {
        self.generation.is_some() && self.end + len <= self.capacity
    }

    pub(crate) fn is_quarter_full(&self) -> bool {
        self.end >= self.capacity / 4
    }

    /// Sees that there is a file with some room. To be called before the database takes a new
    /// generation: one that is known there has a file.
    pub(crate) fn prepare(&mut self) -> Result<(), LogError> {
        self.fill(BLOCK).map_err(|err| self.failed("prepared", &err))
    }

    /// Starts anew: what the file holds does not count any more, as the database knows.
    pub(crate) fn begin(&mut self, generation: Generation) {
        self.generation = Some(generation);
        self.end = 0;
        self.sequence = 0;
    }

    /// Takes no more until it begins anew.
    pub(crate) fn stop(&mut self) {
        self.generation = None;
    }

    /// Writes one frame, of `len` bytes, and waits until it is on the disk.
    pub(crate) fn append<'a>(
        &mut self,
        len: usize,
        records: impl Iterator<Item = (u64, Record<'a>)>,
    ) -> Result<(), LogError> {
        // Put back only when all went well.
        let Some(generation) = self.generation.take() else {
            return Err(self.failed("written", &io::Error::other("it has no generation")));
        };
        encode(&mut self.buffer, generation, self.sequence, records);
        self.write(len).map_err(|err| self.failed("written", &err))?;
        self.buffer.shrink_to(BUFFER);
        self.generation = Some(generation);
        self.end += len;
        self.sequence += 1;
        Ok(())
    }

    fn write(&mut self, len: usize) -> io::Result<()> {
        self.fill(self.end + len)?;
        let file = self.file()?;
        file.write(self.end as u64, &self.buffer)?;
        file.sync()
    }

    /// Fills the file with zeros at least up to `end`, unless it is already.
    fn fill(&mut self, end: usize) -> io::Result<()> {
        if self.file.is_none() {
            let file = (self.opener)(&self.path)?;
            // What a file holds beyond its last whole block is filled again.
            let len = usize::try_from(file.len()?).unwrap_or(usize::MAX);
            self.filled = len / BLOCK * BLOCK;
            self.file = Some(file);
        }
        if end <= self.filled {
            return Ok(());
        }
        let target = end.max(self.filled + CHUNK).min(self.capacity.max(end));
        let file = self.file()?;
        let zeros = vec![0; BUFFER];
        for at in (self.filled..target).step_by(BUFFER) {
            file.write(at as u64, &zeros[..BUFFER.min(target - at)])?;
        }
        file.sync()?;
        self.filled = target;
        Ok(())
    }

    fn file(&self) -> io::Result<&dyn Disk> {
        self.file.as_deref().ok_or_else(|| io::Error::other("it is not open"))
    }

    fn failed(&self, what: &str, err: &io::Error) -> LogError {
        let cause = format!("the journal {} could not be {what}: {err}", self.path.display());
        LogError { kind: err.kind(), cause }
    }
}
