//! Rules for code without tables, derived from its instructions up to its epilogue.
//!
//! A function leaves the stack as it found it. So from any of its instructions, each path to a return removes the
//! same number of bytes from the stack, and pops rbp, if the function has changed it, from the same place:
//!
//! ```text
//!  call malloc ─► test %rax,%rax      sp + 0
//!                 je   1f             both paths
//!                 mov  …
//!              1: add  $8,%rsp        sp + 8
//!                 pop  %rbx           sp + 16
//!                 pop  %rbp           sp + 24    the caller's rbp is at sp + 16
//!                 ret                            CFA = sp + 32
//! ```
//!
//! All possible paths are followed, within bounds, and all that meet or return must agree; otherwise nothing is
//! known. What can mislead are calls that never return, which other code may follow. Calls of functions that are
//! known not to return end a path. The others are detected: by the ABI the stack pointer is a multiple of 16 at each
//! call, so a path that begins after a call has removed such a multiple at each further call and at its end; a path
//! that has crossed the beginning of another function has removed 8 bytes too many. An interrupted frame may be
//! anywhere and offers no such check: there, paths end at calls that are followed by padding between functions.
//!
//! The first function of a process or a thread calls another one and passes its result to a function that ends the
//! process or thread:
//!
//! ```text
//!  call *%rbx │ mov %eax,%edi │ call exit
//! ```

pub(crate) mod frame_pointer;

use crate::address::CodeAddress;
use crate::arch::{self, Call};
use crate::code_without_tables::CodeWithoutTables;
use crate::instruction::{Flow, Instruction};
use crate::rule::{Kind, Rule};
use crate::sections::Modules;

/// Most instructions that are read for one rule: at most 30 µs, once.
const INSTRUCTIONS: usize = 2048;
/// Most paths that can wait to be followed; further ones are ignored.
const PATHS: usize = 32;
/// Most jump targets; each is followed once.
const PLACES: usize = 96;
/// Most bytes of a frame.
const LARGEST_FRAME: i32 = 8 << 20;

const RETURN: u8 = 0xc3;
const STACK_POINTER: u8 = 4;
const FRAME_POINTER: u8 = 5;

/// The rule for a frame that executes at `address`; `None` if its instructions do not determine it.
#[cold]
#[inline(never)]
pub(crate) fn rule(text: CodeWithoutTables<'_>, address: CodeAddress) -> Option<Rule> {
    // The instructions are those of x86-64.
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let from = usize::try_from(address.address().checked_sub(text.address)?).ok()?;
    let is_return = matches!(address, CodeAddress::Return(_));
    if is_return {
        let before = text.code.get(from.checked_sub(16)?..from)?.first_chunk()?;
        match arch::call_before(address.address(), before)? {
            Call::Indirect if passes_to_end(text, from) => return Some(Rule::END),
            // What follows is other code.
            Call::Direct(target) if text.is_end(target) => return None,
            Call::Indirect | Call::Direct(_) => {}
        }
    }
    let mut search = Search { text, is_return, found: None, is_start: false, paths: Paths::new(from) };
    let mut left = INSTRUCTIONS;
    while let Some((at, state)) = search.paths.next() {
        search.follow(at, state, &mut left)?;
    }
    match search.found {
        None if search.is_start => Some(Rule::END),
        found => found,
    }
}

/// The rule for a frame in code that belongs to no module, if nothing but the end of its function follows: small
/// functions that only pass a call on, such as those that Python makes to show profilers the functions of scripts.
///
/// ```text
///  sub $8,%rsp │ call *%rcx │ add $8,%rsp │ ret
/// ```
///
/// If the call does not return, other code follows, whose end rarely keeps the stack as the ABI demands: that is checked.
// Cost: a tenth of a microsecond; most code is told apart by its bytes.
#[cold]
pub(crate) fn rule_of_straight_code(address: CodeAddress, modules: &impl Modules) -> Option<Rule> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let ip = address.address();
    let code = modules.code(ip).filter(|code| code.contains(&RETURN))?;
    let is_return = matches!(address, CodeAddress::Return(_));
    if is_return {
        arch::call_before(ip, &modules.code_before(ip)?)?;
    }
    let (mut state, mut rest) = (State::START, &code[..]);
    loop {
        let instruction = Instruction::at(rest)?;
        match instruction.flow {
            Flow::Next => state = state.after(instruction, rest)?,
            // Before its only call, a function may be anywhere.
            Flow::CallAny if !is_return => {}
            Flow::End if instruction.opcode == Some(RETURN) => return state.rule(is_return),
            _ => return None,
        }
        rest = rest.get(instruction.length..)?;
    }
}

/// What the instructions of a path have done so far.
#[derive(Clone, Copy, Debug)]
struct State {
    /// The stack pointer was set from rbp, which has not changed since the beginning of the path.
    is_from_bp: bool,
    /// How far the stack pointer has risen; or its distance from rbp.
    depth: i32,
    /// On the same scale, the place of the word that rbp was popped from.
    popped_bp: Option<i32>,
    /// Words below this were written on the path, by a function that it entered.
    written: i32,
}

struct Search<'t> {
    text: CodeWithoutTables<'t>,
    is_return: bool,
    found: Option<Rule>,
    /// The first function of a process or a thread was found.
    is_start: bool,
    paths: Paths,
}

impl Search<'_> {
    /// Follows a path to its end; `None` when it contradicts another one.
    fn follow(&mut self, mut at: usize, mut state: State, left: &mut usize) -> Option<()> {
        loop {
            let Some(rest) = self.text.code.get(at..).filter(|_| *left > 0) else { return Some(()) };
            *left = left.wrapping_sub(1);
            let Some(instruction) = Instruction::at(rest) else { return Some(()) };
            let behind = at.wrapping_add(instruction.length);
            let target =
                instruction.distance().and_then(|distance| behind.checked_add_signed(distance as isize));
            at = match instruction.flow {
                Flow::Next => match state.after(instruction, rest) {
                    Some(after) => {
                        state = after;
                        behind
                    }
                    None => return Some(()),
                },
                Flow::Branch(..) | Flow::Loop(_) => {
                    if let Some(target) = target
                        && self.paths.come_to(target, state)? == Place::New
                    {
                        self.paths.add(target, state);
                    }
                    behind
                }
                Flow::Jump(_) => match target {
                    Some(target) if self.paths.come_to(target, state)? == Place::New => target,
                    _ => return Some(()),
                },
                Flow::Call(_) if self.never_returns(target) => return Some(()),
                Flow::Call(_) | Flow::CallAny if self.is_elsewhere(state) || self.ends_at(behind) => {
                    return Some(());
                }
                Flow::CallAny if passes_to_end(self.text, behind) => {
                    self.is_start = true;
                    return Some(());
                }
                Flow::Call(_) | Flow::CallAny => behind,
                Flow::End => {
                    let is_return = instruction.opcode == Some(RETURN);
                    return if is_return { self.returns(state) } else { Some(()) };
                }
            };
            // An earlier jump led here, and that path was followed from here.
            if at == behind && self.paths.meets(at, state)? {
                return Some(());
            }
        }
    }

    fn never_returns(&self, target: Option<usize>) -> bool {
        target.is_some_and(|target| self.text.is_end(self.text.address.wrapping_add(target as u64)))
    }

    /// True when a path that began after a call has come to another call in a state that no function allows.
    fn is_elsewhere(&self, state: State) -> bool {
        self.is_return && !state.is_from_bp && state.depth & 15 != 0
    }

    /// True when padding as between functions follows a call, which therefore does not return. Padding also precedes
    /// loops, so it is not used where the CFA tells whether a path has crossed into another function.
    fn ends_at(&self, behind: usize) -> bool {
        !self.is_return && is_filled_up(self.text.code, behind)
    }

    /// A path has come to a return; `None` if another path came to one differently.
    fn returns(&mut self, state: State) -> Option<()> {
        let Some(rule) = state.rule(self.is_return) else { return Some(()) };
        match self.found {
            Some(found) if found != rule => None,
            _ => {
                self.found = Some(rule);
                Some(())
            }
        }
    }
}

impl State {
    /// Where a path begins.
    const START: State =
        State { is_from_bp: false, depth: 0, popped_bp: None, written: LARGEST_FRAME.wrapping_neg() };

    /// The state after an instruction that continues with the next one; `None` if it is unknown.
    fn after(self, instruction: Instruction, code: &[u8]) -> Option<State> {
        let Some(opcode) = instruction.opcode else { return Some(self) };
        let (operation, register) =
            (instruction.modrm.map_or(0, |byte| byte >> 3 & 7), instruction.modrm.map(|byte| byte & 7));
        let is_register = instruction.modrm.is_some_and(|byte| byte >> 6 == 3);
        let bytes = code.get(..instruction.length)?;
        let number = |length| signed(bytes, length);
        // With REX's extension bit, a register is none of these.
        let first_of_eight = |bit: u8| instruction.rex & bit == 0;
        let to_register = |number| is_register && register == Some(number) && first_of_eight(1);
        let names = |number| operation == number && first_of_eight(4);
        match opcode {
            0x50..=0x57 | 0x68 | 0x6a | 0x9c => self.moved(-8),
            0xff if operation == 6 => self.moved(-8),
            0x58..=0x5f if first_of_eight(1) && opcode & 7 == STACK_POINTER => None,
            0x58..=0x5f if first_of_eight(1) && opcode & 7 == FRAME_POINTER => self.pops_bp(),
            0x58..=0x5f | 0x9d => self.moved(8),
            0xc9 => self.at_bp(0)?.pops_bp(),
            // add, sub
            0x83 if to_register(STACK_POINTER) && operation == 0 => self.moved(number(1)?),
            0x83 if to_register(STACK_POINTER) && operation == 5 => self.moved(number(1)?.checked_neg()?),
            0x81 if to_register(STACK_POINTER) && operation == 0 => self.moved(number(4)?),
            0x81 if to_register(STACK_POINTER) && operation == 5 => self.moved(number(4)?.checked_neg()?),
            // cmp changes nothing.
            0x80 | 0x81 | 0x83 if operation == 7 => Some(self),
            // lea off(%rsp),%rsp and lea off(%rbp),%rsp
            0x8d if names(STACK_POINTER) => self.addressed(instruction, bytes),
            // mov %rbp,%rsp, in both encodings
            0x89 if to_register(STACK_POINTER) && names(FRAME_POINTER) => self.at_bp(0),
            0x8b if names(STACK_POINTER) && to_register(FRAME_POINTER) => self.at_bp(0),
            // test and cmp only read; the others put an unknown value into the register.
            0x38..=0x3b | 0x84 | 0x85 => Some(self),
            0x01 | 0x09 | 0x11 | 0x19 | 0x21 | 0x29 | 0x31 | 0x81 | 0x83 | 0x87 | 0x89 | 0xc1 | 0xc7
            | 0xd1 | 0xd3
                if to_register(STACK_POINTER) =>
            {
                None
            }
            0x03 | 0x0b | 0x13 | 0x1b | 0x23 | 0x2b | 0x33 | 0x63 | 0x69 | 0x6b | 0x87 | 0x8b
                if names(STACK_POINTER) =>
            {
                None
            }
            0xf7 | 0xff if to_register(STACK_POINTER) => None,
            0x94 | 0xbc if first_of_eight(1) => None,
            // enter, and pop to memory
            0xc8 | 0x8f => None,
            _ => Some(self),
        }
    }

    /// The depth of the stack as one number: of two paths to a place, one may have taken it from rbp.
    fn height(self) -> i32 {
        if self.is_from_bp { self.depth.wrapping_add(LARGEST_FRAME) } else { self.depth }
    }

    /// `lea` to the stack pointer.
    fn addressed(self, instruction: Instruction, bytes: &[u8]) -> Option<State> {
        let modrm = instruction.modrm?;
        let length = match modrm >> 6 {
            1 => 1,
            2 => 4,
            _ => return None,
        };
        let offset = signed(bytes, length)?;
        let sib = bytes.get(bytes.len().checked_sub(length)?.checked_sub(1)?)?;
        match modrm & 7 {
            // A base without an index.
            4 if *sib == 0x24 && instruction.rex & 3 == 0 => self.moved(offset),
            5 if instruction.rex & 1 == 0 => self.at_bp(offset),
            _ => None,
        }
    }

    fn moved(self, bytes: i32) -> Option<State> {
        let depth = self.depth.checked_add(bytes)?;
        let written = if bytes < 0 { self.written.max(self.depth) } else { self.written };
        (depth.unsigned_abs() < LARGEST_FRAME as u32).then_some(State { depth, written, ..self })
    }

    /// The stack pointer is at this distance from rbp, which is unchanged.
    fn at_bp(self, depth: i32) -> Option<State> {
        self.popped_bp.is_none().then_some(State {
            is_from_bp: true,
            depth,
            popped_bp: None,
            written: -LARGEST_FRAME,
        })
    }

    /// If rbp was pushed on the path, popping restores the value it has.
    fn pops_bp(self) -> Option<State> {
        let popped_bp = if self.depth < self.written { self.popped_bp } else { Some(self.depth) };
        State { popped_bp, ..self }.moved(8)
    }

    /// The rule, if the function returns here. A frame left by a call is a multiple of 16 bytes.
    fn rule(self, is_return: bool) -> Option<Rule> {
        let cfa = self.depth.checked_add(8)?;
        if cfa < 8 || is_return && cfa & 15 != 0 {
            return None;
        }
        let popped = match self.popped_bp {
            Some(place) => Some(i32::from(i16::try_from(place.checked_sub(cfa)?).ok()?)),
            None => None,
        };
        Some(match (self.is_from_bp, popped) {
            (false, None) => Rule::new(Kind::Sp, cfa, 0),
            (false, Some(offset)) => Rule::new(Kind::SpSavesBp, cfa, offset),
            (true, None) => Rule::new(Kind::Bp, cfa, 0),
            (true, Some(offset)) => Rule::new(Kind::BpSavesBp, cfa, offset),
        })
    }
}

/// The last `length` bytes as a number.
fn signed(bytes: &[u8], length: usize) -> Option<i32> {
    let last = bytes.get(bytes.len().checked_sub(length)?..)?;
    match (last.first_chunk::<4>(), last.first()) {
        (Some(four), _) => Some(i32::from_le_bytes(*four)),
        (None, Some(one)) => Some(i32::from(*one as i8)),
        _ => None,
    }
}

/// Whether there is padding, as between functions and before loops.
fn is_filled_up(code: &[u8], at: usize) -> bool {
    // Nops, with operands and prefixes.
    let fillers: [&[u8]; 7] = [
        &[0x90],
        &[0x0f, 0x1f],
        &[0x66, 0x90],
        &[0x66, 0x0f, 0x1f],
        &[0x2e, 0x0f, 0x1f],
        &[0x66, 0x2e, 0x0f, 0x1f],
        &[0x66, 0x66, 0x2e, 0x0f, 0x1f],
    ];
    let rest = code.get(at..).unwrap_or(&[]);
    fillers.iter().any(|filler| rest.starts_with(filler))
}

/// Whether the result of a call is passed to a function that ends the process or the thread.
fn passes_to_end(text: CodeWithoutTables<'_>, behind: usize) -> bool {
    // mov %eax,%edi; mov %rax,%rdi; movslq %eax,%rdi; cltq and mov %rax,%rdi
    let moves: [&[u8]; 4] =
        [&[0x89, 0xc7], &[0x48, 0x89, 0xc7], &[0x48, 0x63, 0xf8], &[0x48, 0x98, 0x48, 0x89, 0xc7]];
    let Some(rest) = text.code.get(behind..) else { return false };
    moves.iter().any(|bytes| {
        let next = rest.strip_prefix(*bytes).and_then(Instruction::at);
        let Some((instruction, Flow::Call(distance) | Flow::Jump(distance))) =
            next.map(|next| (next, next.flow))
        else {
            return false;
        };
        let target = behind.wrapping_add(bytes.len()).wrapping_add(instruction.length);
        let target = target.wrapping_add_signed(distance as isize);
        text.takes_result(text.address.wrapping_add(target as u64))
    })
}

/// A jump target, as seen by a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// No jump has led there so far.
    New,
    /// Another path has jumped there and is followed.
    Known,
    /// There is no room to remember it.
    Beyond,
}

/// The paths that are still to be followed, and the jump targets.
struct Paths {
    waiting: [(u32, State); PATHS],
    count: usize,
    /// Each with the depth of the stack there.
    places: [(u32, i32); PLACES],
    known: usize,
}

impl Paths {
    fn new(from: usize) -> Self {
        let waiting = [(0, State::START); PATHS];
        let mut paths = Self { waiting, count: 0, places: [(0, 0); PLACES], known: 0 };
        paths.add(from, State::START);
        paths
    }

    /// Queues a path to be followed later, if there is room.
    fn add(&mut self, at: usize, state: State) {
        if let (Some(place), Ok(at)) = (self.waiting.get_mut(self.count), u32::try_from(at)) {
            *place = (at, state);
            self.count = self.count.wrapping_add(1);
        }
    }

    fn next(&mut self) -> Option<(usize, State)> {
        self.count = self.count.checked_sub(1)?;
        self.waiting.get(self.count).map(|(at, state)| (*at as usize, *state))
    }

    /// Whether a place is known; `None` if another path got there with a different stack.
    fn meets(&self, at: usize, state: State) -> Option<bool> {
        let known = self.places.get(..self.known).unwrap_or(&[]);
        match known.iter().find(|(place, _)| *place as usize == at) {
            Some((_, depth)) => (*depth == state.height()).then_some(true),
            None => Some(false),
        }
    }

    /// A jump leads to a place; `None` if another path got there with a different stack.
    fn come_to(&mut self, at: usize, state: State) -> Option<Place> {
        if self.meets(at, state)? {
            return Some(Place::Known);
        }
        let (Some(place), Ok(at)) = (self.places.get_mut(self.known), u32::try_from(at)) else {
            return Some(Place::Beyond);
        };
        *place = (at, state.height());
        self.known = self.known.wrapping_add(1);
        Some(Place::New)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
