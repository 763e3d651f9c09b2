//! 64-bit ARM, AAPCS64: DWARF register numbers and the kernel's signal frame.
//!
//! A call leaves the return address in x30, and a function that calls others saves it anywhere, mostly beside x29:
//!
//! ```text
//!  stp x29, x30, [sp, #-48]!      sp ─► ┌────────────┐
//!  mov x29, sp                          │ x29        │     CFA − 48
//!                                       ├────────────┤
//!                                       │ x30        │     CFA − 40   return address
//!                                       ├────────────┤
//!                                       │ 32 bytes   │
//!                                CFA ─► └────────────┘
//! ```

mod leaf;

pub(crate) use leaf::returns_by_register;

use super::Call;
use crate::address::CodeAddress;
use crate::registers::Registers;
use core::num::NonZeroU64;
use gimli::{AArch64, Register, Vendor};

/// Whether frames of this processor can be unwound at all.
pub(crate) const SUPPORTED: bool = true;

/// Instructions of call frame tables that only this processor has.
pub(crate) const VENDOR: Vendor = Vendor::AArch64;

/// The DWARF column of sp.
pub(crate) const STACK_POINTER: Register = AArch64::SP;
/// The DWARF column of x29.
pub(crate) const FRAME_POINTER: Register = AArch64::X29;
/// The DWARF column of the return address.
pub(crate) const RETURN_ADDRESS: Register = AArch64::X30;
/// The register that stands for the frame's own address in an expression.
pub(crate) const INSTRUCTION_POINTER: Register = AArch64::PC;

/// A call leaves the return address in a register. Until it is saved, only that register identifies the caller of an
/// interrupted frame.
pub(crate) const PUSHES_RETURN_ADDRESS: bool = false;

/// From the stack pointer of a signal trampoline to the saved x29, sp and pc: the ucontext follows 128 bytes of
/// `siginfo`, and its `uc_mcontext` starts at byte 176 with the fault's address, x0 to x30, sp and pc
/// (`asm/sigcontext.h`).
pub(crate) const SAVED_BP: i64 = saved(29);
/// See [`SAVED_BP`].
pub(crate) const SAVED_SP: i64 = saved(31);
/// See [`SAVED_BP`].
pub(crate) const SAVED_IP: i64 = saved(32);

/// The offset of the register with this number in a signal frame.
const fn saved(register: u16) -> i64 {
    const FIRST: i64 = 128 + 176 + 8;
    FIRST.wrapping_add((register as i64).wrapping_mul(8))
}

/// The registers of an interrupted frame: the address of its signal frame on the stack, which no stack has at 0.
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
        // x0 to x30, sp and pc are numbered in the order in which they are stored.
        (register.0 <= AArch64::PC.0).then(|| self.0.get().wrapping_add_signed(saved(register.0)))
    }
}

/// The second offset of an ordinary rule: from the CFA to the saved x29, or to the return address if x29 is not
/// saved. `None` if the two are not adjacent.
pub(crate) fn second_offset(returns_at: i64, saved_bp: Option<i64>) -> Option<i64> {
    match saved_bp {
        None => Some(returns_at),
        Some(at) => (at.checked_add(8) == Some(returns_at)).then_some(at),
    }
}

/// From the CFA to the return address, given this result of [`second_offset`].
#[inline(always)]
pub(crate) const fn returns_at(second_offset: i64, saves_bp: bool) -> i64 {
    if saves_bp { second_offset.wrapping_add(8) } else { second_offset }
}

/// The code address in a saved x30. Functions may sign it, in bits that no address of a program uses.
#[inline(always)]
pub(crate) const fn code_address(saved: u64) -> u64 {
    saved & ((1 << 48) - 1)
}

/// Whether `code` is the kernel's return from a signal handler, `rt_sigreturn`: `mov x8, #139`, `svc #0`.
pub(crate) fn is_signal_trampoline(code: &[u8; 16]) -> bool {
    code.starts_with(&[0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4])
}

/// Whether a Boost context is entered here: nothing shows it, since its outermost function gets its return address in
/// a register.
pub(crate) fn is_behind_a_first_jump(_before: &[u8; 16]) -> bool {
    false
}

/// The call instruction that ends at `address`; `before` are the 16 bytes of code that end there.
pub(crate) fn call_before(address: u64, before: &[u8; 16]) -> Option<Call> {
    let (_, last) = before.split_last_chunk()?;
    let instruction = u32::from_le_bytes(*last);
    // bl: a 26-bit distance in instructions.
    if instruction >> 26 == 0b10_0101 {
        let distance = (i64::from(instruction) << 38) >> 36;
        return Some(Call::Direct(address.wrapping_sub(4).wrapping_add_signed(distance)));
    }
    // blr, and its variants that check a signature: blraa, blraaz, blrab, blrabz.
    let is_call = instruction & 0xffff_fc1f == 0xd63f_0000 || instruction & 0xfeff_f800 == 0xd63f_0800;
    is_call.then_some(Call::Indirect)
}

/// From sp to the CFA at an instruction of a PLT stub, for which linkers leave out tables. `before` are the 16 bytes
/// of code that end there, `at` those that begin there.
///
/// ```text
///  adrp x16, page              0    the first stub has pushed x16 and x30 before: 16
///  ldr x17, [x16, #offset]
///  add x16, x16, #offset
///  br x17
/// ```
///
/// If it is 0, the return address is still in x30.
pub(crate) fn stub_offset(before: &[u8; 16], at: &[u8; 16]) -> Option<i32> {
    const PUSH: u32 = 0xa9bf_7bf0;
    // Each with a mask of the bits that are not operands.
    const STUB: [(u32, u32); 4] = [
        (0x9f00_001f, 0x9000_0010),
        (0xffc0_03ff, 0xf940_0211),
        (0xffc0_03ff, 0x9100_0210),
        (u32::MAX, 0xd61f_0220),
    ];
    let mut code = [0_u32; 8];
    let bytes = before.as_chunks().0.iter().chain(at.as_chunks().0);
    code.iter_mut().zip(bytes).for_each(|(instruction, bytes)| *instruction = u32::from_le_bytes(*bytes));
    // The stub may begin up to three instructions before this one.
    let (start, _) = (1..=4_usize)
        .filter_map(|start| Some((start, code.get(start..start.checked_add(4)?)?)))
        .find(|(_, stub)| {
            stub.iter().zip(STUB).all(|(instruction, (mask, expected))| instruction & mask == expected)
        })?;
    let is_first = start.checked_sub(1).and_then(|before| code.get(before)) == Some(&PUSH);
    Some(if is_first { 16 } else { 0 })
}

impl Registers {
    /// The registers of the caller at this very instruction, for a walk that starts here.
    #[inline(always)]
    pub fn here() -> Self {
        let (ip, sp, bp): (u64, u64, u64);
        // SAFETY: copies three registers, touches neither memory nor stack nor flags.
        unsafe {
            core::arch::asm!(
                "adr {ip}, .",
                "mov {sp}, sp",
                "mov {bp}, x29",
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
    use super::{SignalContext, call_before, is_signal_trampoline, returns_at, second_offset, stub_offset};
    use crate::arch::Call;
    use gimli::{AArch64, Register};
    use std::vec::Vec;

    /// Sixteen bytes that end with these instructions.
    fn ending(instructions: &[u32]) -> [u8; 16] {
        let mut code = [0; 16];
        for (place, instruction) in
            code.as_chunks_mut::<4>().0.iter_mut().rev().zip(instructions.iter().rev())
        {
            *place = instruction.to_le_bytes();
        }
        code
    }

    /// Check that the trampoline is recognised and code near it is not.
    #[test]
    fn trampolines_are_recognised() {
        assert!(is_signal_trampoline(&ending(&[0xd280_1168, 0xd400_0001, 0, 0])));
        assert!(!is_signal_trampoline(&ending(&[0xd280_1148, 0xd400_0001, 0, 0])));
    }

    /// Check that every call is recognised before its return address, and other instructions are not.
    #[test]
    fn calls_are_recognised() {
        for (instruction, expected) in [
            (0x9400_0004, Some(Call::Direct(0x100c))), // bl #16
            (0x97ff_ffff, Some(Call::Direct(0xff8))),  // bl #-4
            (0xd63f_0020, Some(Call::Indirect)),       // blr x1
            (0xd63f_081f, Some(Call::Indirect)),       // blraaz x0
            (0xd73f_0c41, Some(Call::Indirect)),       // blrab x2, x1
            (0x1400_0004, None),                       // b #16
            (0xd61f_0020, None),                       // br x1
            (0xd65f_03c0, None),                       // ret
        ] {
            assert_eq!(call_before(0x1000, &ending(&[instruction])), expected, "{instruction:x}");
        }
    }

    /// Check that each instruction of a PLT stub is recognised, and so is the first stub's push.
    #[test]
    fn stubs_are_recognised() {
        let stub = [0x9000_00f0, 0xf945_2211, 0x9129_0210, 0xd61f_0220];
        for (first, expected) in [(0xd503_201f, 0), (0xa9bf_7bf0, 16)] {
            let mut code = Vec::from([0, 0, 0, first]);
            code.extend(stub);
            code.extend([0xd503_201f; 4]);
            for at in 4..8 {
                let pieces = (ending(&code[at - 4..at]), ending(&code[at..at + 4]));
                assert_eq!(stub_offset(&pieces.0, &pieces.1), Some(expected), "{at}");
            }
            for at in [4, 8] {
                let pieces = (ending(&code[..4]), ending(&code[at + 1..at + 4]));
                assert_eq!(stub_offset(&pieces.0, &pieces.1), None, "{at}");
            }
        }
    }

    /// Check that the return address is found beside the saved x29, or where it was saved alone.
    #[test]
    fn return_addresses_lie_beside_frame_pointers() {
        assert_eq!(second_offset(-40, Some(-48)).map(|offset| returns_at(offset, true)), Some(-40));
        assert_eq!(second_offset(-16, None).map(|offset| returns_at(offset, false)), Some(-16));
        assert_eq!(second_offset(-8, Some(-48)), None);
    }

    /// Check that the registers of a signal frame are where the kernel's header has them.
    #[test]
    fn signal_frames_have_the_kernels_layout() {
        let context = SignalContext::at(0x1000).unwrap();
        assert_eq!(context.slot(AArch64::X0), Some(0x1000 + 312));
        assert_eq!(context.slot(AArch64::X30), Some(0x1000 + 552));
        assert_eq!(context.slot(AArch64::PC), Some(0x1000 + 568));
        assert_eq!(context.slot(Register(33)), None);
    }
}
