//! The beginning of a function, moved to where it has more room.
//!
//! ```text
//!  before   malloc: push rbp │ mov rbp, rsp │ test rdi, rdi │ …
//!  then     malloc: jmp hook ┄┄┄┄┄┄┄┄┄┄┄┄┄┄ │ test rdi, rdi │ …
//!                                             ▲
//!           moved:  push rbp │ mov rbp, rsp │ jmp
//! ```
//!
//! Whatever depends on its place leads where it led. A call among it pushes the address behind the old one, so its function returns
//! there, and unwind tables say what they did. Nothing is moved of a function that comes back to its beginning, or of which some
//! instruction is not known: it might.

use unwind::instruction::{Flow, Instruction, LONGEST};

/// Bytes of the jump that takes the place of what is moved.
pub(super) const JUMP: usize = 5;
/// Room for what is moved.
pub(super) const ROOM: usize = 56;
/// Functions that are longer are left alone.
pub(super) const LONGEST_FUNCTION: usize = 1 << 16;

/// `int3`, which also fills up between functions.
const BREAKPOINT: u8 = 0xcc;
/// Where the address stands that a moved call pushes.
const RETURN: usize = ROOM - 8;

/// A jump from one address to another.
pub(super) fn jump(from: u64, to: u64) -> Option<[u8; JUMP]> {
    let [a, b, c, d] = distance(from.wrapping_add(JUMP as u64), to)?.to_le_bytes();
    Some([0xe9, a, b, c, d])
}

/// From the end of an instruction to what it is about.
fn distance(end: u64, to: u64) -> Option<i32> {
    i32::try_from(to.wrapping_sub(end) as i64).ok()
}

/// What does at `to` the same as the beginning of a function at `from`, and goes on in the function behind that, which has
/// [`JUMP`] bytes or more. `None` if it cannot be moved.
///
/// `code` has the function's bytes, so many as `size`, and some behind it.
pub(super) fn beginning(code: &[u8], size: usize, from: u64, to: u64) -> Option<[u8; ROOM]> {
    let mut moved = Moved { bytes: [BREAKPOINT; ROOM], length: 0, to };
    let (mut at, mut is_over) = (0_usize, false);
    while at < JUMP {
        let rest = code.get(at..)?;
        if is_over || at >= size {
            // Nothing of another function: what fills up the last sixteen bytes.
            let padding = padding(rest)?;
            let ends = from.wrapping_add(at as u64);
            if ends.is_multiple_of(16) {
                return None;
            }
            (at, is_over) = (at.wrapping_add(padding), true);
            continue;
        }
        // A debugger's breakpoint is no instruction of the program's.
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

/// Whether a function goes to one of its first bytes again, but for calls of itself; `None` if that cannot be told.
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

/// Bytes of the instruction that fills up here; `None` if there is another one.
fn padding(code: &[u8]) -> Option<usize> {
    let length = Instruction::at(code)?.length;
    let opcode = code.get(..length)?.iter().position(|byte| !matches!(byte, 0x66 | 0x2e))?;
    match code.get(opcode..length)? {
        [0x90 | BREAKPOINT] | [0x0f, 0x1f, ..] => Some(length),
        _ => None,
    }
}

/// What was moved.
struct Moved {
    bytes: [u8; ROOM],
    length: usize,
    /// Where it is to be.
    to: u64,
}

impl Moved {
    /// Puts an instruction that ended at `end` and has these bytes.
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

    /// Puts how far an address is from what follows.
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

    /// Where the next instruction is to be.
    fn end(&self) -> u64 {
        self.to.wrapping_add(self.length as u64)
    }
}

/// Bytes to be looked at of a function: itself, and what may follow within a jump's length.
pub(super) const fn bytes_of(size: usize) -> usize {
    size.saturating_add(JUMP + LONGEST)
}

#[cfg(test)]
mod tests;
