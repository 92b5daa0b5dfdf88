//! A stack that is large enough: parser and evaluator recurse, and a server's threads are small.

use std::io;

/// Much is promised, little is touched.
const SIZE: usize = 256 << 20;

/// Runs `work` on a stack of its own; `None` when it panicked.
pub fn run<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<Option<T>> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("cel".to_owned()).stack_size(SIZE);
        Ok(thread.spawn_scoped(scope, work)?.join().ok())
    })
}
