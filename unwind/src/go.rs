//! Frames of Go's runtime that change stacks. Go has no tables in memory; its functions keep frame pointers, so only
//! these need more.
//!
//! Each goroutine has a small stack of its own. C is called on the thread's, where `runtime.asmcgocall` has saved the
//! way back, as a distance, since a goroutine's stack may be moved meanwhile:
//!
//! ```text
//!  thread's stack                          g, the goroutine        its stack
//!  ┌────────────────────────┐          ┌──────────────────┐       ┌──────────────────────┐ ◄─ hi
//!  │ C function             │          │ lo               │       │ goexit, where it ends│
//!  ├────────────────────────┤          │ hi ──────────────┼──►    │ main.work            │ ▲
//!  │ asmcgocall: hi − sp    │     ┌──► │                  │       │ runtime.cgocall      │ │ hi − sp
//!  │             g ─────────┼─────┘    └──────────────────┘       │ return into cgocall  │ ▼
//!  └────────────────────────┘                                     └──────────────────────┘ ◄─ sp
//! ```
//!
//! Calls from C to Go take the other way, in `runtime.cgocallback`, whose frame is on the thread's stack and is known
//! by its frame pointer.
//!
//! Where that is saved differs between versions of Go, and is read from the instructions with which these functions
//! go on after the call. They are those of x86-64.

use crate::address::CodeAddress;
use crate::end::End;
use crate::frame::Frame;
use crate::instruction::Instruction;
use crate::memory::Memory;
use crate::memory::word;
use crate::rule::{Kind, Rule};
use crate::sections::Modules;

/// From a `g` to the end of its stack: the second field, which compilers know.
const STACK_END: i64 = 8;

/// How `asmcgocall` comes back, and stores the result beside its arguments: mov %rsi,%rsp; mov %eax,0x18(%rsp); ret
const COMES_BACK: &[u8] = b"\x48\x89\xf4\x89\x44\x24\x18\xc3";

const MOVE: &[u8] = b"\x48\x8b";
const SUBTRACT: &[u8] = b"\x48\x2b";
/// Operand bytes of a register and a word at the stack pointer.
const RSI: u8 = 0x34;
const RDI: u8 = 0x3c;

/// The rule for a frame without a table, if it is one of these.
pub(crate) fn rule(address: CodeAddress, modules: &impl Modules) -> Option<Rule> {
    let CodeAddress::Return(ip) = address else { return None };
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let code = Code::at(ip, modules)?;
    if let Some((g, distance)) = code.goroutine() {
        return Some(Rule::new(Kind::Goroutine, g, distance));
    }
    if code.stays().is_some() {
        return Some(Rule::SLOW);
    }
    if code.is_callback() {
        return Some(Rule::new(Kind::BpSavesBp, 16, -16));
    }
    code.is_exit(ip, modules).then_some(Rule::END)
}

/// Whether a goroutine's first function returns to `ip`, which no call has pushed: it is behind the `nop` that
/// `goexit` begins with.
pub(crate) fn is_exit(ip: u64, modules: &impl Modules) -> bool {
    cfg!(target_arch = "x86_64") && Code::at(ip, modules).is_some_and(|code| code.is_exit(ip, modules))
}

/// Leaves a frame of `asmcgocall` to the goroutine's stack.
///
/// # Errors
///
/// [`End::NoUnwindInfo`] also if that stack is not among what was copied, as in samples.
pub(crate) fn to_goroutine(rule: Rule, frame: &Frame, memory: &mut impl Memory) -> Result<Frame, End> {
    let mut at = |base: u64, offset: i64| saved(memory, base.wrapping_add_signed(offset));
    let g = at(frame.sp(), rule.cfa_offset())?;
    let end = at(g, STACK_END)?;
    let sp = end.wrapping_sub(at(frame.sp(), rule.bp_offset())?);
    // If the stack was moved during the call, rbp still leads to where it was.
    let bp = if (sp..end).contains(&frame.bp()) { frame.bp() } else { 0 };
    Frame::caller(at(sp, 0)?, sp.wrapping_add(8), bp)
}

/// Leaves a frame of `asmcgocall` that was called on the thread's stack and stays there.
///
/// # Errors
///
/// [`End::NoUnwindInfo`] also for other frames.
pub(crate) fn step(frame: &Frame, memory: &mut impl Memory, modules: &impl Modules) -> Result<Frame, End> {
    let CodeAddress::Return(ip) = frame.code() else { return Err(End::NoUnwindInfo) };
    let place = Code::at(ip, modules).and_then(|code| code.stays()).ok_or(End::NoUnwindInfo)?;
    let sp = saved(memory, frame.sp().wrapping_add_signed(i64::from(place)))?;
    Frame::caller(saved(memory, sp)?, sp.wrapping_add(8), frame.bp())
}

fn saved(memory: &mut impl Memory, address: u64) -> Result<u64, End> {
    word(memory, address).map_err(|_| End::NoUnwindInfo)
}

/// The instructions that follow a call.
struct Code {
    bytes: [u8; 48],
}

impl Code {
    fn at(ip: u64, modules: &impl Modules) -> Option<Self> {
        let mut bytes = [0; 48];
        for (part, at) in bytes.as_chunks_mut::<16>().0.iter_mut().zip([0, 16, 32]) {
            *part = modules.code(ip.wrapping_add(at))?;
            // All that is looked for begins with a mov, a lea or a call.
            if at == 0 && !matches!(part, [0x48, 0x8b | 0x8d, ..] | [0xe8, ..]) {
                return None;
            }
        }
        Some(Self { bytes })
    }

    /// Where `asmcgocall` has saved the `g` and the distance, from its stack pointer on.
    fn goroutine(&self) -> Option<(i32, i32)> {
        // mov g(%rsp),%rdi; mov 8(%rdi),%rsi; sub distance(%rsp),%rsi; mov %rdi,%fs:…
        let (g, rest) = from_stack(behind_thread_pointer(&self.bytes), MOVE, RDI)?;
        let (distance, rest) = from_stack(rest.strip_prefix(b"\x48\x8b\x77\x08")?, SUBTRACT, RSI)?;
        behind_thread_word(rest)?.starts_with(COMES_BACK).then_some((g, distance))
    }

    /// Where it has saved the stack pointer, if it has not changed stacks.
    fn stays(&self) -> Option<i32> {
        let (sp, rest) = from_stack(&self.bytes, MOVE, RSI)?;
        rest.starts_with(COMES_BACK).then_some(sp)
    }

    /// Whether this is `goexit` behind its `nop`: a call, and another `nop`.
    fn is_exit(&self, ip: u64, modules: &impl Modules) -> bool {
        let before = || modules.code(ip.checked_sub(16)?);
        matches!(self.bytes, [0xe8, _, _, _, _, 0x90, ..])
            && before().is_some_and(|before| before.last() == Some(&0x90))
    }

    /// Whether this is how `cgocallback` goes on: it computes the size of its frame from where its arguments are.
    fn is_callback(&self) -> bool {
        // mov %rsp,%rdi; add %rax,%rdi; mov -8(%rdi),%rbx
        const END: &[u8] = b"\x48\x89\xe7\x48\x01\xc7\x48\x8b\x5f\xf8";
        let end = || {
            // lea …(%rsp),%rax; sub %rsp,%rax; mov %fs:…,%rsi
            let [_, rest @ ..] = self.bytes.strip_prefix(b"\x48\x8d\x44\x24")? else { return None };
            behind_thread_word(behind_thread_pointer(rest.strip_prefix(b"\x48\x29\xe0")?))
        };
        end().is_some_and(|end| end.starts_with(END))
    }
}

/// Reads an instruction that uses a word at most 127 bytes above the stack pointer. `modrm` is its first operand byte
/// if there is no displacement. Returns the displacement and the code behind it.
fn from_stack<'c>(code: &'c [u8], opcode: &[u8], modrm: u8) -> Option<(i32, &'c [u8])> {
    match code.strip_prefix(opcode)? {
        [operand, 0x24, rest @ ..] if *operand == modrm => Some((0, rest)),
        [operand, 0x24, displacement @ 0..=0x7f, rest @ ..] if *operand == modrm | 0x40 => {
            Some((i32::from(*displacement), rest))
        }
        _ => None,
    }
}

/// Position-independent code first loads where its thread's words are: mov …(%rip),%rcx.
fn behind_thread_pointer(code: &[u8]) -> &[u8] {
    code.strip_prefix(b"\x48\x8b\x0d").and_then(|rest| rest.get(4..)).unwrap_or(code)
}

/// Skips an instruction with a word of the thread, which has the prefix for %fs.
fn behind_thread_word(code: &[u8]) -> Option<&[u8]> {
    code.get(Instruction::at(code.strip_prefix(b"\x64").map(|_| code)?)?.length..)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
