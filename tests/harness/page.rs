//! The page that a program shares with its test: it shows what the program has done, even if one of them dies.

use super::World;
use super::wait_for;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Words of the page, as `page.h` has them.
const WORDS: usize = 5 + 4 * 8;

/// The page.
#[derive(Debug)]
pub(crate) struct Page {
    file: File,
    pub(crate) path: PathBuf,
}

/// How often a thread has called, counted before and after each call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls {
    pub(crate) mallocs_begun: u64,
    pub(crate) mallocs_done: u64,
    pub(crate) frees_begun: u64,
    pub(crate) frees_done: u64,
}

impl Page {
    pub(crate) fn new(world: &World) -> Page {
        let path = world.write("page", [0; WORDS * 8]);
        let file = OpenOptions::new().read(true).write(true).open(&path).expect("the file was just made");
        Page { file, path }
    }

    fn word(&self, index: usize) -> u64 {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, index as u64 * 8).expect("the page has this word");
        u64::from_ne_bytes(bytes)
    }

    fn set(&self, index: usize) {
        self.file.write_all_at(&1u64.to_ne_bytes(), index as u64 * 8).expect("the page can be written");
    }

    /// The program's pid, once it has begun.
    pub(crate) fn pid(&self) -> i32 {
        wait_for("the program's beginning", || self.word(0) != 0);
        i32::try_from(self.word(0)).expect("pids are small")
    }

    /// Lets the program begin.
    pub(crate) fn go(&self) {
        self.set(1);
    }

    /// Makes the program end.
    pub(crate) fn stop(&self) {
        self.set(2);
    }

    /// True when the program reports that it has done everything it was to do.
    pub(crate) fn is_done(&self) -> bool {
        self.word(3) != 0
    }

    /// The longest time between two calls, in nanoseconds.
    pub(crate) fn longest_ns(&self) -> u64 {
        self.word(4)
    }

    /// The calls of one thread.
    pub(crate) fn calls(&self, thread: usize) -> Calls {
        let word = |index| self.word(5 + thread * 4 + index);
        Calls { mallocs_begun: word(0), mallocs_done: word(1), frees_begun: word(2), frees_done: word(3) }
    }

    /// Waits until each of the first `threads` threads has made so many allocations.
    pub(crate) fn wait_for_calls(&self, threads: usize, calls: u64) {
        wait_for("calls of all threads", || {
            (0..threads).all(|thread| self.calls(thread).mallocs_done >= calls)
        });
    }
}
