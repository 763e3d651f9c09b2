//! Stacks of other processes, from a copy of their registers and of the newest bytes of their stacks.
//!
//! ```text
//!   sp ─► ┌───────────────────────────┐ stack[0]
//!         │ copied                    │
//!         ├───────────────────────────┤ sp + stack.len()
//!         │ not copied: a walk that   │
//!         │ needs it is *truncated*   │
//! ```
//!
//! On 64-bit ARM a leaf function has its return address only in the link register, which is copied, too. A walk finds
//! it like the registers of a frame that a signal interrupted: in a signal frame, here at an address where nothing is
//! mapped.
//!
//! Below the stack pointer nothing is copied, but a table may say that the caller's rbp is there: at the end of a
//! function, where the register has it again, or in a leaf function that keeps it in the red zone, where it is unknown.
//!
//! The steps are those of [`walk()`](crate::walk()). What differs is where things are: stack words in the copy,
//! tables and code in files. And the rules of a module are cached by its own addresses, so that all processes that
//! map it share them.

use crate::address::CodeAddress;
use crate::arch::{self, SignalContext};
use crate::cache::SharedRules;
use crate::cfi::Scratch;
use crate::end::End;
use crate::epilogue;
use crate::frame::Frame;
use crate::memory::Memory;
use crate::registers::Registers;
use crate::rule::{Kind, Rule};
use crate::rules::Rules;
use crate::rules::{Learned, evaluate, learn};
use crate::sections::Modules;
use crate::walk::step;

/// What was copied from a thread when it was sampled.
#[derive(Clone, Copy, Debug)]
pub struct StackSample<'a> {
    /// Its registers; the address is that of an instruction, [`CodeAddress::Exact`].
    pub registers: Registers,
    /// Its x30, if calls leave the return address there; `None` on x86-64, or if it was not copied.
    pub link: Option<u64>,
    /// The bytes of its stack from the stack pointer upwards, as many as were copied.
    pub stack: &'a [u8],
    /// Most frames that are visited.
    pub max_depth: usize,
}

/// The modules of a sampled process.
pub trait SampledModules: Modules {
    /// The cached rules for the module that contains `address`, by the module's own addresses, and its bias: what to
    /// subtract from an address in the process to get one in the module. `None` if nothing is cached.
    fn cached_rules(&self, address: u64) -> Option<(SharedRules<'_>, u64)>;
}

/// Visits the frames of a sampled stack, innermost first, and returns how it ends. A stack that continues beyond the
/// copy is [`End::Truncated`].
///
/// Bytes and registers may be anything: each read is bounded by the copy, and the number of frames by `max_depth`.
///
/// Cost: 20 ns for a frame whose rule is cached, half a microsecond for others.
pub fn unwind_sample(
    sample: &StackSample<'_>,
    modules: &impl SampledModules,
    scratch: &mut Scratch,
    mut visit: impl FnMut(Frame),
) -> End {
    let start = sample.registers;
    if start.ip == CodeAddress::Return(0) {
        return End::Broken;
    }
    let link = sample.link.filter(|_| !arch::PUSHES_RETURN_ADDRESS);
    let mut memory = Copied { start: start.sp, stack: sample.stack, link, below: None, is_beyond: false };
    let mut rules = SampleRules { modules, scratch, tag: 0 };
    let mut frame = Frame::sampled(start, link.and(REGISTERS));
    for depth in 0..sample.max_depth {
        let Some((rule, _)) = rules.rule(frame.code()) else { return End::Broken };
        visit(frame);
        memory.below = (depth == 0 && reads_below(rule)).then(|| callers_bp(start, modules));
        frame = match step(rule, frame, &mut memory, &mut rules) {
            Ok(caller) => caller,
            // Frame pointers that lead out of the copy are no proof that there is a caller, but a function's table
            // is.
            Err(End::Unreadable) if memory.is_beyond => return End::Truncated,
            Err(end) => return end,
        };
    }
    End::Truncated
}

/// No frame pointer: no word has an odd address, so a walk ends if it needs this one.
const UNKNOWN: u64 = 1;

/// Whether leaving a frame by `rule` may take the caller's rbp from below the stack pointer.
fn reads_below(rule: Rule) -> bool {
    arch::PUSHES_RETURN_ADDRESS
        && match rule.kind() {
            Some(Kind::SpSavesBp) => rule.cfa_offset().wrapping_add(rule.bp_offset()) < 0,
            Some(Kind::Slow) => true,
            _ => false,
        }
}

/// The caller's rbp if the table says that it was saved below the stack pointer.
fn callers_bp(start: Registers, modules: &impl Modules) -> u64 {
    if epilogue::frame_pointer::has_callers_bp(start.ip.address(), modules) { start.bp } else { UNKNOWN }
}

/// Where a walk finds the copied registers: in the kernel's half of addresses, where no program has a stack.
const NOWHERE: u64 = 1 << 63;
const REGISTERS: Option<SignalContext> = SignalContext::at(NOWHERE);

/// The words of a copied stack, and the link register where a signal frame would have it.
struct Copied<'a> {
    start: u64,
    stack: &'a [u8],
    link: Option<u64>,
    /// The caller's rbp for the frame that is left, where a word below the copy is said to hold it.
    below: Option<u64>,
    /// A word above the copy was needed.
    is_beyond: bool,
}

impl Memory for Copied<'_> {
    fn read(&mut self, address: u64) -> Option<u64> {
        if self.link.is_some() && address >= NOWHERE {
            let slot = REGISTERS.and_then(|registers| registers.slot(arch::RETURN_ADDRESS));
            return self.link.filter(|_| slot == Some(address));
        }
        let Some(offset) = address.checked_sub(self.start) else { return self.below };
        let offset = usize::try_from(offset).ok()?;
        let word = self.stack.get(offset..).and_then(|rest| rest.first_chunk());
        self.is_beyond |= word.is_none();
        word.map(|bytes| u64::from_le_bytes(*bytes))
    }
}

/// The rules of a sampled process.
struct SampleRules<'a, M> {
    modules: &'a M,
    scratch: &'a mut Scratch,
    /// Not used.
    tag: u32,
}

impl<M: SampledModules> SampleRules<'_, M> {
    fn find(&mut self, address: CodeAddress) -> Option<Rule> {
        let Some((cached, bias)) = self.modules.cached_rules(address.lookup()) else {
            return learn(address, self.modules, self.scratch).map(Learned::rule);
        };
        let own = match address {
            CodeAddress::Return(address) => CodeAddress::Return(address.wrapping_sub(bias)),
            CodeAddress::Exact(address) => CodeAddress::Exact(address.wrapping_sub(bias)),
        };
        if let Some(rule) = cached.find(own) {
            return Some(rule);
        }
        let learned = learn(address, self.modules, self.scratch)?;
        // 0 is the key of a free slot.
        if let (Learned::Lasting(rule), true) = (&learned, own.to_bits() != 0) {
            cached.insert(own, *rule);
        }
        Some(learned.rule())
    }
}

impl<M: SampledModules> Rules for SampleRules<'_, M> {
    type Modules = M;

    fn rule(&mut self, address: CodeAddress) -> Option<(Rule, &mut u32)> {
        let rule = self.find(address)?;
        Some((rule, &mut self.tag))
    }

    fn evaluate(&mut self, frame: &Frame, memory: &mut impl Memory) -> Result<Frame, End> {
        evaluate(frame, memory, self.modules, self.scratch)
    }

    fn modules(&self) -> &M {
        self.modules
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests;
