//! x86-64, System V: DWARF register numbers and the kernel's signal frame.

use super::Call;
use crate::address::CodeAddress;
use crate::registers::Registers;
use core::num::NonZeroU64;
use gimli::{Register, Vendor, X86_64};

/// Whether frames of this processor can be unwound at all.
pub(crate) const SUPPORTED: bool = true;

/// Instructions of call frame tables that only this processor has: none.
pub(crate) const VENDOR: Vendor = Vendor::Default;

/// The DWARF column of rsp.
pub(crate) const STACK_POINTER: Register = X86_64::RSP;
/// The DWARF column of rbp.
pub(crate) const FRAME_POINTER: Register = X86_64::RBP;
/// The DWARF column of the return address.
pub(crate) const RETURN_ADDRESS: Register = X86_64::RA;
/// The register that stands for the frame's own address in an expression.
pub(crate) const INSTRUCTION_POINTER: Register = X86_64::RA;

/// A call pushes the return address just below the caller's stack pointer. The memo relies on this to recognise
/// frames.
pub(crate) const PUSHES_RETURN_ADDRESS: bool = true;

/// From the CFA to the return address that a call has pushed.
const PUSHED: i64 = -8;

/// From the stack pointer of a signal trampoline to the saved rbp, rsp and rip: `uc_mcontext` starts 40 bytes into
/// the ucontext, and its registers are r8–r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip (`asm/sigcontext.h`).
pub(crate) const SAVED_BP: i64 = 120;
/// See [`SAVED_BP`].
pub(crate) const SAVED_SP: i64 = 160;
/// See [`SAVED_BP`].
pub(crate) const SAVED_IP: i64 = 168;

/// The registers of an interrupted frame: the address of its ucontext on the stack, which no stack has at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignalContext(NonZeroU64);

impl SignalContext {
    /// The context that the signal trampoline with stack pointer `sp` will restore.
    pub(crate) const fn at(sp: u64) -> Option<Self> {
        match NonZeroU64::new(sp) {
            Some(sp) => Some(Self(sp)),
            None => None,
        }
    }

    /// Where the value of `register` was saved.
    pub(crate) fn slot(self, register: Register) -> Option<u64> {
        let offset = match register {
            X86_64::R8 => 40,
            X86_64::R9 => 48,
            X86_64::R10 => 56,
            X86_64::R11 => 64,
            X86_64::R12 => 72,
            X86_64::R13 => 80,
            X86_64::R14 => 88,
            X86_64::R15 => 96,
            X86_64::RDI => 104,
            X86_64::RSI => 112,
            X86_64::RBP => SAVED_BP,
            X86_64::RBX => 128,
            X86_64::RDX => 136,
            X86_64::RAX => 144,
            X86_64::RCX => 152,
            X86_64::RSP => SAVED_SP,
            X86_64::RA => SAVED_IP,
            _ => return None,
        };
        Some(self.0.get().wrapping_add_signed(offset))
    }
}

/// The second offset of an ordinary rule: from the CFA to the saved rbp, or to the return address if rbp is not
/// saved. `None` if the return address is not where a call pushes it.
pub(crate) fn second_offset(returns_at: i64, saved_bp: Option<i64>) -> Option<i64> {
    (returns_at == PUSHED).then(|| saved_bp.unwrap_or(PUSHED))
}

/// From the CFA to the return address.
#[inline(always)]
pub(crate) const fn returns_at(_second_offset: i64, _saves_bp: bool) -> i64 {
    PUSHED
}

/// The code address in a return address word.
#[inline(always)]
pub(crate) const fn code_address(saved: u64) -> u64 {
    saved
}

/// Whether `code` is the kernel's return from a signal handler, `rt_sigreturn`: `mov $15,%rax`, as glibc and musl
/// write it, or `mov $15,%eax`, then `syscall`.
pub(crate) fn is_signal_trampoline(code: &[u8; 16]) -> bool {
    const RAX: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05];
    const EAX: [u8; 7] = [0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05];
    code.starts_with(&RAX) || code.starts_with(&EAX)
}

/// Whether the 16 bytes `before` an address end with the entry into a Boost context, which happens once: `push %rbp`,
/// which makes its outermost function return to what follows, then `jmp *%rbx`.
pub(crate) fn is_behind_a_first_jump(before: &[u8; 16]) -> bool {
    before.ends_with(&[0x55, 0xff, 0xe3])
}

/// The call instruction that ends at `address`; `before` are the 16 bytes of code that end there.
pub(crate) fn call_before(address: u64, before: &[u8; 16]) -> Option<Call> {
    // e8 and a distance.
    if let Some((front, distance)) = before.split_last_chunk::<4>()
        && front.last() == Some(&0xe8)
    {
        return Some(Call::Direct(address.wrapping_add_signed(i64::from(i32::from_le_bytes(*distance)))));
    }
    // ff /2 with an operand that makes it two to seven bytes long.
    let is_call = |pair: &[u8; 2]| pair[0] == 0xff && pair[1] & 0x38 == 0x10;
    let starts = before.get(9..).unwrap_or(&[]);
    starts.array_windows().any(is_call).then_some(Call::Indirect)
}

/// From rsp to the CFA at an instruction of a PLT stub, `.plt` or `.plt.got`, for which lld leaves out tables.
/// `before` are the 16 bytes of code that end there, `at` those that begin there.
///
/// ```text
///  ff 25 …  jmp *slot(%rip)      8    16 more after the first stub's push of a word (ff 35)
///  68 …     push $index          8
///  e9 …     jmp first stub      16    after push $index
///  ff 35 …  push word(%rip)     16    in the first stub, which the others jump to
/// ```
pub(crate) fn stub_offset(before: &[u8; 16], at: &[u8; 16]) -> Option<i32> {
    // Indirect branch tracking may add endbr64 in front, and a bnd prefix before the jump.
    let at = at.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(at);
    let at = at.strip_prefix(&[0xf2]).unwrap_or(at);
    let before_ends = |bytes: &[u8], length: usize| {
        before
            .len()
            .checked_sub(length)
            .and_then(|start| before.get(start..))
            .is_some_and(|rest| rest.starts_with(bytes))
    };
    match at {
        [0xff, 0x25, ..] if before_ends(&[0xff, 0x35], 6) => Some(24),
        [0xff, 0x25, ..] => Some(8),
        [0xff, 0x35, _, _, _, _, 0xff, 0x25, ..] => Some(16),
        [0x68, _, _, _, _, 0xe9, ..] => Some(8),
        [0xe9, ..] if before_ends(&[0x68], 5) => Some(16),
        _ => None,
    }
}

/// Whether a function that executes at `ip` has its return address in a register: never.
pub(crate) fn returns_by_register(_ip: u64, _read: impl Fn(u64) -> Option<u32>) -> bool {
    false
}

impl Registers {
    /// The registers of the caller at this very instruction, for a walk that starts here.
    #[inline(always)]
    pub fn here() -> Self {
        let (ip, sp, bp): (u64, u64, u64);
        // SAFETY: copies three registers, touches neither memory nor stack nor flags.
        unsafe {
            core::arch::asm!(
                "lea {ip}, [rip]",
                "mov {sp}, rsp",
                "mov {bp}, rbp",
                ip = out(reg) ip,
                sp = out(reg) sp,
                bp = out(reg) bp,
                options(nomem, nostack, preserves_flags),
            );
        }
        Self { ip: CodeAddress::Exact(ip), sp, bp }
    }
}

#[cfg(test)]
mod tests {
    use super::{call_before, is_behind_a_first_jump, is_signal_trampoline, stub_offset};
    use crate::arch::Call;

    /// Sixteen bytes that start with `code`.
    fn starting(code: &[u8]) -> [u8; 16] {
        core::array::from_fn(|i| code.get(i).copied().unwrap_or(0xcc))
    }

    /// Sixteen bytes that end with `code`.
    fn ending(code: &[u8]) -> [u8; 16] {
        core::array::from_fn(|i| (i + code.len()).checked_sub(16).map_or(0xcc, |i| code[i]))
    }

    /// Check that both spellings of the trampoline are recognised and code near it is not.
    #[test]
    fn trampolines_are_recognised() {
        for (code, expected) in [
            (&b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05"[..], true),
            (b"\xb8\x0f\0\0\0\x0f\x05", true),
            (b"\xb8\x0e\0\0\0\x0f\x05", false),
            (b"\x48\xc7\xc0\x0f\0\0\0\x90", false),
            (b"", false),
        ] {
            assert_eq!(is_signal_trampoline(&starting(code)), expected, "{code:x?}");
        }
    }

    /// Check that the entry into a context is recognised, and no other jump or push.
    #[test]
    fn first_jumps_are_recognised() {
        for (code, expected) in [
            (&b"\xc3\x55\xff\xe3"[..], true),
            (b"\xf3\x0f\x1e\xfa\x55\xff\xe3", true),
            (b"\x55\xff\xd3", false),
            (b"\x53\xff\xe3", false),
            (b"\x55\xff\xe0", false),
            (b"\x55\xff\xe3\x90", false),
            (b"", false),
        ] {
            assert_eq!(is_behind_a_first_jump(&ending(code)), expected, "{code:x?}");
        }
    }

    /// Check that calls of every length are recognised before their return address, and other instructions are not.
    #[test]
    fn calls_are_recognised() {
        for (code, expected) in [
            (&b"\xe8\x10\0\0\0"[..], Some(Call::Direct(0x1010))),
            (b"\xe8\xf0\xff\xff\xff", Some(Call::Direct(0xff0))),
            (b"\xff\xd0", Some(Call::Indirect)),               // call *%rax
            (b"\x41\xff\xd4", Some(Call::Indirect)),           // call *%r12
            (b"\xff\x50\x18", Some(Call::Indirect)),           // call *0x18(%rax)
            (b"\xff\x15\0\x10\0\0", Some(Call::Indirect)),     // call *0x1000(%rip)
            (b"\xff\x94\xc8\0\x10\0\0", Some(Call::Indirect)), // call *0x1000(%rax,%rcx,8)
            (b"\xff\xe0", None),                               // jmp *%rax
            (b"\x48\x89\xc7", None),
        ] {
            assert_eq!(call_before(0x1000, &ending(code)), expected, "{code:x?}");
        }
    }

    /// Check that each instruction of a PLT stub has the stack depth shown in the documentation.
    #[test]
    fn stubs_are_recognised() {
        for (before, at, expected) in [
            (&b""[..], &b"\xff\x25\0\0\0\0"[..], Some(8)),
            (b"", b"\xf3\x0f\x1e\xfa\xf2\xff\x25\0\0\0\0", Some(8)),
            (b"\xff\x25\0\0\0\0", b"\x68\x01\0\0\0\xe9\0\0\0\0", Some(8)),
            (b"\x68\x01\0\0\0", b"\xe9\0\0\0\0", Some(16)),
            (b"", b"\xff\x35\0\0\0\0\xff\x25\0\0\0\0", Some(16)),
            (b"\xff\x35\0\0\0\0", b"\xff\x25\0\0\0\0", Some(24)),
            (b"", b"\xe9\0\0\0\0", None),
            (b"", b"\x55\x48\x89\xe5", None),
        ] {
            assert_eq!(stub_offset(&ending(before), &starting(at)), expected, "{before:x?} | {at:x?}");
        }
    }
}
