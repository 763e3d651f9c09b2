//! Ruby's frames.
//!
//! ```text
//!  ruby_current_ec → context of this thread or fiber → innermost frame, and behind it its caller, and so on
//!                                                       sequence │ instruction │ environment
//! ```
//!
//! Frames are one behind the other on a stack of Ruby's own, so none names its caller. The environment's flags say
//! whether a frame begins an evaluation. Functions of the interpreter have a frame, too, which is left out: they are on
//! the native stack.

mod layout;
mod lines;
mod method;
mod object;
mod sequence;
mod tags;

use crate::interpreters::Place;
use crate::interpreters::chain::{Chain, FrameWords, Pushed, ScriptFrame};
use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::language::{BEGINS, Evaluations, Language, Read};
use crate::interpreters::mix;
use crate::interpreters::thread_key::{ThreadKey, this_thread};
use crate::interpreters::version::Version;
use crate::modules::landmarks::{self, RUBY};
use layout::{CONTEXT_FRAME, CONTEXT_SIZE, CONTEXT_STACK, FRAME, Layout, Threads};
use method::ENTRY;
use tags::Tags;
use unwind::SavedWord;

/// The kind of a frame, in the flags of its environment.
const KIND: u64 = 0x7FFF_0001;
const METHOD: u64 = 0x1111_0001;
const DUMMY: u64 = 0x7999_0001;
/// An evaluation begins with the frame.
const BEGINS_EVALUATION: u64 = 0x20;
/// It runs a function of the interpreter.
const IS_NATIVE: u64 = 0x80;

/// Most variables of which each thread has its own.
const MOST_VARIABLES: u64 = 16;

/// Most words of a stack: a thread's struct has addresses in place of what a context has.
const MOST_WORDS: u64 = 1 << 28;

/// The key that has the threads, before 3.0.
static KEY: ThreadKey = ThreadKey::unknown();

/// What a thread knows of its interpreter. Zeroed memory is a thread that has not looked.
pub(crate) struct Ruby {
    version: Version<Layout>,
    /// What `pthread_self` returns.
    id: u64,
    /// Where the word is that leads to the context; 0 while that is not known.
    slot: u64,
    /// The context whose frames were read last, and where they end: Ruby leaves out the outermost, too, which stands for
    /// the program's own variables or for none.
    context: u64,
    end: u64,
    /// The value of the key that had led to it.
    thread: u64,
    /// Number of stacks without a context.
    misses: u32,
    tags: Tags,
}

impl Language for Ruby {
    fn begin(&mut self) {
        self.version = Version::Unknown;
        self.id = this_thread();
        (self.slot, self.context, self.end, self.thread) = (0, 0, 0, 0);
        self.misses = 0;
    }

    #[inline(always)]
    fn words(&self) -> FrameWords {
        FRAME
    }

    #[inline(always)]
    fn is_last(&self) -> bool {
        match self.version {
            // The word that leads to the context is among those that are compared.
            Version::Known(Layout { threads: Threads::Variable, .. }) => self.slot != 0,
            Version::Known(Layout { threads: Threads::Key { .. }, .. }) => {
                self.thread != 0 && KEY.value() == self.thread
            }
            Version::Unknown | Version::Refused | Version::Told => false,
        }
    }

    #[inline(always)]
    fn state(&mut self, memory: &mut KnownMemory) -> Option<u64> {
        let layout = self.version.layout(|| version(memory))?;
        if self.slot == 0 || !self.is_last() {
            self.slot = self.find_slot(&layout, memory)?;
        }
        let context = memory.word(self.slot)?;
        // A context without a stack runs nothing yet, or no longer.
        let begins = |offset: u16| context.checked_add(offset.into());
        let is_there = context != 0
            && memory.word(begins(CONTEXT_STACK)?)? != 0
            && memory.word(begins(CONTEXT_FRAME)?)? != 0;
        is_there.then_some(context)
    }

    #[inline(never)]
    fn read(&mut self, context: u64, chain: &mut Chain, memory: &mut KnownMemory) -> Option<Read> {
        self.context = context;
        chain.read();
        if chain.root(self.slot, memory)? != context {
            return None;
        }
        let mut root = |offset: u16| chain.root(context.checked_add(offset.into())?, memory);
        let stack = root(CONTEXT_STACK)?;
        let size = root(CONTEXT_SIZE)?;
        self.end = stack.checked_add(size.checked_mul(8)?)?.checked_sub(self.frame()?)?;
        // Last, so that the innermost frame may be another one when everything before is as it was.
        let innermost = root(CONTEXT_FRAME)?;
        self.read_on(innermost, chain, memory)
    }

    #[inline(always)]
    fn read_from(&self, innermost: u64, chain: &mut Chain, memory: &mut KnownMemory) -> Option<Read> {
        chain.read_from(innermost);
        self.read_on(innermost, chain, memory)
    }

    fn identity(
        &self,
        frame: &ScriptFrame,
        memory: &mut KnownMemory,
        note: impl FnMut(SavedWord),
    ) -> Option<u64> {
        let layout = self.version.known()?;
        match runs_instructions(frame, memory) {
            Some(true) => sequence::identity(frame.code, layout, memory, note),
            _ => Some(0),
        }
    }

    #[inline(always)]
    fn full_identity(&self, frame: &ScriptFrame, identity: u64, memory: &mut KnownMemory) -> u64 {
        // The class of a method's copy is another one, and functions of the interpreter are left out.
        if identity == 0 {
            return 0;
        }
        let entry = environment(frame, memory).and_then(|at| memory.word(at.checked_sub(ENTRY)?));
        mix(identity, entry.unwrap_or(0))
    }

    fn place(&self, frame: &ScriptFrame, memory: &mut KnownMemory) -> Option<Place> {
        let layout = self.version.known()?;
        match runs_instructions(frame, memory) {
            // Without an instruction it is not there for Ruby, either.
            Some(true) if frame.instruction != 0 => sequence::place(frame, layout, memory),
            _ => Some(Place { function: 0, line: 0 }),
        }
    }

    fn evaluations(&mut self, chain: &Chain, memory: &mut KnownMemory) -> Evaluations<'_> {
        let frames = chain.frames();
        let count = frames.clone().filter(|frame| frame.place == BEGINS).count();
        let is_at_script = frames.last().is_some_and(|innermost| innermost.pc != 0);
        let is_cut = chain.summary().is_cut;
        Evaluations::Beginnings(self.tags.places(self.context, count, is_cut, is_at_script, memory))
    }
}

impl Ruby {
    /// Bytes of a frame.
    fn frame(&self) -> Option<u64> {
        Some(self.version.known()?.frame)
    }

    #[inline(always)]
    fn read_on(&self, innermost: u64, chain: &mut Chain, memory: &mut KnownMemory) -> Option<Read> {
        let layout = self.version.known()?;
        if innermost == self.end.wrapping_add(layout.frame) {
            // Nothing runs but the outermost.
            return Some(Read::All);
        }
        // Most often a method has moved on, or returned to its caller.
        if chain.meet(innermost, 0, FRAME).is_some() {
            return Some(Read::All);
        }
        let read = self.frames(innermost, layout, chain, memory)?;
        Some(if read == Read::All && chain.is_too_long() { Read::TooMany } else { read })
    }

    /// Reads frames one after another, until one is met that is known, and whose callers are as they were.
    #[inline(never)]
    fn frames(
        &self,
        innermost: u64,
        layout: &Layout,
        chain: &mut Chain,
        memory: &mut KnownMemory,
    ) -> Option<Read> {
        if !self.end.checked_sub(innermost)?.is_multiple_of(layout.frame) {
            return None;
        }
        let mut frame = innermost;
        while frame < self.end {
            if chain.meet(frame, 0, FRAME).is_some() {
                break;
            }
            let environment = match chain.push(frame, 0, FRAME, memory)? {
                Pushed::To(environment) => environment,
                Pushed::Full => return Some(Read::Cut),
            };
            if environment != 0 {
                let flags = chain.word(environment, memory)?;
                if flags & KIND == METHOD {
                    chain.word(environment.checked_sub(ENTRY)?, memory)?;
                }
                if flags & BEGINS_EVALUATION != 0 && flags & IS_NATIVE == 0 && flags & KIND != DUMMY {
                    chain.place(chain.count().saturating_sub(1), BEGINS);
                }
            }
            frame = frame.checked_add(layout.frame)?;
        }
        Some(Read::All)
    }

    /// Finds the word that leads to this thread's context; `None` if it has none.
    #[cold]
    fn find_slot(&mut self, layout: &Layout, memory: &mut KnownMemory) -> Option<u64> {
        let mut word = |base: u64, offset: u16| memory.word(base.checked_add(offset.into())?);
        let Threads::Key { id } = layout.threads else {
            let own = RUBY.own()?;
            let start = own.address(|address| word(address, 0))?;
            if own.is_exact() {
                return Some(start);
            }
            // The context's thread has this context, and the context a stack with its frame, which tells the two apart.
            let mut is_it = |slot: u64| {
                let context = word(slot, 0).filter(|context| *context != 0)?;
                let thread = word(context, layout.thread)?;
                let (stack, size) = (word(context, CONTEXT_STACK)?, word(context, CONTEXT_SIZE)?);
                let end = stack.checked_add(size.checked_mul(8)?)?;
                let is_inside = stack != 0
                    && size <= MOST_WORDS
                    && (stack..=end).contains(&word(context, CONTEXT_FRAME)?);
                Some(word(thread, layout.context)? == context && is_inside)
            };
            let mut slots = (0..MOST_VARIABLES).map(|index| start.wrapping_add(8 * index));
            return slots.find(|slot| is_it(*slot) == Some(true));
        };
        let own = self.id;
        let mut is_it = |thread: u64| {
            word(thread, id) == Some(own)
                && word(thread, layout.context).and_then(|context| word(context, layout.thread))
                    == Some(thread)
        };
        let value = KEY.value();
        let thread = if value != 0 && is_it(value) { value } else { KEY.search(&mut self.misses, is_it)? };
        self.thread = thread;
        thread.checked_add(layout.context.into())
    }
}

/// The environment of a frame.
#[inline(always)]
fn environment(frame: &ScriptFrame, memory: &mut KnownMemory) -> Option<u64> {
    memory.word(frame.frame.checked_add(FRAME.previous.into())?)
}

/// True for a frame that runs instructions, not a function of the interpreter; `None` if that cannot be read.
fn runs_instructions(frame: &ScriptFrame, memory: &mut KnownMemory) -> Option<bool> {
    if frame.code == 0 {
        return Some(false);
    }
    let environment = environment(frame, memory)?;
    let flags = memory.word(environment)?;
    // While 3.2 loads a file, a frame has something that is no sequence, and only its file's name.
    let has_sequence =
        flags & KIND != DUMMY || object::kind_of(frame.code, memory) == Some(object::INSTRUCTION_SEQUENCE);
    Some(flags & IS_NATIVE == 0 && has_sequence)
}

/// The version of the interpreter that was recognised.
#[cold]
fn version(memory: &mut KnownMemory) -> Version<Layout> {
    if RUBY.is_found() { Version::of(layout(memory)) } else { Version::Unknown }
}

/// The layout of the interpreter that was recognised.
#[cold]
fn layout(memory: &mut KnownMemory) -> Option<Layout> {
    let at = RUBY.address(landmarks::Ruby::Version as usize);
    let major = memory.number(at)?;
    let minor = memory.number(at.checked_add(4)?)?;
    let layout = layout::of_version(major, minor)?;
    let is_reached = layout.threads != Threads::Variable || RUBY.own().is_some();
    is_reached.then_some(layout)
}
