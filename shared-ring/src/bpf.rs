//! What a seccomp filter answers to a system call: an interpreter of classic BPF, as the kernel runs it.
//!
//! The agent evaluates filters that its program installs, the collector those of a process that it is about to call.
//! A filter is a program over the description of a system call; it jumps only forwards, so it ends. Sources of the
//! instruction set: Documentation/networking/filter.rst and kernel/seccomp.c of Linux.

/// One instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    k: u32,
}

impl Instruction {
    /// An instruction from its bytes, as the kernel stores it.
    pub fn from_bytes([c, o, if_true, if_false, k @ ..]: [u8; 8]) -> Instruction {
        Instruction { code: u16::from_ne_bytes([c, o]), if_true, if_false, k: u32::from_ne_bytes(k) }
    }
}

/// Most instructions of a filter that the kernel accepts.
pub const MAX_INSTRUCTIONS: usize = 4096;

/// Words of a filter's scratch memory.
const WORDS: usize = 16;
/// `AUDIT_ARCH_X86_64`, `AUDIT_ARCH_AARCH64`: the machine's number, with flags for 64 bits and little-endian.
const ARCHITECTURE: u32 = 0xC000_0000 | MACHINE as u32;
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = libc::EM_X86_64;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = libc::EM_AARCH64;
/// Size of a call's description in bytes.
const DESCRIPTION: u32 = 64;

/// A system call as filters see it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its number.
    pub number: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

impl Call {
    /// The 32-bit word at an offset of `struct seccomp_data`: number, architecture, address of the instruction (0
    /// here, since no filter can rely on it), arguments.
    fn word(&self, offset: u32) -> Option<u32> {
        let wide = |value: u64| if offset.is_multiple_of(8) { value as u32 } else { (value >> 32) as u32 };
        match offset {
            _ if !offset.is_multiple_of(4) => None,
            0 => Some(self.number as u32),
            4 => Some(ARCHITECTURE),
            8 | 12 => Some(0),
            _ => self.arguments.get((offset as usize - 16) / 8).copied().map(wide),
        }
    }
}

/// What the filter returns for the call; `None` if the kernel would not accept the filter.
// Opcodes are those of linux/bpf_common.h: class in the low three bits, then size and mode, or operation and source.
pub fn run(program: &[Instruction], call: &Call) -> Option<u32> {
    let (mut a, mut x, mut memory) = (0_u32, 0_u32, [0_u32; WORDS]);
    let mut at = 0_usize;
    loop {
        let Instruction { code, if_true, if_false, k } = *program.get(at)?;
        at = at.checked_add(1)?;
        let source = if code & 8 == 0 { k } else { x };
        match code {
            // Loads of a word of the call, a constant, scratch memory, or the length of the description.
            0x20 => a = call.word(k)?,
            0x00 => a = k,
            0x01 => x = k,
            0x60 => a = *memory.get(k as usize)?,
            0x61 => x = *memory.get(k as usize)?,
            0x80 => a = DESCRIPTION,
            0x81 => x = DESCRIPTION,
            0x02 => *memory.get_mut(k as usize)? = a,
            0x03 => *memory.get_mut(k as usize)? = x,
            // Arithmetic.
            0x04 | 0x0c => a = a.wrapping_add(source),
            0x14 | 0x1c => a = a.wrapping_sub(source),
            0x24 | 0x2c => a = a.wrapping_mul(source),
            // Division by zero ends the program as if it had returned 0.
            0x34 | 0x3c => {
                a = match a.checked_div(source) {
                    Some(quotient) => quotient,
                    None => return Some(0),
                }
            }
            0x44 | 0x4c => a |= source,
            0x54 | 0x5c => a &= source,
            0x64 | 0x6c => a = a.wrapping_shl(source),
            0x74 | 0x7c => a = a.wrapping_shr(source),
            0x84 => a = a.wrapping_neg(),
            0xa4 | 0xac => a ^= source,
            // Jumps.
            0x05 => at = at.checked_add(k as usize)?,
            0x15 | 0x1d | 0x25 | 0x2d | 0x35 | 0x3d | 0x45 | 0x4d => {
                let holds = match code & 0xf0 {
                    0x10 => a == source,
                    0x20 => a > source,
                    0x30 => a >= source,
                    _ => a & source != 0,
                };
                at = at.checked_add(usize::from(if holds { if_true } else { if_false }))?;
            }
            0x06 => return Some(k),
            0x16 => return Some(a),
            0x07 => x = a,
            0x87 => a = x,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn instruction(code: u16, if_true: u8, if_false: u8, k: u32) -> Instruction {
        Instruction { code, if_true, if_false, k }
    }

    const CALL: Call = Call { number: 14, arguments: [u64::MAX, 0x1234_5678_9abc_def0, 3, 4, 5, 6] };
    /// Code, jumps and constant of an instruction.
    type Words = (u16, u8, u8, u32);
    const RETURN_A: Words = (0x16, 0, 0, 0);

    /// Check what small programs return.
    #[test]
    fn programs_return_what_they_should() {
        let cases: &[(&[Words], Option<u32>)] = &[
            (&[(0x06, 0, 0, 0x7fff_0000)], Some(0x7fff_0000)),
            (&[(0x20, 0, 0, 0), RETURN_A], Some(14)),
            (&[(0x20, 0, 0, 4), RETURN_A], Some(ARCHITECTURE)),
            (&[(0x20, 0, 0, 24), RETURN_A], Some(0x9abc_def0)),
            (&[(0x20, 0, 0, 28), RETURN_A], Some(0x1234_5678)),
            (&[(0x20, 0, 0, 60), RETURN_A], Some(0)),
            (&[(0x20, 0, 0, 64), RETURN_A], None),
            (&[(0x20, 0, 0, 2), RETURN_A], None),
            (&[(0x80, 0, 0, 0), (0x07, 0, 0, 0), (0x0c, 0, 0, 0), RETURN_A], Some(128)),
            (&[(0x00, 0, 0, 7), (0x02, 0, 0, 3), (0x61, 0, 0, 3), (0x87, 0, 0, 0), RETURN_A], Some(7)),
            (&[(0x00, 0, 0, 7), (0x02, 0, 0, 16)], None),
            (&[(0x34, 0, 0, 0)], Some(0)),
            // if (number == 14) return 1; return 2;
            (&[(0x20, 0, 0, 0), (0x15, 0, 1, 14), (0x06, 0, 0, 1), (0x06, 0, 0, 2)], Some(1)),
            (&[(0x20, 0, 0, 0), (0x15, 0, 1, 15), (0x06, 0, 0, 1), (0x06, 0, 0, 2)], Some(2)),
            (&[(0x20, 0, 0, 0), (0x25, 0, 1, 14), (0x06, 0, 0, 1), (0x06, 0, 0, 2)], Some(2)),
            (&[(0x20, 0, 0, 0), (0x35, 0, 1, 14), (0x06, 0, 0, 1), (0x06, 0, 0, 2)], Some(1)),
            (&[(0x20, 0, 0, 0), (0x45, 0, 1, 1), (0x06, 0, 0, 1), (0x06, 0, 0, 2)], Some(2)),
            (&[(0x05, 0, 0, 1), (0x06, 0, 0, 1), (0x06, 0, 0, 2)], Some(2)),
            // A jump past the end, and invalid instructions.
            (&[(0x05, 0, 0, u32::MAX)], None),
            (&[], None),
            (&[(0x28, 0, 0, 0)], None),
        ];
        for (program, expected) in cases {
            let program: Vec<_> = program.iter().map(|&(c, t, f, k)| instruction(c, t, f, k)).collect();
            assert_eq!(run(&program, &CALL), *expected, "{program:?}");
        }
    }

    proptest! {
        /// Check that any program ends without a panic.
        #[test]
        fn any_program_ends(program in proptest::collection::vec(any::<Words>(), 0..64), small: bool) {
            let mask = if small { 0xff } else { 0xffff };
            let program: Vec<_> =
                program.iter().map(|&(c, t, f, k)| instruction(c & mask, t % 8, f % 8, k % 80)).collect();
            let _ = run(&program, &CALL);
        }
    }
}
