//! The step when there is no table: along the chain of frame pointers.
//!
//! ```text
//!  bp ─► ┌────────────────┐
//!        │ caller's rbp   │
//!        ├────────────────┤
//!        │ return address │
//!        ├────────────────┤ ◄─ caller's sp = bp + 16
//! ```
//!
//! JIT-compiled code and libraries that were stripped of their tables usually keep this chain. But code that keeps
//! something else in rbp, or leaves an older frame's pointer there, looks the same at first. So a step is taken only
//! if everything about it is plausible:
//!
//! - The frame pointer is aligned and lies in this frame or above it, but not so far above that it must belong to
//!   another stack, as at the start of a coroutine, which inherits its creator's.
//! - 0 marks the outermost frame, by the convention of the ABI, as when glibc's dynamic loader calls constructors. It
//!   may also be any function's null pointer, so the stack must continue like that of a new process.
//! - The return address is code and follows a call instruction, or is one that Go writes for a goroutine's first
//!   function, or Java's interpreter for a method that it calls.
//! - If that call is direct, it does not lead to a function with a table: the frame of such a function could not be
//!   this one, so the pointer must be an older frame's, and following it would silently skip frames.
//! - The chain rises: the caller's frame pointer lies above ours. If the return address belongs to a module with
//!   tables, the caller's rbp may hold anything, since its table does not need a frame pointer.
//!
//! Where calls do not push the return address, the frame pointer does not tell the caller's sp, which its table
//! mostly needs: so walks end here on 64-bit ARM.
//!
//! framehop, which also has this fallback, cannot be used in a hook: its caches and module list need an allocator.
//! The tests use it as a second opinion.

use crate::address::CodeAddress;
use crate::arch::{self, Call};
use crate::end::End;
use crate::frame::Frame;
use crate::memory::Memory;
use crate::memory::word;
use crate::rule::Rule;
use crate::rules::Rules;
use crate::sections::Modules;
use crate::{go, hotspot};

/// Most bytes of a frame: the size of a whole stack by default.
const LARGEST_FRAME: u64 = 8 << 20;

/// A larger number is not taken for the number of arguments.
const MOST_ARGUMENTS: u64 = 1 << 16;

/// Leaves `frame` by its frame pointer, or ends with [`End::NoUnwindInfo`] if the register does not hold one.
#[cold]
pub(crate) fn step(frame: &Frame, memory: &mut impl Memory, rules: &mut impl Rules) -> Result<Frame, End> {
    let bp = frame.bp();
    match bp {
        _ if !arch::SUPPORTED => return Err(End::NoUnwindInfo),
        // Where instructions are read instead of tables there is no chain, and they gave no answer.
        _ if rules.modules().text(frame.code().lookup()).is_some() => return Err(End::NoUnwindInfo),
        0 if is_new_process(frame.sp(), memory) => return Err(End::Root),
        0 => return Err(End::NoUnwindInfo),
        _ if !arch::PUSHES_RETURN_ADDRESS => return Err(End::NoUnwindInfo),
        _ if bp < frame.sp() || bp.wrapping_sub(frame.sp()) > LARGEST_FRAME => return Err(End::NoUnwindInfo),
        _ => {}
    }
    let mut slot = |offset| word(memory, bp.wrapping_add(offset)).map_err(|_| End::NoUnwindInfo);
    let (caller_bp, returns, caller_sp) = (slot(0)?, slot(8)?, bp.wrapping_add(16));
    if returns != 0 && !go::is_exit(returns, rules.modules()) {
        let code = CodeAddress::Return(returns).lookup();
        let rises = caller_sp > bp && (caller_bp > bp || rules.modules().find(code).is_some());
        if !(rises && rules.modules().is_code(code))
            || !(follows_a_call(returns, rules)
                || hotspot::returns_from(frame, returns, memory, rules.modules()))
        {
            return Err(End::NoUnwindInfo);
        }
    }
    Frame::caller(returns, caller_sp, caller_bp)
}

/// Whether a stack continues like that of a new process: the number of arguments, pointers to them, which lie above,
/// and a null pointer.
fn is_new_process(sp: u64, memory: &mut impl Memory) -> bool {
    // Older dynamic loaders may have aligned the stack meanwhile.
    [sp, sp.wrapping_add(8)].into_iter().any(|start| {
        let mut slot = |index: u64| word(memory, start.wrapping_add(index.wrapping_mul(8))).ok();
        let is_above = |argument: u64| argument > start && argument.wrapping_sub(start) < LARGEST_FRAME;
        slot(0).is_some_and(|count| {
            (1..MOST_ARGUMENTS).contains(&count)
                && slot(1).is_some_and(is_above)
                && slot(count).is_some_and(is_above)
                && slot(count.wrapping_add(1)) == Some(0)
        })
    })
}

/// Whether the code before `returns` may be the call that created a frame without a table. True if it cannot be read.
fn follows_a_call(returns: u64, rules: &mut impl Rules) -> bool {
    let Some(before) = rules.modules().code_before(returns) else { return true };
    match arch::call_before(returns, &before) {
        Some(Call::Direct(target)) => {
            let Some((rule, _)) = rules.rule(CodeAddress::Exact(target)) else { return false };
            // A PLT stub may lead anywhere, whether it has a table of its own or not.
            rule == Rule::NO_INFORMATION || is_stub(target, rules.modules())
        }
        Some(Call::Indirect) => true,
        None => false,
    }
}

fn is_stub(address: u64, modules: &impl Modules) -> bool {
    match (modules.code(address.wrapping_sub(16)), modules.code(address)) {
        (Some(before), Some(at)) => arch::stub_offset(&before, &at).is_some(),
        _ => false,
    }
}

// The made-up tables are those of x86-64.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
