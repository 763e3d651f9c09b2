//! Perl's frames.
//!
//! ```text
//!  state of this thread → innermost stack: │ main │ block │ sub │ loop │ sub │ ← one context for each, side by side
//!                         │ previous stack (of a sort, a destructor, …)
//!                         └──► …
//!  position ──────────────────────────────────────────────────────────────────► that of the innermost sub; each context
//!                                                                               has the one of its caller
//! ```
//!
//! A *position* is a `COP`, which has line and file. Contexts of blocks and loops are no frames. Nor are functions of C:
//! they are on the native stack.
//!
//! Evaluations are native frames of `Perl_runops_standard`. One begins with a sub that returns nowhere, since C has called
//! it, and with an `eval` for which Perl has set a place to return to by `longjmp`.
//!
//! Perl with threads has its state in a block of its own, under a key of thread-specific data that a variable has.
//! Otherwise variables have it, which any thread can read: they are this thread's if the place to return to by `longjmp`
//! is on this stack.

mod function;
mod layout;

use crate::interpreters::chain::{Chain, ScriptFrame};
use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::language::{BEGINS, Evaluations};
use crate::interpreters::sites::Sites;
use crate::interpreters::thread_key::{is_on_stack, this_thread, value};
use crate::interpreters::version::Version;
use crate::interpreters::{Place, mix};
use crate::modules::landmarks::{self, PERL};
use function::Kind;
use layout::{Layout, OPERATION, context, environment, operation, position, stack};

/// Most stacks within each other that are read.
const MOST_STACKS: usize = 256;
/// Most contexts of all of them.
const MOST_CONTEXTS: usize = 1 << 16;

/// What a thread knows of its interpreter. Zeroed memory is a thread that has not looked.
pub(crate) struct Perl {
    version: Version<Known>,
    /// What `pthread_self` returns.
    id: u64,
}

/// What is known of a version.
#[derive(Clone, Copy, Debug)]
struct Known {
    layout: Layout,
    has_threads: bool,
}

/// Where a thread's state is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// The innermost stack, the position, and the operation that is executed.
    stack: u64,
    position: u64,
    operation: u64,
    /// The program's phase.
    phase: u32,
}

impl Perl {
    /// Another thread, or another recording, begins.
    pub(crate) fn begin(&mut self) {
        *self = Self { version: Version::Unknown, id: this_thread() };
    }

    /// The interpreter's state of this thread; `None` if it runs nothing.
    #[inline(always)]
    pub(crate) fn state(&mut self, memory: &mut KnownMemory) -> Option<State> {
        let Known { layout, has_threads } = self.version.layout(|| version(memory))?;
        let (stack, position, operation, phase) = if has_threads {
            // The number is 0 until there is an interpreter.
            if memory.word(address(landmarks::Perl::Interpreter))? == 0 {
                return None;
            }
            let state = value(memory.number(address(landmarks::Perl::Key))?);
            if state == 0 {
                return None;
            }
            let at = |offset: u16| state.checked_add(offset.into());
            let stack = memory.word(at(layout.stack)?)?;
            let (position, operation) = (memory.word(at(layout.position)?)?, memory.word(at(OPERATION)?)?);
            (stack, position, operation, memory.number(at(layout.phase)?)?)
        } else {
            let environment = memory.word(address(landmarks::Perl::Environment))?;
            if !is_on_stack(environment, self.id) {
                return None;
            }
            let stack = memory.word(address(landmarks::Perl::Stack))?;
            let position = memory.word(address(landmarks::Perl::Position))?;
            let operation = memory.word(address(landmarks::Perl::Operation))?;
            (stack, position, operation, memory.number(address(landmarks::Perl::Phase))?)
        };
        // It has none before it is made, and while it is copied for another thread.
        let is_made = stack != 0 && memory.word(stack.checked_add(stack::CONTEXTS)?)? != 0;
        is_made.then_some(State { stack, position, operation, phase })
    }

    /// Reads all frames, and says whether there are more, further out; `None` if they are not what they should be.
    pub(crate) fn read(&self, state: State, chain: &mut Chain, memory: &mut KnownMemory) -> Option<bool> {
        let Known { layout, .. } = *self.version.known()?;
        let State { position, operation, .. } = state;
        let mut walk = Walk { layout, chain, memory, position, operation, eval: None };
        if is_on_stack(position, self.id) {
            // Constants are computed while code is compiled.
            walk.part(0, BEGINS)?;
        }
        let mut info = state.stack;
        let mut left = MOST_CONTEXTS;
        for _ in 0..MOST_STACKS {
            let contexts = walk.memory.word(info.checked_add(stack::CONTEXTS)?)?;
            let last = walk.memory.number(info.checked_add(stack::LAST)?)?.cast_signed();
            let most = walk.memory.number(info.checked_add(stack::MOST)?)?.cast_signed();
            if last >= most {
                // While they are moved to a larger place, they are still said to be at the old one.
                return None;
            }
            for index in (0..=i64::from(last)).rev() {
                left = left.checked_sub(1)?;
                let at =
                    contexts.checked_add(u64::from(layout.context).checked_mul(index.cast_unsigned())?)?;
                let outer = if index == 0 { None } else { at.checked_sub(layout.context.into()) };
                if walk.context(at, outer)? == Step::Full {
                    return Some(true);
                }
            }
            info = walk.memory.word(info.checked_add(stack::PREVIOUS)?)?;
            if info == 0 {
                return walk.end(state.phase);
            }
        }
        None
    }

    /// The id of the place at which a frame is, 0 if it is to be left out; `None` if it is none.
    #[inline(always)]
    pub(crate) fn site(
        &self,
        frame: &ScriptFrame,
        code: u64,
        memory: &mut KnownMemory,
        sites: &mut Sites,
        id: &mut impl FnMut(Place) -> u32,
    ) -> Option<u32> {
        let position = frame.code;
        if position == 0 {
            // It is a part of a function, or its position is just being freed.
            return Some(0);
        }
        let name = function::name_of(code, memory)?;
        let Known { layout, has_threads } = self.version.known()?;
        let [line, file, count] =
            memory.words(position, [position::LINE_WORD, position::FILE, position::COUNT])?;
        // Code that is compiled later has a higher count, so that of freed code is not taken for it.
        let identity = mix(mix(line, file), mix(count, name));
        sites.pc(frame, identity, || {
            let place = function::place(frame, [code, name], *has_threads, layout, memory)?;
            Some(id(place))
        })
    }
}

/// Which native frames run the frames.
pub(crate) fn evaluations<'a>() -> Evaluations<'a> {
    let start = address(landmarks::Perl::Evaluation);
    let size = PERL.size(landmarks::Perl::Evaluation as usize);
    Evaluations::CodeOfBeginnings(start..start.wrapping_add(size))
}

/// Reads frames one after another.
struct Walk<'a> {
    layout: Layout,
    chain: &'a mut Chain,
    memory: &'a mut KnownMemory,
    /// Where the frame is that is read next.
    position: u64,
    /// The operation that it executes; plus one, the operation behind that.
    operation: u64,
    /// The last `eval`: its number, and its place to return to.
    eval: Option<(usize, u64)>,
}

/// What became of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Done,
    /// There is no room for more frames.
    Full,
}

impl Walk<'_> {
    #[inline(always)]
    fn context(&mut self, at: u64, outer: Option<u64>) -> Option<Step> {
        let first = self.memory.word(at)?;
        match first as u8 & context::KIND {
            _ if is_bare(first) => self.part(at, BEGINS),
            context::SUB | context::FORMAT => self.sub(at, first, outer),
            context::EVAL => self.eval(at, first),
            _ => Some(Step::Done),
        }
    }

    /// A sub, or a format.
    #[inline(always)]
    fn sub(&mut self, at: u64, first: u64, outer: Option<u64>) -> Option<Step> {
        let [caller, returns_to, code] =
            self.memory.words(at, [context::POSITION, context::RETURNS_TO, self.layout.code])?;
        if self.is_innermost(caller) {
            let is_called = |operation: u64, memory: &mut KnownMemory| {
                Some(operation != 0 && memory.word(operation.checked_add(operation::NEXT)?)? == returns_to)
            };
            if first as u8 & context::IS_RUN_BY_C != 0 || is_called(self.operation, self.memory)? {
                // It is just being called, and runs nothing yet.
                return Some(Step::Done);
            }
        }
        let mut place = 0;
        if returns_to == 0 {
            // Behind the last operation of bare code there is none, either.
            let is_called_by_bare_code = match outer {
                Some(outer) => is_bare(self.memory.word(outer)?),
                None => false,
            };
            place = if is_called_by_bare_code { 0 } else { BEGINS };
        }
        Some(self.take(at, [caller, returns_to], code, place))
    }

    /// A block, a text or a file that is evaluated.
    fn eval(&mut self, at: u64, first: u64) -> Option<Step> {
        let number = self.chain.count();
        let Layout { environment, evaluated, .. } = self.layout;
        let words = [context::POSITION, context::RETURNS_TO, evaluated, environment];
        let [caller, returns_to, code, environment] = self.memory.words(at, words)?;
        let is_block = first as u8 & context::IS_BLOCK != 0;
        if !is_block && self.is_innermost(caller) {
            // It is just being made: the rest of it is not set.
            return Some(Step::Done);
        }
        self.end_of_eval(environment, is_block && returns_to == 0)?;
        if is_block {
            self.eval = Some((number, environment));
            return self.part(at, 0);
        }
        // While it is compiled, nothing runs it.
        let is_run = code != 0 && function::depth(code, self.memory)? != 0;
        self.eval = is_run.then_some((number, environment));
        let operation = (first >> 16) as u16 >> context::OPERATION_SHIFT;
        let kind = if operation == self.layout.eval { Kind::Text } else { Kind::File };
        Some(self.take(at, [caller, returns_to], kind as u64, 0))
    }

    /// True if no frame was taken so far, and the position is still that of its caller.
    #[inline(always)]
    fn is_innermost(&self, caller: u64) -> bool {
        self.operation & function::IS_BEHIND == 0 && caller == self.position
    }

    /// What is a part of its function. But an evaluation may begin with it.
    fn part(&mut self, at: u64, place: u64) -> Option<Step> {
        let is_room = self.chain.taken(ScriptFrame { frame: at, ..ScriptFrame::default() }, 0, place);
        Some(if is_room { Step::Done } else { Step::Full })
    }

    /// Whether an evaluation begins with the last `eval`, now that it is known where the one around it returns to, which may
    /// be one that stands for a call from C.
    fn end_of_eval(&mut self, outer: u64, is_of_call: bool) -> Option<()> {
        let Some((number, own)) = self.eval.filter(|(_, own)| *own != outer && *own != 0) else {
            return Some(());
        };
        let mut before = |one: u64| self.memory.word(one.checked_add(environment::PREVIOUS)?);
        let previous = before(own)?;
        // The first of all is the interpreter's own, behind which is that of the program.
        if previous == 0 || before(previous)? == 0 {
            return Some(());
        }
        // That call has set it for all that it runs.
        if is_of_call && previous == outer {
            return Some(());
        }
        // It was set because the one before must not be returned to from here.
        if self.memory.byte(previous.checked_add(environment::CATCHES)?)? != 0 {
            self.chain.place_one(number, BEGINS);
        }
        Some(())
    }

    #[inline(always)]
    fn take(&mut self, at: u64, [caller, returns_to]: [u64; 2], code: u64, place: u64) -> Step {
        let frame = ScriptFrame { frame: at, code: self.position, instruction: self.operation };
        (self.position, self.operation) = (caller, returns_to | function::IS_BEHIND);
        if self.chain.taken(frame, code, place) { Step::Done } else { Step::Full }
    }

    /// What runs outside of functions, and the end.
    fn end(mut self, phase: u32) -> Option<bool> {
        self.end_of_eval(0, false)?;
        let number = self.chain.count();
        if self.take(0, [0; 2], Kind::Main as u64, BEGINS) == Step::Full {
            return Some(true);
        }
        // While it is compiled, and at the end, nothing runs it: it stands before the first block that is run then.
        if phase != layout::RUNS && !self.chain.move_beginning(number) {
            self.chain.take();
        }
        Some(false)
    }
}

/// True for the first word of a context of code that is not a function's, and that C runs: the block by which a sort
/// compares, and code in a pattern, whose function has a context of its own, further out.
#[inline(always)]
fn is_bare(first: u64) -> bool {
    let kind = first as u8;
    kind & context::KIND == context::COMPARISON
        || (kind & context::KIND == context::SUB && kind & context::IS_PATTERN != 0)
}

/// The version of the interpreter that was recognised.
#[cold]
fn version(memory: &mut KnownMemory) -> Version<Known> {
    if !PERL.is_found() {
        return Version::Unknown;
    }
    let is_there = |of: landmarks::Perl| address(of) != 0;
    let has_threads = is_there(landmarks::Perl::Key) && is_there(landmarks::Perl::Interpreter);
    let has_variables = is_there(landmarks::Perl::Stack)
        && is_there(landmarks::Perl::Position)
        && is_there(landmarks::Perl::Operation)
        && is_there(landmarks::Perl::Phase)
        && is_there(landmarks::Perl::Environment);
    let minor = memory.byte(address(landmarks::Perl::Version));
    let layout = minor.and_then(layout::of_minor).filter(|_| has_threads || has_variables);
    Version::of(layout.map(|layout| Known { layout, has_threads }))
}

fn address(of: landmarks::Perl) -> u64 {
    PERL.address(of as usize)
}

#[cfg(test)]
mod tests;
