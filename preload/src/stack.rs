//! The stack of a call, as one id of the stash.
//!
//! The caller's frames are walked from the innermost to the root and their pc ids noted; then they are entered into
//! the stash from the root inwards, since a node names its caller. The memo of the last stack, which will spare most
//! of both, belongs between the two halves.

use crate::modules::{self, Loaded};
use crate::process;
use crate::thread::ThreadState;
use core::sync::atomic::Ordering;
use shared_ring::pc_table::Pc;
use shared_ring::pseudo;
use shared_ring::stash::{Node, ROOT};
use unwind::{CachedRules, CodeAddress, End, Registers};

/// Registers of the code that called a hook.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    registers: Registers,
}

impl Caller {
    /// The caller of an exported function that was entered with the stack pointer `entry` and the frame pointer
    /// `bp`.
    ///
    /// # Safety
    /// `entry` points to the return address that the call pushed.
    #[inline(always)]
    pub(crate) unsafe fn of_entry(entry: *const u64, bp: u64) -> Self {
        // SAFETY: the caller vouches for it.
        let address = unsafe { entry.read() };
        Self {
            registers: Registers {
                ip: CodeAddress::Return(address),
                sp: entry.wrapping_add(1).addr() as u64,
                bp,
            },
        }
    }

    /// The code that this is called from: for hooks that are not entered through a shim. Their own frames are left
    /// out of the stack.
    #[inline(always)]
    pub(crate) fn here() -> Self {
        Self { registers: crate::arch::here() }
    }
}

impl ThreadState {
    /// The id of the stack of `caller`, under a frame for the `kind` of the call unless that is 0.
    pub(crate) fn stack(&mut self, caller: Caller, kind: u32) -> u32 {
        if self.generation != modules::generation() {
            self.generation = modules::generation();
            self.rules.clear();
        }
        let (count, end) = self.walk(caller);
        match self.intern(count, end, kind) {
            Some(stack) => stack,
            None => {
                if let Some(slot) = process::slot() {
                    slot.stash_full.fetch_add(1, Ordering::Relaxed);
                }
                self.node(ROOT, pseudo::STASH_FULL).unwrap_or(ROOT)
            }
        }
    }

    /// True when a signal handler has interrupted the next allocator and calls us: an interrupted frame lies between
    /// here and the hook that called the allocator. Its own calls have none there.
    #[cold]
    #[inline(never)]
    pub(crate) fn is_in_handler(&mut self) -> bool {
        let caller = Caller::here();
        self.reader.begin(caller.registers.sp);
        let mut rules = CachedRules::new(self.rules, modules::shared_rules(), &Loaded, self.scratch);
        let (mut has_left, mut is_over, mut is_interrupted) = (false, false, false);
        let _ = unwind::walk(caller.registers, &mut self.reader, &mut rules, NESTED, |address, _| {
            is_interrupted |= has_left && !is_over && matches!(address, CodeAddress::Exact(_));
            let is_own = modules::is_own(address.lookup());
            is_over |= is_own && has_left;
            has_left |= !is_own;
        });
        is_interrupted
    }

    /// Notes the pc ids of the caller's frames, innermost first: how many, and why they end.
    fn walk(&mut self, caller: Caller) -> (usize, Option<End>) {
        self.reader.begin(caller.registers.sp);
        let mut rules = CachedRules::new(self.rules, modules::shared_rules(), &Loaded, self.scratch);
        let (session, pcs, frames) = (&self.session, &mut self.pcs, &mut *self.frames);
        let (mut count, mut full) = (0, false);
        // Frames of the agent, which only hooks without a shim have, do not count.
        let limit = frames.len() + 8;
        let end = unwind::walk(caller.registers, &mut self.reader, &mut rules, limit, |address, tag| {
            if *tag == 0 {
                *tag = match pc_id(session, pcs, address) {
                    Some(id) => id,
                    None => {
                        full = true;
                        0
                    }
                };
            }
            if *tag > OWN {
                if let Some(frame) = frames.get_mut(count) {
                    *frame = *tag;
                }
                count += 1;
            }
        });
        let end = if count > frames.len() { End::Truncated } else { end };
        (count.min(frames.len()), (!full).then_some(end))
    }

    /// Enters the noted frames from the root inwards.
    fn intern(&mut self, count: usize, end: Option<End>, kind: u32) -> Option<u32> {
        let mut stack = match end? {
            End::Root => ROOT,
            End::Truncated => self.node(ROOT, pseudo::TRUNCATED)?,
            End::NoUnwindInfo => self.node(ROOT, pseudo::NO_UNWIND_INFO)?,
            End::Broken | End::Unreadable => self.node(ROOT, pseudo::BROKEN)?,
        };
        let stash = self.session.stash();
        for pc in self.frames.get(..count)?.iter().rev() {
            stack = stash.stack(Node { parent: stack, pc: *pc }, &mut self.nodes)?;
        }
        if kind == 0 { Some(stack) } else { self.node(stack, kind) }
    }

    fn node(&mut self, parent: u32, pc: u32) -> Option<u32> {
        self.session.stash().stack(Node { parent, pc }, &mut self.nodes)
    }
}

/// Most frames between a hook and one that it has interrupted.
const NESTED: usize = 256;

/// Tag of the agent's own code, below all ids of the pc table.
const OWN: u32 = 1;

/// The id of a code address, [`OWN`] for code of the agent.
#[cold]
#[inline(never)]
fn pc_id(
    session: &crate::process::Session,
    pcs: &mut shared_ring::intern::Batch,
    address: CodeAddress,
) -> Option<u32> {
    if modules::is_own(address.lookup()) {
        return Some(OWN);
    }
    let module = modules::serial(address.lookup());
    session.pcs().id(Pc { bits: address.to_bits(), module }, pcs)
}
