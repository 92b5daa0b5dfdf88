//! Namespaces: by name, by descriptor, by process.

use std::path::Path;
use std::thread;

use landbridge_linux::namespace::named;
use landbridge_linux::{Handle, Namespace};

use crate::harness::{Node, name};

/// A directory of named namespaces that is emptied also when the test fails.
struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        Self(tempfile::Builder::new().prefix("landbridge-netns-").tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        for directory in [self.path(), &self.path().join("below")] {
            for name in named::list(directory).unwrap_or_default() {
                let _ = named::delete(directory, &name);
            }
        }
    }
}

#[test]
fn named_ones_are_listed_opened_and_deleted() {
    if Node::new().is_none() {
        return;
    }
    let directory = Directory::new();
    let path = &directory.path().join("below");
    assert_eq!(named::list(path).unwrap(), [""; 0]);
    let made = named::create(path, "node-1").unwrap();
    named::create(path, "node-2").unwrap();
    assert_eq!(named::list(path).unwrap(), ["node-1", "node-2"]);
    let opened = named::open(path, "node-1").unwrap();
    assert_eq!(opened.identity().unwrap(), made.identity().unwrap());
    assert_ne!(opened.identity().unwrap(), Namespace::current().unwrap().identity().unwrap());

    let error = named::create(path, "node-1").unwrap_err();
    assert!(error.is_present(), "{error}");
    for name in ["node-1", "node-2", "node-2", "never"] {
        named::delete(path, name).unwrap();
    }
    assert_eq!(named::list(path).unwrap(), [""; 0]);
    assert!(named::open(path, "node-1").unwrap_err().is_absent());
    // The holder still has it.
    Handle::in_namespace(&made).unwrap().links().unwrap();
    std::fs::remove_dir(path).unwrap();
}

#[test]
fn what_a_crash_left_is_taken_over() {
    if Node::new().is_none() {
        return;
    }
    let directory = Directory::new();
    let path = directory.path();
    std::fs::write(path.join("half"), "").unwrap();
    assert_eq!(named::list(path).unwrap(), [""; 0]);
    assert!(named::open(path, "half").is_err());
    named::create(path, "half").unwrap();
    assert_eq!(named::list(path).unwrap(), ["half"]);
    named::delete(path, "half").unwrap();
    std::fs::write(path.join("half"), "").unwrap();
    named::delete(path, "half").unwrap();
    assert!(!path.join("half").exists());
}

#[test]
fn of_many_creators_one_wins() {
    if Node::new().is_none() {
        return;
    }
    let directory = Directory::new();
    let path = directory.path();
    let won: usize = thread::scope(|scope| {
        let creators: Vec<_> =
            (0..8).map(|_| scope.spawn(|| named::create(path, "one").is_ok())).collect();
        creators.into_iter().map(|creator| usize::from(creator.join().unwrap())).sum()
    });
    assert_eq!(won, 1);
    named::delete(path, "one").unwrap();
    assert!(!path.join("one").exists());
    assert_eq!(named::list(path).unwrap(), [""; 0]);
}

#[test]
fn names_stay_in_their_directory() {
    let directory = Path::new("/nowhere/at/all");
    for wrong in ["", ".", "..", "a/b", "/nowhere/else", "../x", "a/"] {
        for outcome in [
            named::create(directory, wrong).map(drop),
            named::open(directory, wrong).map(drop),
            named::delete(directory, wrong),
        ] {
            let error = outcome.unwrap_err();
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert_eq!(source, "the name is no file name", "{wrong:?}");
        }
    }
    assert!(Namespace::open("/proc/self/status").is_err());
}

#[test]
fn the_callers_thread_never_moves() {
    let Some(node) = Node::new() else { return };
    let before = Namespace::current().unwrap().identity().unwrap();
    let here = || Namespace::current().unwrap().identity().unwrap();
    for inside in [node.namespace.run(here).unwrap(), node.namespace.visit(here).unwrap()] {
        assert_eq!(inside, node.namespace.identity().unwrap());
        assert_ne!(inside, before);
        assert_eq!(here(), before);
    }
    let run = std::panic::catch_unwind(|| node.namespace.run(|| panic!("inside")));
    let visit = std::panic::catch_unwind(|| node.namespace.visit(|| panic!("inside")));
    for panic in [run, visit] {
        assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"inside"));
        assert_eq!(here(), before);
    }
    let process = Namespace::of_process(std::process::id()).unwrap();
    assert_eq!(process.identity().unwrap(), before);
}

#[test]
fn a_runtimes_workers_never_move() {
    let Some(node) = Node::new() else { return };
    let before = Namespace::of_process(std::process::id()).unwrap().identity().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        for _ in 0..20 {
            let namespace = node.namespace.clone();
            let work = tokio::spawn(async move {
                let handle = Handle::in_namespace(&namespace).unwrap();
                (handle.links().unwrap().len(), Namespace::current().unwrap().identity().unwrap())
            });
            assert_eq!(work.await.unwrap(), (1, before));
        }
    });
}

#[test]
fn a_namespace_without_a_holder_is_gone() {
    let (Some(here), Some(there)) = (Node::new(), Node::new()) else { return };
    crate::harness::wire(&here, &there, "eth0");
    drop(there);
    // The kernel takes it apart in the background, and the near end goes with the far one.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while here.net.link(&name("eth0")).unwrap().is_some() {
        assert!(std::time::Instant::now() < end, "the namespace is still there");
        thread::sleep(std::time::Duration::from_millis(10));
    }
}
