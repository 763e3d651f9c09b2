//! Frames of the interpreter of Java's virtual machine, `HotSpot`.
//!
//! The interpreter keeps frame pointers, but a method that it calls does not return behind a call: it pushes the
//! address of an *entry* for the type of the result itself. Each entry begins by taking the stack pointer from the
//! frame, through rbp, so it is known what it returns to.
//!
//! Compiled methods keep frame pointers only with `-XX:+PreserveFramePointer`. In the frame of one that does not, rbp
//! may still be that of the interpreter's frame below, which would be skipped. Then that rbp and a return address of
//! the method, or of one that has called it, lie in between, and the frame is not left:
//!
//! ```text
//!  compiled, sp ─► ┌────────────────────────┐      interpreter, sp ─► ┌────────────────────────┐
//!                  │ …                      │                         │ …                      │
//!                  │ this rbp               │                         │                        │
//!                  │ return: entry          │                         │                        │
//!                  ├────────────────────────┤                         │                        │
//!            rbp ─►│ caller's rbp           │                   rbp ─►│ caller's rbp           │
//!                  │ return: entry          │                         │ return: entry          │
//! ```

use crate::frame::Frame;
use crate::memory::Memory;
use crate::sections::Modules;

/// Most bytes between the stack pointer and rbp that are looked through.
const LARGEST_FRAME: u64 = 4096;

/// Most bytes between two entries: the whole interpreter has less.
const LARGEST_INTERPRETER: u64 = 1 << 20;

/// Whether `returns`, found through the frame's rbp, is an entry, and rbp is the frame's own.
pub(crate) fn returns_from(
    frame: &Frame,
    returns: u64,
    memory: &mut impl Memory,
    modules: &impl Modules,
) -> bool {
    if !cfg!(target_arch = "x86_64") || !is_entry(returns, modules) {
        return false;
    }
    let (sp, bp) = (frame.sp(), frame.bp());
    let length = bp.wrapping_sub(sp);
    if !sp.is_multiple_of(8) || length > LARGEST_FRAME {
        return false;
    }
    let mut before = None;
    (0..length).step_by(8).all(|offset| {
        let Some(word) = memory.read(sp.wrapping_add(offset)) else { return false };
        let is_near = word.abs_diff(returns) < LARGEST_INTERPRETER;
        before.replace(word) != Some(bp) || !is_near || !is_entry(word, modules)
    })
}

/// Whether the interpreter goes on here with a method's result: mov -0x10(%rbp),%rsp; movq $0,-0x10(%rbp), and since
/// version 21 mov -0x10(%rbp),%rcx; lea 0(%rbp,%rcx,8),%rsp; movq …
fn is_entry(address: u64, modules: &impl Modules) -> bool {
    const UNTIL_20: &[u8] = b"\x48\x8b\x65\xf0\x48\xc7\x45\xf0\0\0\0\0";
    const SINCE_21: &[u8] = b"\x48\x8b\x4d\xf0\x48\x8d\x64\xcd\0\x48\xc7\x45\xf0";
    modules.code(address).is_some_and(|code| code.starts_with(UNTIL_20) || code.starts_with(SINCE_21))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
