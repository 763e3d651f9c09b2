//! CPython's frames.
//!
//! ```text
//!  key of thread-specific data → state of this thread → innermost frame → its caller → …
//!                                                        code │ instruction
//! ```
//!
//! The state is the one that the interpreter itself keeps for each thread, for `PyGILState_Ensure`; nothing says under
//! which key. So until it is known all keys are tried: it is the one whose value begins a chain of frames that execute
//! code objects and says that it is this thread's. A thread that does not hold the lock has its frames all the same.

#[deny(unsafe_code)]
mod code;
#[deny(unsafe_code)]
mod debug_offsets;
#[deny(unsafe_code)]
mod layout;
#[deny(unsafe_code)]
mod lines;
#[deny(unsafe_code)]
mod text;

use crate::interpreters::Place;
use crate::interpreters::chain::{Chain, FrameWords, Pushed, ScriptFrame};
use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::language::{Evaluations, Language, Read};
use crate::interpreters::thread_key::{ThreadKey, this_thread};
use crate::interpreters::version::Version;
use crate::modules::landmarks::{self, PYTHON};
use code::CodeObject;
use layout::{Layout, Links};
use unwind::SavedWord;

/// Frames with this owner, or one above, are the interpreter's own, on the machine stack.
const OWNED_BY_STACK: u8 = 3;

/// The key that has the states.
static KEY: ThreadKey = ThreadKey::unknown();

/// What a thread knows of its interpreter. Zeroed memory is a thread that has not looked.
pub(crate) struct Python {
    version: Version<Layout>,
    /// The state whose frames were read last.
    last: u64,
    /// The innermost evaluation, in versions that have a list of them.
    evaluation: u64,
    /// The value that had led to it without more ado; 0 if another state was read.
    value: u64,
    /// What `pthread_self` returns.
    id: u64,
    /// The last state of another thread that held the lock.
    foreign: u64,
    /// Number of stacks without a state.
    misses: u32,
}

impl Language for Python {
    /// Another thread, or another recording, begins.
    fn begin(&mut self) {
        let id = this_thread();
        *self =
            Self { version: Version::Unknown, last: 0, evaluation: 0, value: 0, id, foreign: 0, misses: 0 };
    }

    /// Where frames have their words.
    #[inline(always)]
    fn words(&self) -> FrameWords {
        // If it is not known, nothing was read that could be compared.
        self.version.known().map_or(FrameWords::NONE, |layout| layout.frame.words)
    }

    /// True when this thread's state is the last one, as far as words tell that are not compared with the chain.
    // Cost: two loads and a call of libc, which makes three loads.
    #[inline(always)]
    fn is_last(&self) -> bool {
        let value = KEY.value();
        value != 0 && value == self.value
    }

    /// The interpreter's state of this thread; `None` if it runs nothing.
    #[inline(always)]
    fn state(&mut self, memory: &mut KnownMemory) -> Option<u64> {
        let value = KEY.value();
        let is_last = value != 0 && value == self.last && !self.has_other_holder(memory);
        let state = if is_last { value } else { self.other_state(value, memory)? };
        self.value = if state == value { value } else { 0 };
        Some(state)
    }

    /// Reads what leads to a state's frames, and those that are not as they were; `None` if they are not what they
    /// should be.
    #[inline(never)]
    fn read(&mut self, state: u64, chain: &mut Chain, memory: &mut KnownMemory) -> Option<Read> {
        let layout = self.version.known()?;
        self.last = state;
        chain.read();
        let mut walk = Walk { layout, chain, memory };
        if walk.root(state, layout.thread.id)? != self.id {
            return None;
        }
        if layout.holder != 0 {
            walk.root(address(landmarks::Python::Runtime), layout.holder)?;
        }
        self.evaluation = match layout.links {
            Links::ObjectsBeside { evaluations, .. } => walk.root(state, evaluations)?,
            Links::Evaluations { .. } | Links::ThroughEvaluation { .. } => {
                walk.root(state, layout.thread.frames)?
            }
            Links::Objects | Links::Frames => 0,
        };
        // Last, so that the innermost frame may be another one when everything before is as it was.
        let innermost = match layout.links {
            Links::Evaluations { frame, .. } | Links::ThroughEvaluation { frame } => {
                walk.root(self.evaluation, frame)?
            }
            Links::Objects | Links::ObjectsBeside { .. } | Links::Frames => {
                walk.root(state, layout.thread.frames)?
            }
        };
        self.read_on(innermost, chain, memory)
    }

    /// Reads frames that are not as they were from this innermost one on, to which the same leads as before; `None` if
    /// they are not what they should be.
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
        self.code()?.identity(frame, memory, note)
    }

    fn place(&self, frame: &ScriptFrame, memory: &mut KnownMemory) -> Option<Place> {
        self.code()?.place(frame, memory)
    }

    fn evaluations(&mut self, _chain: &Chain, _memory: &mut KnownMemory) -> Evaluations<'_> {
        let Version::Known(Layout { links: Links::Objects, .. }) = self.version else {
            return Evaluations::Places;
        };
        let start = address(landmarks::Python::Evaluation);
        let size = PYTHON.size(landmarks::Python::Evaluation as usize);
        Evaluations::Code(start..start.wrapping_add(size))
    }
}

impl Python {
    /// How to read a frame's code; `None` while that is not known.
    fn code(&self) -> Option<CodeObject<'_>> {
        let layout = self.version.known()?;
        Some(CodeObject { layout, kind: address(landmarks::Python::CodeType) })
    }

    /// The same when it is not known to be the last one.
    #[inline(never)]
    fn other_state(&mut self, value: u64, memory: &mut KnownMemory) -> Option<u64> {
        let layout = self.version.layout(|| version(memory))?;
        if value == 0 || !self.is_mine(value, &layout, memory) {
            return self.search(&layout, memory);
        }
        // Before 3.12, the value is the first state that the thread had, and it may have others: one for each of the
        // process' interpreters. The one in use holds the lock.
        let holder = holder(&layout, memory);
        if holder == 0 || holder == value || holder == self.foreign {
            return Some(value);
        }
        if holder == self.last || self.is_mine(holder, &layout, memory) {
            return Some(holder);
        }
        self.foreign = holder;
        Some(value)
    }

    /// True when the lock is held by a state that is neither this thread's last one nor known to be another thread's.
    #[inline(always)]
    fn has_other_holder(&self, memory: &mut KnownMemory) -> bool {
        let Some(layout) = self.version.known() else { return true };
        let holder = holder(layout, memory);
        holder != 0 && holder != self.last && holder != self.foreign
    }

    /// True for a state that says it is this thread's.
    #[inline(always)]
    fn is_mine(&self, state: u64, layout: &Layout, memory: &mut KnownMemory) -> bool {
        memory.word(state.wrapping_add(layout.thread.id.into())) == Some(self.id)
    }

    /// Finds the key.
    #[cold]
    fn search(&mut self, layout: &Layout, memory: &mut KnownMemory) -> Option<u64> {
        let code = self.code()?;
        let mut misses = self.misses;
        let state = KEY.search(&mut misses, |state| {
            self.is_mine(state, layout, memory)
                && first_frame(state, layout, memory)
                    .is_some_and(|frame| code.identity(&frame, memory, |_| ()).is_some())
        });
        self.misses = misses;
        state
    }

    #[inline(always)]
    fn read_on(&self, innermost: u64, chain: &mut Chain, memory: &mut KnownMemory) -> Option<Read> {
        let layout = self.version.known()?;
        let place = match layout.links {
            Links::ObjectsBeside { .. } | Links::Evaluations { .. } => self.evaluation,
            Links::Objects | Links::ThroughEvaluation { .. } | Links::Frames => 0,
        };
        // Most often a function has moved on, or returned to its caller.
        if chain.meet(innermost, place, layout.frame.words).is_some() {
            return Some(Read::All);
        }
        let walk = Walk { layout, chain, memory };
        let read = match layout.links {
            Links::Objects => walk.objects(innermost, 0, 0),
            Links::ObjectsBeside { next, .. } => walk.objects(innermost, place, next),
            Links::Evaluations { frame, next, entry } => {
                walk.evaluations(innermost, place, [frame, next, entry])
            }
            Links::ThroughEvaluation { .. } | Links::Frames => walk.frames(innermost),
        }?;
        Some(if read == Read::All && chain.is_too_long() { Read::TooMany } else { read })
    }
}

/// Reads frames one after another, until one is met that is known, and whose callers are as they were.
struct Walk<'a> {
    layout: &'a Layout,
    chain: &'a mut Chain,
    memory: &'a mut KnownMemory,
}

/// What a step outwards found.
enum Step {
    /// A known frame, at this place.
    Met(u64),
    /// A frame, whose caller has this address.
    To(u64),
    /// There is no room for more frames.
    Full,
}

impl Walk<'_> {
    /// A word at this offset in something, which leads to the innermost frame.
    #[inline(always)]
    fn root(&mut self, base: u64, offset: u16) -> Option<u64> {
        self.chain.root(base.checked_add(offset.into())?, self.memory)
    }

    /// A word at this offset in something, which leads to a caller's evaluation.
    #[inline(always)]
    fn word(&mut self, base: u64, offset: u16) -> Option<u64> {
        self.chain.word(base.checked_add(offset.into())?, self.memory)
    }

    /// The frame at an address.
    #[inline(always)]
    fn step(&mut self, frame: u64, place: u64) -> Option<Step> {
        let words = self.layout.frame.words;
        if let Some(place) = self.chain.meet(frame, place, words) {
            return Some(Step::Met(place));
        }
        Some(match self.chain.push(frame, place, words, self.memory)? {
            Pushed::To(previous) => Step::To(previous),
            Pushed::Full => Step::Full,
        })
    }

    /// Frame objects, each with an evaluation of its own, which is in a list if that begins at `evaluation`.
    #[inline(never)]
    fn objects(mut self, mut frame: u64, mut evaluation: u64, next: u16) -> Option<Read> {
        while frame != 0 {
            match self.step(frame, evaluation)? {
                Step::Met(_) => break,
                Step::Full => return Some(Read::Cut),
                Step::To(previous) => frame = previous,
            }
            if evaluation != 0 {
                evaluation = self.word(evaluation, next)?;
            }
        }
        Some(Read::All)
    }

    /// Evaluations, each with frames up to one that is marked.
    #[inline(never)]
    fn evaluations(
        mut self,
        mut frame: u64,
        mut evaluation: u64,
        [innermost, next, entry]: [u16; 3],
    ) -> Option<Read> {
        loop {
            while frame != 0 {
                match self.step(frame, evaluation)? {
                    Step::Met(_) => return Some(Read::All),
                    Step::Full => return Some(Read::Cut),
                    Step::To(previous) => {
                        let is_outermost = self.memory.byte(frame.checked_add(entry.into())?)? != 0;
                        frame = if is_outermost { 0 } else { previous };
                    }
                }
            }
            evaluation = self.word(evaluation, next)?;
            if evaluation == 0 {
                return Some(Read::All);
            }
            frame = self.word(evaluation, innermost)?;
        }
    }

    /// Frames, each evaluation's followed by one on the machine stack.
    #[inline(never)]
    fn frames(mut self, mut frame: u64) -> Option<Read> {
        let previous = self.layout.frame.words.previous;
        while self.is_of_evaluation(frame)? {
            frame = self.root(frame, previous)?;
        }
        let mut since = 0;
        while frame != 0 {
            match self.step(frame, 0)? {
                Step::Met(place) => {
                    self.chain.place(since, place);
                    break;
                }
                Step::Full => return Some(Read::Cut),
                Step::To(previous) => frame = previous,
            }
            while self.is_of_evaluation(frame)? {
                self.chain.place(since, frame);
                since = self.chain.count();
                frame = self.word(frame, previous)?;
            }
        }
        Some(Read::All)
    }

    /// True for a frame on the machine stack, behind those that an evaluation runs.
    #[inline(always)]
    fn is_of_evaluation(&mut self, frame: u64) -> Option<bool> {
        let owner = frame.checked_add(self.layout.frame.owner.into())?;
        Some(frame != 0 && self.memory.byte(owner)? >= OWNED_BY_STACK)
    }
}

/// The innermost frame of a state that executes code, as far as its code tells; for the search.
#[cold]
fn first_frame(state: u64, layout: &Layout, memory: &mut KnownMemory) -> Option<ScriptFrame> {
    let mut at = |address: u64, offset: u16| memory.word(address.checked_add(offset.into())?);
    let first = at(state, layout.thread.frames)?;
    let mut frame = match layout.links {
        Links::Objects | Links::ObjectsBeside { .. } | Links::Frames => first,
        Links::Evaluations { frame, .. } | Links::ThroughEvaluation { frame } => at(first, frame)?,
    };
    if layout.frame.owner != 0 {
        for _ in 0..2 {
            let owner = memory.byte(frame.checked_add(layout.frame.owner.into())?)?;
            if owner < OWNED_BY_STACK {
                break;
            }
            frame = memory.word(frame.checked_add(layout.frame.words.previous.into())?)?;
        }
    }
    let code = memory.word(frame.checked_add(layout.frame.words.code.into())?)? & !7;
    Some(ScriptFrame { frame, code, instruction: 0 })
}

/// The version of the interpreter that was recognised.
#[cold]
fn version(memory: &mut KnownMemory) -> Version<Layout> {
    if PYTHON.is_found() { Version::of(layout(memory)) } else { Version::Unknown }
}

/// The layout of the interpreter that was recognised.
#[cold]
fn layout(memory: &mut KnownMemory) -> Option<Layout> {
    use landmarks::Python::{CodeType, Evaluation, Runtime, Since38, Since39, Since310, Version};
    let runtime = address(Runtime);
    if address(CodeType) == 0 {
        return None;
    }
    let version = match address(Version) {
        0 => None,
        // `PY_VERSION_HEX`.
        at => Some(memory.word(at)?),
    };
    let minor = match version {
        Some(version) if version >> 24 == 3 => (version >> 16 & 0xFF) as u32,
        Some(_) => return None,
        None if address(Since310) != 0 => 10,
        None if address(Since39) != 0 => 9,
        None if address(Since38) != 0 => 8,
        None => return None,
    };
    if minor < 13 {
        return layout::of_minor(minor).filter(|_| address(Evaluation) != 0);
    }
    let table = core::cell::RefCell::new(memory);
    debug_offsets::layout(|index| {
        let at = runtime.checked_add(index.checked_mul(8)?)?;
        table.try_borrow_mut().ok()?.word(at)
    })
}

/// The state that holds the lock, in versions where that matters; else 0.
#[inline(always)]
fn holder(layout: &Layout, memory: &mut KnownMemory) -> u64 {
    let runtime = address(landmarks::Python::Runtime);
    if layout.holder == 0 { 0 } else { memory.word(runtime.wrapping_add(layout.holder.into())).unwrap_or(0) }
}

fn address(of: landmarks::Python) -> u64 {
    PYTHON.address(of as usize)
}
