//! Where a walk gets its rules from.

use crate::address::CodeAddress;
use crate::cache::{RuleTable, SharedRules};
use crate::cfi::Scratch;
use crate::end::End;
use crate::frame::Frame;
use crate::memory::{Memory, word};
use crate::rule::{Kind, Rule};
use crate::sections::{Modules, Sections};
use crate::{arch, cfi, clone, epilogue, go};

/// The rules of all code of a process.
pub trait Rules {
    /// The modules that the rules are about.
    type Modules: Modules;

    /// How to leave a frame that executes at `address`, and the tag beside the rule; `None` if the address is not
    /// code.
    fn rule(&mut self, address: CodeAddress) -> Option<(Rule, &mut u32)>;

    /// Leaves a frame whose rule is [`Kind::Slow`](crate::Kind::Slow).
    ///
    /// # Errors
    ///
    /// Why the frame has no caller.
    fn evaluate(&mut self, frame: &Frame, memory: &mut impl Memory) -> Result<Frame, End>;

    /// The modules.
    fn modules(&self) -> &Self::Modules;
}

/// Rules from the tables of the modules, cached in two levels.
pub struct CachedRules<'a, M> {
    table: &'a mut RuleTable,
    shared: SharedRules<'a>,
    modules: &'a M,
    scratch: &'a mut Scratch,
    /// The tag of rules that are not cached.
    uncached: u32,
}

impl<'a, M: Modules> CachedRules<'a, M> {
    /// Rules of `modules`, cached in the thread's own `table` and in the `shared` one.
    pub fn new(
        table: &'a mut RuleTable,
        shared: SharedRules<'a>,
        modules: &'a M,
        scratch: &'a mut Scratch,
    ) -> Self {
        Self { table, shared, modules, scratch, uncached: 0 }
    }

    /// Forgets the thread's own copies. Necessary when modules were unloaded.
    pub fn clear(&mut self) {
        self.table.clear();
    }

    /// Finds a rule that the first level does not have.
    #[cold]
    #[inline(never)]
    fn fill(&mut self, address: CodeAddress) -> Option<(Rule, &mut u32)> {
        let rule = match self.shared.find(address) {
            Some(rule) => rule,
            None => match learn(address, self.modules, self.scratch)? {
                Learned::Lasting(rule) => {
                    self.shared.insert(address, rule);
                    rule
                }
                Learned::Passing(rule) => {
                    self.uncached = 0;
                    return Some((rule, &mut self.uncached));
                }
            },
        };
        let hit = self.table.insert(address, rule);
        Some((rule, self.table.tag(hit)?))
    }
}

/// Computes a rule; `None` if the address is not code.
///
/// Nearly all addresses have a row in their module's table. The others are asked one after the other:
///
/// | case | when | who meets it | test |
/// |---|---|---|---|
/// | [`is_trampoline`] | the code is that of a signal's return | handlers of signals | `arch`, `tests/in_process/signals` |
/// | [`Modules::begins_stack`] | has a row, which holds only until the function is switched away from | greenlets | end to end: `greenlets.py` |
/// | [`stub`] | no row, interrupted, in a PLT stub | CPU samples | `arch`, `tests/in_process/interrupted` |
/// | [`made_by_hand`] | no row, returns to the beginning of a function, or behind the jump of `make_fcontext` | coroutines: `makecontext`, Boost | end to end: `coroutine.c`, `coroutine_of_boost.c` |
/// | [`go::rule`] | no row, or no table: Go's runtime changes stacks there | C called by Go, and goroutines | `go/tests` |
/// | [`clone::rule`] | no row, behind the system call of `clone` or `clone3` | new threads and processes with glibc | `clone/tests` |
/// | [`leaf`] | no row or table, interrupted, the return address is in a register | CPU samples on 64-bit ARM | `arch/aarch64/leaf`, `sample/tests` |
/// | [`epilogue::rule_of_straight_code`] | no table, and the code only passes a call on | thunks made at run time | `epilogue/tests` |
/// | [`epilogue::rule`] | still none, in a library whose instructions are read ([`Modules::text`]) | C libraries built without tables, as musl's | `epilogue/tests` |
///
/// What none of them knows leaves its frame by `frame_pointer::step`, which has its own conditions (the outermost
/// frame, Java's interpreter: `hotspot`), or ends the walk. A new case belongs here if its code tells how to leave the
/// frame, and there if only the stack does.
#[inline(never)]
pub(crate) fn learn(address: CodeAddress, modules: &impl Modules, scratch: &mut Scratch) -> Option<Learned> {
    let lookup = address.lookup();
    let sections = modules.find(lookup);
    let rule = match sections {
        _ if is_trampoline(address, modules) => Rule::SIGNAL,
        Some(_) if modules.begins_stack(lookup) => Rule::END,
        Some(sections) => match cfi::rule(sections, address, scratch) {
            Rule::NO_INFORMATION => stub(address, modules)
                .or_else(|| made_by_hand(address, sections, modules, scratch))
                .or_else(|| go::rule(address, modules))
                .or_else(|| clone::rule(address, modules))
                .or_else(|| leaf(address, modules))
                .unwrap_or(Rule::NO_INFORMATION),
            rule => rule,
        },
        None => leaf(address, modules)
            .or_else(|| go::rule(address, modules))
            .or_else(|| epilogue::rule_of_straight_code(address, modules))
            .unwrap_or(Rule::NO_INFORMATION),
    };
    let text = if rule == Rule::NO_INFORMATION { modules.text(lookup) } else { None };
    let rule = text.and_then(|text| epilogue::rule(text, address)).unwrap_or(rule);
    // A row proves that its addresses are code. Without one, an address inside a module may still be data.
    if rule == Rule::NO_INFORMATION && !modules.is_code(lookup) {
        return None;
    }
    Some(if sections.is_none() && text.is_none() { Learned::Passing(rule) } else { Learned::Lasting(rule) })
}

/// Leaves a frame by its row, evaluated anew.
pub(crate) fn evaluate(
    frame: &Frame,
    memory: &mut impl Memory,
    modules: &impl Modules,
    scratch: &mut Scratch,
) -> Result<Frame, End> {
    let lookup = frame.code().lookup();
    match modules.find(lookup).and_then(|sections| cfi::row(sections, lookup, scratch)) {
        Some(row) => row.step(frame, memory),
        None if !arch::PUSHES_RETURN_ADDRESS => leave_by_register(frame, memory),
        None if matches!(frame.code(), CodeAddress::Exact(_)) => clone::step(frame, memory, modules, scratch),
        None => go::step(frame, memory, modules),
    }
}

/// Leaves an interrupted PLT stub or leaf function that has pushed nothing, where calls do not push either.
fn leave_by_register(frame: &Frame, memory: &mut impl Memory) -> Result<Frame, End> {
    let slot = frame.context().and_then(|context| context.slot(arch::RETURN_ADDRESS));
    let returns = word(memory, slot.ok_or(End::NoUnwindInfo)?)?;
    Frame::caller(arch::code_address(returns), frame.sp(), frame.bp())
}

/// The rule of a PLT stub without a table. Only an interrupted frame executes there: stubs call nothing.
fn stub(address: CodeAddress, modules: &impl Modules) -> Option<Rule> {
    let CodeAddress::Exact(ip) = address else { return None };
    let (before, at) = (modules.code(ip.checked_sub(16)?)?, modules.code(ip)?);
    Some(match arch::stub_offset(&before, &at)? {
        // Neither it nor a call has pushed anything: only its registers tell where it returns to.
        0 => Rule::SLOW,
        offset => Rule::new(Kind::Sp, offset, -8),
    })
}

/// The rule of a function without a table that has its return address only in a register. A frame that has called
/// another function does not.
fn leaf(address: CodeAddress, modules: &impl Modules) -> Option<Rule> {
    let CodeAddress::Exact(ip) = address else { return None };
    let read = |at| Some(u32::from_le_bytes(*modules.code(at)?.first_chunk()?));
    arch::returns_by_register(ip, read).then_some(Rule::SLOW)
}

/// The end of a stack whose outermost frame nobody called: `makecontext` makes that frame return to the beginning of
/// a function, and `make_fcontext` to the place after its own jump into that frame. A call leaves no such address,
/// since its return address follows the call.
fn made_by_hand(
    address: CodeAddress,
    sections: Sections<'_>,
    modules: &impl Modules,
    scratch: &mut Scratch,
) -> Option<Rule> {
    let CodeAddress::Return(ip) = address else { return None };
    let before = modules.code(ip.checked_sub(16)?)?;
    if arch::is_behind_a_first_jump(&before) {
        return Some(Rule::END);
    }
    let is_called = arch::call_before(ip, &before).is_some();
    // The byte before has no row.
    let is_beginning = cfi::rule(sections, CodeAddress::Exact(ip), scratch) != Rule::NO_INFORMATION;
    (is_beginning && !is_called).then_some(Rule::END)
}

/// Whether a signal handler returns to `address`. Checked before the tables: if the trampoline has none, the byte
/// before it belongs to another function.
fn is_trampoline(address: CodeAddress, modules: &impl Modules) -> bool {
    modules.code(address.address()).is_some_and(|code| arch::is_signal_trampoline(&code))
}

/// A rule, and how long it is valid.
pub(crate) enum Learned {
    /// As long as its module is loaded.
    Lasting(Rule),
    /// For this visit only: code outside of modules may be replaced at any time.
    Passing(Rule),
}

impl Learned {
    /// The rule, for callers that cache none.
    pub(crate) fn rule(self) -> Rule {
        match self {
            Learned::Lasting(rule) | Learned::Passing(rule) => rule,
        }
    }
}

impl<M: Modules> Rules for CachedRules<'_, M> {
    type Modules = M;

    #[inline(always)]
    fn rule(&mut self, address: CodeAddress) -> Option<(Rule, &mut u32)> {
        match self.table.find(address) {
            Some(hit) => Some((hit.rule, self.table.tag(hit)?)),
            None => self.fill(address),
        }
    }

    #[cold]
    #[inline(never)]
    fn evaluate(&mut self, frame: &Frame, memory: &mut impl Memory) -> Result<Frame, End> {
        evaluate(frame, memory, self.modules, self.scratch)
    }

    fn modules(&self) -> &M {
        self.modules
    }
}

// The made-up tables are those of x86-64.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
