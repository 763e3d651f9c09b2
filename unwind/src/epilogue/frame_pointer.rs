//! Whether an interrupted function has given the caller its frame pointer back.
//!
//! Compilers end many functions with a table row that lags behind: after the last `pop` it still says that rbp is saved
//! in the word that was popped, which lies below the stack pointer now. A copy of the stack does not contain that word.
//! The register itself has the caller's value, unless the function still restores it before it returns:
//!
//! ```text
//!  pop %rbp │ pop %r12 │ ret                 rbp is the caller's
//!           │          │
//!  mov -8(%rsp),%rbp   │ ret                 saved in the red zone: the register may hold anything
//! ```

use crate::instruction::{Flow, Instruction};
use crate::sections::Modules;

/// Most instructions that are followed to the end of a function.
const MOST: usize = 24;

const PUSH_BP: u8 = 0x55;
const FRAME_POINTER: u8 = 5;

/// Whether the instructions from `ip` on lead to a return, or to the beginning of a function that saves rbp, without a
/// change of rbp. Only for x86-64.
#[cold]
pub(crate) fn has_callers_bp(mut ip: u64, modules: &impl Modules) -> bool {
    for _ in 0..MOST {
        let Some(code) = modules.code(ip) else { return false };
        let Some(instruction) = Instruction::at(&code) else { return false };
        let behind = ip.wrapping_add(instruction.length as u64);
        ip = match instruction.flow {
            Flow::Next if instruction.opcode == Some(PUSH_BP) && instruction.rex & 1 == 0 => return true,
            Flow::Next if may_change_bp(instruction) => return false,
            Flow::Next => behind,
            Flow::Jump(distance) => behind.wrapping_add_signed(i64::from(distance)),
            // A return, or a jump to a function that is found by name.
            Flow::End => {
                return matches!(instruction.opcode, Some(0xc2 | 0xc3))
                    || instruction.opcode == Some(0xff) && instruction.relative.is_some();
            }
            Flow::Branch(..) | Flow::Call(_) | Flow::CallAny | Flow::Loop(_) => return false,
        };
    }
    false
}

/// False only if the instruction certainly does not change rbp.
fn may_change_bp(Instruction { opcode, rex, modrm, .. }: Instruction) -> bool {
    let is_register = modrm.is_some_and(|modrm| modrm >> 6 == 3);
    let names = modrm.is_some_and(|modrm| modrm >> 3 & 7 == FRAME_POINTER) && rex & 4 == 0;
    let operand = is_register && modrm.is_some_and(|modrm| modrm & 7 == FRAME_POINTER) && rex & 1 == 0;
    let in_opcode = |opcode: u8| opcode & 7 == FRAME_POINTER && rex & 1 == 0;
    match (opcode, modrm) {
        // xchg, pop, mov of a number; leave.
        (Some(opcode @ (0x90..=0x97 | 0x58..=0x5f | 0xb0..=0xbf)), None) => in_opcode(opcode),
        (Some(0xc8 | 0xc9), _) => true,
        (_, None) => false,
        (_, Some(_)) => names || operand,
    }
}
