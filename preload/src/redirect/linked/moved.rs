//! The beginning of a function, moved to a place with more room.
//!
//! ```text
//!  before   malloc: push rbp │ mov rbp, rsp │ test rdi, rdi │ …
//!  then     malloc: jmp hook ┄┄┄┄┄┄┄┄┄┄┄┄┄┄ │ test rdi, rdi │ …
//!                                             ▲
//!           moved:  push rbp │ mov rbp, rsp │ jmp
//! ```
//!
//! Operands and jumps that are relative to the instruction's address lead where they led before. A moved call pushes
//! the address after the original call, so its function returns there, and unwind tables know the frame. A function
//! that jumps back to its beginning is not moved, nor is one with an unknown instruction, which might do so.

use unwind::instruction::{Flow, Instruction, LONGEST};

/// Bytes of the jump that replaces what is moved.
pub(super) const JUMP: usize = 5;
/// Room for what is moved.
pub(super) const ROOM: usize = 56;

/// `int3`, which is also used as padding between functions.
const BREAKPOINT: u8 = 0xcc;
/// Offset of the address that a moved call pushes.
const RETURN: usize = ROOM - 8;

/// A jump from one address to another.
pub(super) fn jump(from: u64, to: u64) -> Option<[u8; JUMP]> {
    let [a, b, c, d] = distance(from.wrapping_add(JUMP as u64), to)?.to_le_bytes();
    Some([0xe9, a, b, c, d])
}

/// The distance from the end of an instruction to its target.
fn distance(end: u64, to: u64) -> Option<i32> {
    i32::try_from(to.wrapping_sub(end) as i64).ok()
}

/// Code that does at `to` the same as the beginning of a function at `from`, and continues in the function after that
/// beginning, which is at least [`JUMP`] bytes long. `None` if it cannot be moved.
///
/// `code` is the function's code, `size` bytes, and some bytes after it.
pub(super) fn beginning(code: &[u8], size: usize, from: u64, to: u64) -> Option<[u8; ROOM]> {
    let mut moved = Moved { bytes: [BREAKPOINT; ROOM], length: 0, to };
    let (mut at, mut is_over) = (0_usize, false);
    while at < JUMP {
        let rest = code.get(at..)?;
        if is_over || at >= size {
            // Only padding up to a multiple of sixteen may follow, nothing of another function.
            let padding = padding(rest)?;
            let ends = from.wrapping_add(at as u64);
            if ends.is_multiple_of(16) {
                return None;
            }
            (at, is_over) = (at.wrapping_add(padding), true);
            continue;
        }
        // A debugger's breakpoint is no instruction of the program.
        let next = Instruction::at(rest).filter(|_| rest.first() != Some(&BREAKPOINT))?;
        at = at.wrapping_add(next.length);
        let end = from.wrapping_add(at as u64);
        moved.put(next, rest.get(..next.length)?, end)?;
        is_over = matches!(next.flow, Flow::Jump(_) | Flow::Call(_) | Flow::End);
    }
    if !is_over {
        moved.put_jump(from.wrapping_add(at as u64))?;
    }
    (!comes_back(code.get(..size)?, at)?).then_some(moved.bytes)
}

/// Whether a function jumps back into its first bytes, apart from calls of itself; `None` if that cannot be
/// determined.
fn comes_back(function: &[u8], first: usize) -> Option<bool> {
    let mut at = 0_usize;
    while at < function.len() {
        let next = Instruction::at(function.get(at..)?)?;
        at = at.wrapping_add(next.length);
        let to = next.distance().map(|distance| (at as i64).wrapping_add(distance.into()));
        let is_call = matches!(next.flow, Flow::Call(_));
        if to.is_some_and(|to| (0..first as i64).contains(&to) && !(is_call && to == 0)) {
            return Some(true);
        }
    }
    Some(false)
}

/// Length of the padding instruction here; `None` if it is any other.
fn padding(code: &[u8]) -> Option<usize> {
    let length = Instruction::at(code)?.length;
    let opcode = code.get(..length)?.iter().position(|byte| !matches!(byte, 0x66 | 0x2e))?;
    match code.get(opcode..length)? {
        [0x90 | BREAKPOINT] | [0x0f, 0x1f, ..] => Some(length),
        _ => None,
    }
}

/// The moved code.
struct Moved {
    bytes: [u8; ROOM],
    length: usize,
    /// Its address.
    to: u64,
}

impl Moved {
    /// Adds an instruction that has these bytes and originally ended at `end`.
    fn put(&mut self, instruction: Instruction, bytes: &[u8], end: u64) -> Option<()> {
        let target = |distance: i32| end.wrapping_add_signed(distance.into());
        match instruction.flow {
            Flow::Next | Flow::End => {
                let start = self.length;
                self.put_bytes(bytes)?;
                if let Some(place) = instruction.relative {
                    let place = start.wrapping_add(place);
                    let old = i32::from_le_bytes(*self.bytes.get(place..)?.first_chunk()?);
                    let new = distance(self.end(), target(old))?;
                    *self.bytes.get_mut(place..)?.first_chunk_mut()? = new.to_le_bytes();
                }
                Some(())
            }
            Flow::Jump(distance) => self.put_jump(target(distance)),
            Flow::Branch(condition, distance) => {
                self.put_bytes(&[0x0f, 0x80 | condition])?;
                self.put_distance(target(distance))
            }
            Flow::Call(distance) => {
                *self.bytes.get_mut(RETURN..)?.first_chunk_mut()? = end.to_le_bytes();
                // push qword ptr [rip + …]
                self.put_bytes(&[0xff, 0x35])?;
                self.put_distance(self.to.wrapping_add(RETURN as u64))?;
                self.put_jump(target(distance))
            }
            Flow::CallAny | Flow::Loop(_) => None,
        }
    }

    fn put_jump(&mut self, to: u64) -> Option<()> {
        self.put_bytes(&[0xe9])?;
        self.put_distance(to)
    }

    /// Adds the distance from the end of this operand to an address.
    fn put_distance(&mut self, to: u64) -> Option<()> {
        let distance = distance(self.end().wrapping_add(4), to)?;
        self.put_bytes(&distance.to_le_bytes())
    }

    fn put_bytes(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.length.wrapping_add(bytes.len());
        self.bytes.get_mut(self.length..end).filter(|_| end <= RETURN)?.copy_from_slice(bytes);
        self.length = end;
        Some(())
    }

    /// The address of the next instruction.
    fn end(&self) -> u64 {
        self.to.wrapping_add(self.length as u64)
    }
}

/// Bytes of a function to be examined: itself, and what may follow within the length of a jump.
pub(super) const fn bytes_of(size: usize) -> usize {
    size.saturating_add(JUMP + LONGEST)
}

#[cfg(test)]
mod tests;
