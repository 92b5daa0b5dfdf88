//! Waiting until some file may have changed.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// After a change: others come with it as a rule, so wait for this much quiet,
const QUIET: Duration = Duration::from_millis(3);
/// but not longer than this.
const LONGEST: Duration = Duration::from_millis(30);
/// Without any event everything is looked at this often: some file systems tell nothing.
const ROUND: Duration = Duration::from_secs(5);
/// Whoever writes for longer than this without closing is not waited for.
const WRITING: Duration = Duration::from_secs(1);

/// Follows files and directories.
pub struct Watch {
    inotify: OwnedFd,
    wake: Arc<OwnedFd>,
    places: HashMap<i32, PathBuf>,
    /// Files that are being written, since when.
    writing: HashMap<PathBuf, Instant>,
    /// Events were read that nobody has looked after.
    pending: bool,
}

/// Makes a [`Watch`] look at once.
#[derive(Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    pub fn wake(&self) {
        // It fails when it was woken 2^64 times already.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

impl Watch {
    pub fn new() -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok(Self { inotify, wake, places: HashMap::new(), writing: HashMap::new(), pending: false })
    }

    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.wake))
    }

    /// Watches these, and of what is not there the nearest directory that is.
    pub fn follow(&mut self, paths: &BTreeSet<PathBuf>) {
        let flags = WatchFlags::CLOSE_WRITE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVE_SELF;
        for path in paths {
            for place in path.ancestors() {
                // Watching the same file again is the same watch.
                if let Ok(number) = inotify::add_watch(&self.inotify, place, flags) {
                    self.places.insert(number, place.to_owned());
                    break;
                }
            }
        }
    }

    /// Waits until something may have changed, and is quiet.
    pub fn wait(&mut self) {
        if !std::mem::take(&mut self.pending) {
            self.sleep(ROUND);
        }
        let began = Instant::now();
        while self.drain() && began.elapsed() < LONGEST {
            if !self.sleep(QUIET) {
                break;
            }
        }
    }

    /// Whether somebody is writing a file, by all that has happened until now.
    pub fn is_busy(&mut self, path: &Path) -> bool {
        self.pending |= self.drain();
        self.writing.get(path).is_some_and(|since| since.elapsed() < WRITING)
    }

    /// Waits for an event; says whether one came.
    fn sleep(&self, most: Duration) -> bool {
        let mut fds = [
            PollFd::from_borrowed_fd(self.inotify.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::IN),
        ];
        let Ok(timeout) = Timespec::try_from(most) else { return false };
        poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0)
    }

    /// Reads all events; says whether there was one.
    fn drain(&mut self) -> bool {
        let mut woken = [0; 8];
        let mut any = rustix::io::read(&*self.wake, &mut woken).is_ok();
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(_) => return any,
            };
            any = true;
            let Some(place) = self.places.get(&event.wd()) else { continue };
            let name = event.file_name().and_then(|name| name.to_str().ok());
            let path = name.map_or_else(|| place.clone(), |name| place.join(name));
            let kinds = event.events();
            if kinds.contains(ReadFlags::MODIFY) {
                self.writing.entry(path).or_insert_with(Instant::now);
            } else if !kinds.intersects(ReadFlags::ATTRIB | ReadFlags::CREATE) {
                // Closed, moved or gone: whoever wrote it is done.
                self.writing.remove(&path);
            }
            if kinds.contains(ReadFlags::IGNORED) {
                self.places.remove(&event.wd());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn who_begins_to_write_is_seen_without_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hosts");
        let mut watch = Watch::new().unwrap();
        watch.follow(&BTreeSet::from([directory.path().to_owned()]));
        assert!(!watch.is_busy(&path));
        let mut file = File::create(&path).unwrap();
        file.write_all(b"192.0.2.1 a\n").unwrap();
        assert!(watch.is_busy(&path));
        drop(file);
        assert!(!watch.is_busy(&path));
        // What was seen is still news.
        let began = Instant::now();
        watch.wait();
        assert!(began.elapsed() < ROUND / 2, "{:?}", began.elapsed());
    }
}
