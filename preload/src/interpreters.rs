//! What an interpreter in the program runs: its frames, read in the hook from its own memory.
//!
//! Nothing of the interpreter is called, and it need not know of us. What is read is kept alive by the stack that is
//! recorded; each page is checked before, since a pointer may have been overwritten ([`known_memory`]). How a language
//! is recognised, and where its frames are, is a folder for each:
//!
//! | file | what it has |
//! |---|---|
//! | `language` | what a language's folder does |
//! | `python` `ruby` `php` `perl` | CPython 3.8 to 3.14, Ruby 2.7 to 3.4, PHP 7.4 to 8.4, Perl 5.30 to 5.40 |
//! | `chain` | the frames that were read last, and how to see that they are the same |
//! | `sites` `joined` | caches: the id of a place in a script, and of a stack with all its frames |
//! | `merged` | the last stack that was made of both, frame by frame |
//! | `known_memory` | which pages can be read |
//! | `version` `thread_key` `text` `name` | what languages share: what is known of a version, finding a thread's state by its
//! key, text and names |
//!
//! A frame has a *place*: an address within the native frame that runs it. So the two stacks are merged as with the
//! program's own stack provider (`thread/provider.rs`), which takes precedence.

#[deny(unsafe_code)]
pub(crate) mod chain;
#[deny(unsafe_code)]
mod joined;
mod known_memory;
#[deny(unsafe_code)]
mod language;
#[deny(unsafe_code)]
pub(crate) mod merged;
#[deny(unsafe_code)]
mod name;
#[deny(unsafe_code)]
mod perl;
#[deny(unsafe_code)]
mod php;
#[deny(unsafe_code)]
mod python;
#[deny(unsafe_code)]
mod ruby;
#[deny(unsafe_code)]
mod sites;
#[deny(unsafe_code)]
mod text;
mod thread_key;
#[deny(unsafe_code)]
mod version;

use crate::modules::landmarks::{self, Kind};
use crate::platform::sys;
use crate::process;
use chain::{Chain, Change, Placed, Resolve, ScriptFrame, Site, Summary};
use core::ops::Range;
use core::sync::atomic::Ordering;
use joined::Joined;
use known_memory::KnownMemory;
use language::{BEGINS, Evaluations, Language, Read};
use merged::Merged;
use perl::Perl;
use php::Php;
use python::Python;
use ruby::Ruby;
use sites::Sites;
use unwind::SavedWord;

/// Where a script is: a number of [`crate::modules::functions`], and a line, 0 if that is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) function: u32,
    pub(crate) line: u32,
}

/// In place of a stack's paths.
const NO_STACK: [u64; 2] = [u64::MAX; 2];

/// What one thread knows of the interpreter that it runs.
struct Thread {
    reader: Reader,
    python: Python,
    ruby: Ruby,
    php: Php,
    perl: Perl,
}

/// What is the same for all languages.
struct Reader {
    memory: KnownMemory,
    chain: Chain,
    sites: Sites,
    joined: Joined,
    merged: Merged,
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
        let Thread { reader, python, ruby, php, perl } = thread;
        reader.chain.forget();
        reader.sites.forget();
        reader.joined.forget();
        reader.merged.forget();
        reader.last = NO_STACK;
        python.begin();
        ruby.begin();
        php.begin();
        perl.begin();
        self.is_begun = true;
        Some(())
    }

    /// Looks at the frames that this thread runs; `None` when there are none. `id` makes the id of a place in a script,
    /// 0 for one to leave out.
    // Cost: when they are the same as the last time, what `Chain::begin` and `Language::is_last` cost.
    #[inline(always)]
    pub(crate) fn look(&mut self, id: impl FnMut(Place) -> u32) -> Option<Seen<'_>> {
        let thread = self.thread()?;
        let Thread { reader, python, ruby, php, perl } = &mut *thread;
        let is_same = match landmarks::kind()? {
            Kind::Python => reader.look(python, id)?,
            Kind::Ruby => reader.look(ruby, id)?,
            Kind::Php => reader.look(php, id)?,
            Kind::Perl => reader.look_anew(perl, id)?,
        };
        let frames = thread.reader.chain.summary();
        (frames.hash != 0).then_some(Seen { frames, is_same, thread })
    }
}

impl Reader {
    /// Looks at the frames that this thread runs; true if they are as they were.
    #[inline(always)]
    fn look<L: Language>(&mut self, language: &mut L, id: impl FnMut(Place) -> u32) -> Option<bool> {
        if !self.memory.begin() {
            self.chain.forget();
        }
        match self.chain.begin(language.words()) {
            Change::None if language.is_last() => Some(true),
            Change::Frames(innermost) if language.is_last() => {
                self.read_from(language, innermost, id)?;
                Some(false)
            }
            Change::None | Change::Frames(_) | Change::Roots => {
                self.read(language, id)?;
                Some(false)
            }
        }
    }

    /// Reads the frames that are not as they were from this innermost one on, and finds out what they are.
    #[inline(always)]
    fn read_from<L: Language>(
        &mut self,
        language: &mut L,
        innermost: u64,
        id: impl FnMut(Place) -> u32,
    ) -> Option<()> {
        let read = language.read_from(innermost, &mut self.chain, &mut self.memory);
        if read == Some(Read::TooMany) {
            return self.read(language, id);
        }
        match read.and_then(|read| self.end(language, read, id)) {
            Some(()) => Some(()),
            None => self.fail(),
        }
    }

    /// The same for the frames that this thread's state leads to; `None` also if it has no state.
    #[inline(never)]
    fn read<L: Language>(&mut self, language: &mut L, id: impl FnMut(Place) -> u32) -> Option<()> {
        let state = language.state(&mut self.memory)?;
        let Self { memory, chain, .. } = self;
        let mut read = language.read(state, chain, memory);
        if read == Some(Read::TooMany) {
            chain.begin_afresh();
            read = language.read(state, chain, memory);
        }
        match read.and_then(|read| self.end(language, read, id)) {
            Some(()) => Some(()),
            None => self.fail(),
        }
    }

    #[inline(always)]
    fn end<L: Language>(&mut self, language: &L, read: Read, id: impl FnMut(Place) -> u32) -> Option<()> {
        // The last stack had other frames.
        self.last = NO_STACK;
        let Self { memory, chain, sites, .. } = self;
        chain.end(read != Read::All, language.words(), &mut Code { language, memory, sites, id })
    }

    /// The same for Perl, whose frames lie side by side, so that reading costs no more than comparing would.
    #[inline(never)]
    fn look_anew(&mut self, perl: &mut Perl, mut id: impl FnMut(Place) -> u32) -> Option<bool> {
        self.memory.begin();
        let Self { memory, chain, sites, .. } = self;
        let before = chain.summary();
        let state = perl.state(memory)?;
        chain.take();
        let read = perl.read(state, chain, memory).and_then(|is_cut| {
            chain.end_taking(is_cut, |frame, code| perl.site(frame, code, memory, sites, &mut id))
        });
        if read.is_none() {
            self.fail();
            return None;
        }
        let is_same = chain.summary() == before;
        if !is_same {
            self.last = NO_STACK;
        }
        Some(is_same)
    }

    /// The frames are not what they should be.
    #[cold]
    fn fail(&mut self) -> Option<()> {
        self.chain.forget();
        if let Some(slot) = process::slot() {
            slot.unread_scripts.fetch_add(1, Ordering::Relaxed);
        }
        None
    }
}

/// How to find out what frames are.
struct Code<'a, L, I> {
    language: &'a L,
    memory: &'a mut KnownMemory,
    sites: &'a mut Sites,
    id: I,
}

impl<L: Language, I: FnMut(Place) -> u32> Resolve for Code<'_, L, I> {
    #[inline(never)]
    fn identity(&mut self, frame: &ScriptFrame, note: impl FnMut(SavedWord)) -> Option<u64> {
        self.language.identity(frame, self.memory, note)
    }

    #[inline(always)]
    fn site(&mut self, frame: &ScriptFrame, identity: u64) -> Option<Site> {
        let Self { language, memory, sites, id } = self;
        let full = language.full_identity(frame, identity, memory);
        let pc = sites.pc(frame, full, || language.place(frame, memory).map(id))?;
        Some(Site { identity, pc })
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
        let [last, path] = self.thread.reader.last;
        if self.is_same && last == native {
            return Some(path);
        }
        let path = self.thread.reader.joined.path(native, self.frames)?;
        self.thread.reader.last = [native, path];
        Some(path)
    }

    /// Keeps the path of a native stack with these frames.
    pub(crate) fn keep(&mut self, native: u64, path: u64) {
        self.thread.reader.joined.keep(native, self.frames, path);
        self.thread.reader.last = [native, path];
    }

    /// There are more frames, further out.
    pub(crate) fn is_cut(&self) -> bool {
        self.frames.is_cut
    }

    /// The frames, outermost first, what their places are, and the last stack that was merged with some.
    pub(crate) fn frames(&mut self) -> (impl Iterator<Item = Placed>, Places, &mut Merged) {
        let Thread { reader, python, ruby, php, .. } = &mut *self.thread;
        let Reader { memory, chain, merged, .. } = reader;
        let evaluations = match landmarks::kind() {
            Some(Kind::Ruby) => ruby.evaluations(chain, memory),
            Some(Kind::Php) => php.evaluations(chain, memory),
            Some(Kind::Perl) => perl::evaluations(),
            Some(Kind::Python) | None => python.evaluations(chain, memory),
        };
        let frames = chain.frames();
        let beginnings = || frames.clone().filter(|frame| frame.place == BEGINS).count();
        let places = match &evaluations {
            Evaluations::Places | Evaluations::Beginnings(_) => Places::Addresses,
            Evaluations::Code(code) => Places::Numbers { code: code.clone(), innermost: None },
            Evaluations::CodeOfBeginnings(code) => {
                Places::Numbers { code: code.clone(), innermost: Some(beginnings()) }
            }
        };
        let mut number = 0_usize;
        let frames = frames.map(move |frame| {
            let begins = frame.place == BEGINS || matches!(evaluations, Evaluations::Code(_));
            number = number.saturating_add(usize::from(begins));
            let place = match &evaluations {
                Evaluations::Places => frame.place,
                Evaluations::Beginnings(places) => places.get(number).copied().unwrap_or(0),
                Evaluations::Code(_) | Evaluations::CodeOfBeginnings(_) => number as u64,
            };
            Placed { place, ..frame }
        });
        (frames.filter(|frame| frame.pc != 0), places, merged)
    }
}

/// What the places of frames are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// Addresses within native frames.
    Addresses,
    /// Numbers of evaluations, which are the native frames in this code, from the outermost on, which is 1. If the
    /// number of the innermost is known, that is the innermost native one, since others may be missing further out.
    Numbers { code: Range<u64>, innermost: Option<usize> },
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
