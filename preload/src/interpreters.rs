//! What an interpreter in the program runs: its frames, read in the hook from its own memory.
//!
//! Nothing of the interpreter is called, and it need not know of us. What is read is kept alive by the stack that is
//! recorded; each page is checked before, since a pointer may have been overwritten ([`known_memory`]). How a language
//! is recognised, and where its frames are, is a folder for each:
//!
//! | file | what it has |
//! |---|---|
//! | `python` | CPython 3.8 to 3.14 |
//! | `chain` | the frames that were read last, and how to see that they are the same |
//! | `sites` `joined` | caches: the id of a place in a script, and of a stack with all its frames |
//! | `known_memory` | which pages can be read |
//!
//! A frame has a *place*: an address within the native frame that runs it. So the two stacks are merged as with the
//! program's own stack provider (`thread/provider.rs`), which takes precedence.

#[deny(unsafe_code)]
pub(crate) mod chain;
#[deny(unsafe_code)]
mod joined;
mod known_memory;
mod python;
#[deny(unsafe_code)]
mod sites;

use crate::platform::sys;
use crate::process;
use chain::{Chain, Placed, Summary};
use core::sync::atomic::Ordering;
use joined::Joined;
use known_memory::KnownMemory;
use python::Python;
use sites::Sites;

/// Where a script is: a number of [`crate::modules::functions`], and a line, 0 if that is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) function: u32,
    pub(crate) line: u32,
}

/// What one thread knows of the interpreter that it runs.
struct Thread {
    memory: KnownMemory,
    chain: Chain,
    sites: Sites,
    joined: Joined,
    python: Python,
    /// The last stack: its native path, and the path of both.
    last: [u64; 2],
}

/// The interpreters of one thread. Their memory is mapped when the thread has a stack in a process with an interpreter,
/// and passes from thread to thread with the ring.
pub(crate) struct Interpreters {
    thread: &'static mut *mut Thread,
    /// False until what another recording has left was forgotten.
    is_begun: bool,
}

impl Interpreters {
    /// Those of a thread that has just claimed a ring; `thread` is where the ring keeps the memory.
    pub(crate) fn new(thread: &'static mut Memory) -> Self {
        Self { thread: &mut thread.0, is_begun: false }
    }

    #[inline(always)]
    fn thread(&mut self) -> Option<&mut Thread> {
        if !self.is_begun {
            self.begin()?;
        }
        // SAFETY: mapped zeroed in `begin`, which is a valid value, and used by the owner of the ring alone.
        unsafe { self.thread.as_mut() }
    }

    #[cold]
    fn begin(&mut self) -> Option<()> {
        if self.thread.is_null() {
            *self.thread = sys::map_private(size_of::<Thread>()).cast();
        }
        // SAFETY: null, or mapped zeroed, which is a valid value, and used by the owner of the ring alone.
        let thread = unsafe { self.thread.as_mut() }?;
        thread.chain.forget();
        thread.sites.forget();
        thread.joined.forget();
        thread.python.begin();
        thread.last = [0; 2];
        self.is_begun = true;
        Some(())
    }

    /// Looks at the frames that this thread runs; `None` when there are none. `id` makes the id of a place in a script,
    /// 0 for one to leave out.
    // Cost: when they are the same as the last time, what `Chain::is_same` and `Python::state` cost.
    #[inline(always)]
    pub(crate) fn look(&mut self, id: impl FnMut(Place) -> u32) -> Option<Seen<'_>> {
        let thread = self.thread()?;
        let Thread { memory, chain, python, .. } = thread;
        if !memory.begin() {
            chain.forget_words();
        }
        let state = python.state(memory)?;
        let is_same = python.is_last(state) && chain.is_same();
        if !is_same && !thread.read(state, id) {
            return None;
        }
        Some(Seen { frames: thread.chain.summary(), is_same, thread })
    }
}

impl Thread {
    /// Reads the frames anew; false when there are none.
    #[inline(never)]
    fn read(&mut self, state: u64, mut id: impl FnMut(Place) -> u32) -> bool {
        let Self { memory, chain, sites, python, .. } = self;
        chain.begin();
        let read = python.frames(state, chain, memory).and_then(|()| {
            chain.end(|frame| {
                let code = python.code()?;
                let identity = code.identity(frame, memory)?;
                sites.pc(frame, identity, || code.place(frame, memory).map(&mut id))
            })
        });
        if read.is_none() {
            chain.forget_words();
            if let Some(slot) = process::slot() {
                slot.unread_scripts.fetch_add(1, Ordering::Relaxed);
            }
        }
        read.is_some() && chain.count() != 0
    }
}

/// The frames that a thread runs.
pub(crate) struct Seen<'a> {
    thread: &'a mut Thread,
    frames: Summary,
    /// They are those of the last stack.
    is_same: bool,
}

impl Seen<'_> {
    /// The path of a native stack with these frames, if it is known.
    #[inline(always)]
    pub(crate) fn path(&mut self, native: u64) -> Option<u64> {
        let [last, path] = self.thread.last;
        if self.is_same && last == native {
            return Some(path);
        }
        let path = self.thread.joined.path(native, self.frames)?;
        self.thread.last = [native, path];
        Some(path)
    }

    /// Keeps the path of a native stack with these frames.
    pub(crate) fn keep(&mut self, native: u64, path: u64) {
        self.thread.joined.keep(native, self.frames, path);
        self.thread.last = [native, path];
    }

    /// There are more frames, further out.
    pub(crate) fn is_cut(&self) -> bool {
        self.frames.is_cut
    }

    /// The frames, outermost first.
    pub(crate) fn frames(&self) -> impl Iterator<Item = Placed> + Clone {
        self.thread.chain.frames()
    }

    /// Where the code of the evaluation is, if each frame has one of its own and there is no other way to know which.
    pub(crate) fn evaluation(&self) -> Option<core::ops::Range<u64>> {
        self.thread.python.evaluation()
    }
}

/// Where a ring keeps the memory for the interpreters of its owner. Zeroed memory is none yet.
pub(crate) struct Memory(*mut Thread);

/// Hashes two numbers to one.
#[inline(always)]
pub(crate) fn mix(one: u64, other: u64) -> u64 {
    // Multipliers of MurmurHash3's last step.
    let mixed = (one ^ other.wrapping_mul(0xC4CE_B9FE_1A85_EC53)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    mixed ^ mixed >> 32
}
