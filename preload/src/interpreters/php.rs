//! PHP's frames.
//!
//! ```text
//!  globals of this thread → innermost frame → its caller → …
//!                           function │ instruction │ how it was called
//! ```
//!
//! Functions of the interpreter and of extensions have a frame, too, which is left out: they are on the native stack.
//! How a frame was called says whether an evaluation begins with it. Evaluations are native frames of `execute_ex`.
//!
//! PHP with threads keeps the globals in a block of the thread's, which it has under a key of thread-specific data.
//! Otherwise they are a variable, which any thread can read: they are this thread's if the place to which PHP would
//! leave the script by `longjmp` is on this stack.

mod function;
mod layout;

use crate::interpreters::Place;
use crate::interpreters::chain::{Chain, FrameWords, Pushed, ScriptFrame};
use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::language::{BEGINS, Evaluations, Language, Read};
use crate::interpreters::mix;
use crate::interpreters::thread_key::{ThreadKey, is_on_stack, this_thread};
use crate::interpreters::version::Version;
use crate::modules::landmarks::{self, PHP};
use layout::{
    BAILOUT, CALL, CLASS_OF, CURRENT, ENTRIES, FRAME, HAS_THREADS, INTERFACE, Layout, OBJECT, PAGE_END,
    STACK, STACK_END, STACK_TOP, USED,
};
use unwind::SavedWord;

/// An evaluation begins with the frame, by how it was called.
const BEGINS_EVALUATION: u64 = 1 << 17;
/// It is a generator's.
const OF_GENERATOR: u64 = 1 << 24;
/// The type of a value that is an object.
const IS_OBJECT: u8 = 8;
/// Most generators that wait for each other.
const MOST_GENERATORS: usize = 128;

/// The key that has the blocks, with threads.
static KEY: ThreadKey = ThreadKey::unknown();

/// What a thread knows of its interpreter. Zeroed memory is a thread that has not looked.
pub(crate) struct Php {
    version: Version<Known>,
    /// What `pthread_self` returns.
    id: u64,
    /// The globals whose frames were read last; 0 if none were.
    globals: u64,
    /// The value of the key that had led to them; 0 without threads.
    block: u64,
    /// Number of stacks without a block.
    misses: u32,
}

/// What is known of a version.
#[derive(Clone, Copy, Debug)]
struct Known {
    layout: Layout,
    has_threads: bool,
}

impl Language for Php {
    fn begin(&mut self) {
        *self = Self { version: Version::Unknown, id: this_thread(), globals: 0, block: 0, misses: 0 };
    }

    #[inline(always)]
    fn words(&self) -> FrameWords {
        FRAME
    }

    #[inline(always)]
    fn is_last(&self) -> bool {
        // Without threads, what says that they are this thread's is among the words that are compared.
        self.globals != 0 && (self.block == 0 || KEY.value() == self.block)
    }

    #[inline(always)]
    fn state(&mut self, memory: &mut KnownMemory) -> Option<u64> {
        let known = self.version.layout(|| version(memory))?;
        if known.has_threads {
            return self.own_globals(memory);
        }
        let globals = address(landmarks::Php::Globals);
        let bailout = memory.word(globals.checked_add(BAILOUT)?)?;
        is_on_stack(bailout, self.id).then_some(globals)
    }

    #[inline(never)]
    fn read(&mut self, globals: u64, chain: &mut Chain, memory: &mut KnownMemory) -> Option<Read> {
        self.globals = globals;
        chain.read();
        if self.block == 0 {
            chain.root(globals.checked_add(BAILOUT)?, memory)?;
        }
        // Last, so that the innermost frame may be another one when everything before is as it was.
        let innermost = chain.root(globals.checked_add(CURRENT)?, memory)?;
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
        let Known { layout, .. } = self.version.known()?;
        // One that stands for others has no function.
        if frame.code == 0 { Some(0) } else { function::identity(frame.code, layout, memory, note) }
    }

    #[inline(always)]
    fn full_identity(&self, frame: &ScriptFrame, identity: u64, memory: &mut KnownMemory) -> u64 {
        let Some(Known { layout, .. }) = self.version.known() else { return 0 };
        // Evaluated code may have got the place of other code of the same name, with other instructions.
        match identity {
            0 => 0,
            identity => mix(identity, function::line(frame, layout, memory).unwrap_or(0).into()),
        }
    }

    fn place(&self, frame: &ScriptFrame, memory: &mut KnownMemory) -> Option<Place> {
        let Known { layout, .. } = self.version.known()?;
        if frame.code == 0 || !function::is_of_script(frame.code, memory)? {
            return Some(Place { function: 0, line: 0 });
        }
        function::place(frame, layout, memory)
    }

    fn evaluations(&mut self, _chain: &Chain, _memory: &mut KnownMemory) -> Evaluations<'_> {
        let start = address(landmarks::Php::Evaluation);
        let size = PHP.size(landmarks::Php::Evaluation as usize);
        Evaluations::CodeOfBeginnings(start..start.wrapping_add(size))
    }
}

impl Php {
    /// The globals of this thread, of a PHP with threads; `None` if it has none.
    fn own_globals(&mut self, memory: &mut KnownMemory) -> Option<u64> {
        let offset = memory.word(address(landmarks::Php::GlobalsOffset))?;
        let value = KEY.value();
        self.block = if value != 0 && value == self.block {
            value
        } else {
            let mut is_it = |block: u64| have_stack(block.wrapping_add(offset), memory) == Some(true);
            if value != 0 && is_it(value) { value } else { KEY.search(&mut self.misses, is_it)? }
        };
        self.block.checked_add(offset)
    }

    #[inline(always)]
    fn read_on(&self, innermost: u64, chain: &mut Chain, memory: &mut KnownMemory) -> Option<Read> {
        let Known { layout, .. } = self.version.known()?;
        let read = Walk { layout, chain, memory }.frames(innermost)?;
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
    /// A known frame.
    Met,
    /// Frames; the caller of the outermost has this address.
    To(u64),
    /// There is no room for more frames.
    Full,
}

impl Walk<'_> {
    #[inline(never)]
    fn frames(mut self, mut frame: u64) -> Option<Read> {
        while frame != 0 {
            let step = match self.word(frame, FRAME.code.into())? {
                0 => self.placeholder(frame)?,
                function => self.step(frame, function)?,
            };
            match step {
                Step::Met => break,
                Step::To(previous) => frame = previous,
                Step::Full => return Some(Read::Cut),
            }
        }
        Some(Read::All)
    }

    fn word(&mut self, base: u64, offset: u64) -> Option<u64> {
        self.memory.word(base.checked_add(offset)?)
    }

    /// A frame that runs, or has called another.
    #[inline(always)]
    fn step(&mut self, frame: u64, function: u64) -> Option<Step> {
        // That of a generator may be known as one that waits, which has other callers.
        let is_of_generator = self.word(frame, CALL)? & OF_GENERATOR != 0;
        let place = if is_of_generator { BEGINS } else { 0 };
        if self.chain.meet(frame, place, FRAME).is_some() {
            return Some(Step::Met);
        }
        let Pushed::To(previous) = self.chain.push(frame, 0, FRAME, self.memory)? else {
            return Some(Step::Full);
        };
        let call = self.chain.word(frame.checked_add(CALL)?, self.memory)?;
        if call & BEGINS_EVALUATION != 0 && function::is_of_script(function, self.memory)? {
            self.chain.place(self.chain.count().saturating_sub(1), BEGINS);
        }
        Some(Step::To(previous))
    }

    /// A frame without a function. It may be a generator's, which stands for the frames of that generator and of
    /// those that wait between it and the one that runs (`yield from`): these have its address for their place. They are
    /// read before it, so that all words that lead to them are compared before they are.
    #[cold]
    #[inline(never)]
    fn placeholder(&mut self, frame: u64) -> Option<Step> {
        let Layout { execution, source, .. } = *self.layout;
        let mut waiting = [0; MOST_GENERATORS];
        let mut count = 0;
        let first = self.generator_of(frame)?;
        let mut generator = first.unwrap_or(0);
        while generator != 0 {
            let next = self.word(generator, source.into())?;
            if next != 0 {
                let Some(place) = waiting.get_mut(count) else { return Some(Step::Full) };
                (*place, count) = (generator, count.saturating_add(1));
            }
            generator = next;
        }
        let waiting = waiting.get(..count).unwrap_or(&[]);
        let innermost = match waiting.last() {
            Some(generator) => self.word(*generator, execution.into())?,
            None => frame,
        };
        let place = if innermost == frame { 0 } else { frame };
        if self.chain.meet(innermost, place, FRAME).is_some() {
            return Some(Step::Met);
        }
        for generator in waiting.iter().rev() {
            let execution = self.word(*generator, execution.into())?;
            if let Pushed::Full = self.chain.push(execution, frame, FRAME, self.memory)? {
                return Some(Step::Full);
            }
        }
        let Pushed::To(previous) = self.chain.push(frame, 0, FRAME, self.memory)? else {
            return Some(Step::Full);
        };
        for generator in first.iter().filter(|_| waiting.is_empty()).chain(waiting) {
            self.chain.word(generator.checked_add(source.into())?, self.memory)?;
            self.chain.word(generator.checked_add(execution.into())?, self.memory)?;
        }
        Some(Step::To(previous))
    }

    /// The generator whose frame this is, if it is one without a function.
    fn generator_of(&mut self, frame: u64) -> Option<Option<u64>> {
        if self.memory.byte(frame.checked_add(CALL)?)? != IS_OBJECT {
            return Some(None);
        }
        let object = self.word(frame, OBJECT)?;
        let class = self.word(object, CLASS_OF)?;
        let generators = self.memory.word(address(landmarks::Php::Generators))?;
        Some((class == generators).then_some(object))
    }
}

/// True for globals with a stack of frames, which itself says where it ends.
fn have_stack(globals: u64, memory: &mut KnownMemory) -> Option<bool> {
    let mut word = |base: u64, offset: u64| memory.word(base.checked_add(offset)?);
    let stack = word(globals, STACK)?;
    let (top, end) = (word(globals, STACK_TOP)?, word(globals, STACK_END)?);
    Some(stack < top && top <= end && word(stack, PAGE_END)? == end)
}

/// The version of the interpreter that was recognised: that for which the first of its extensions was built, which is
/// the interpreter itself.
#[cold]
fn version(memory: &mut KnownMemory) -> Version<Known> {
    if !PHP.is_found() {
        return Version::Unknown;
    }
    let table = address(landmarks::Php::Extensions);
    let mut first = || {
        if memory.number(table.checked_add(USED)?)? == 0 {
            return None;
        }
        let entries = memory.word(table.checked_add(ENTRIES)?)?;
        let extension = memory.word(entries)?;
        let interface = memory.number(extension.checked_add(INTERFACE)?)?;
        Some((interface, memory.byte(extension.checked_add(HAS_THREADS)?)? != 0))
    };
    // It has not registered itself yet.
    let Some((interface, has_threads)) = first() else { return Version::Unknown };
    let globals = if has_threads { landmarks::Php::GlobalsOffset } else { landmarks::Php::Globals };
    let layout = layout::of_interface(interface).filter(|_| address(globals) != 0);
    Version::of(layout.map(|layout| Known { layout, has_threads }))
}

fn address(of: landmarks::Php) -> u64 {
    PHP.address(of as usize)
}
