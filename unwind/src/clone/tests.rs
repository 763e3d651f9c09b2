use super::{Frame, rule, step};
use crate::testing::{CODE, Function, Layout, Segment, Words};
use crate::{CodeAddress, End, Modules, Registers, Rule, Scratch, Sections};

/// The code that a test is about has these bytes around [`CLONE`], and everything else follows a call.
struct Around {
    tables: Segment,
    before: &'static [u8],
    at: &'static [u8],
}

/// Without a row.
const CLONE: u64 = CODE + 0x8000;
/// In the middle of a function that has pushed a word.
const CALLER: u64 = CODE + 0x20;
/// Where a function begins.
const FIRST: u64 = CODE + 0x200;

impl Around {
    fn new(before: &'static [u8], at: &'static [u8]) -> Self {
        let pushes = Function { start: 0, length: 0x100, instructions: b"\x0e\x10", signal: false };
        let first = Function { start: 0x200, length: 0x100, instructions: b"", signal: false };
        Self { tables: Segment::build(&[pushes, first], Layout::Indexed), before, at }
    }
}

impl Modules for Around {
    fn find(&self, address: u64) -> Option<Sections<'_>> {
        self.tables.find(address)
    }

    fn is_code(&self, address: u64) -> bool {
        self.tables.is_code(address)
    }

    fn code(&self, address: u64) -> Option<[u8; 16]> {
        let byte = |at: u64| {
            let around = match at.checked_sub(CLONE) {
                Some(behind) => self.at.get(behind as usize),
                None => self.before.iter().rev().nth((CLONE - at) as usize - 1),
            };
            around.copied().unwrap_or(0xcc)
        };
        Some(match address {
            address if address.abs_diff(CLONE) <= 32 => core::array::from_fn(|i| byte(address + i as u64)),
            _ => core::array::from_fn(|i| [0xff, 0xd0][i % 2]),
        })
    }
}

const CALL: &[u8] = b"\xb8\x38\0\0\0\x0f\x05";
const CALL3: &[u8] = b"\xb8\xb3\x01\0\0\x0f\x05";
const BEHIND: &[u8] = b"\x48\x85\xc0\x7c\x13\x74\x01\xc3";

/// Check that the return from both calls is recognised, and not that from others.
#[test]
fn returns_from_clone_are_recognised() {
    for (before, at, expected) in [
        (CALL, BEHIND, Some(Rule::SLOW)),
        (CALL3, BEHIND, Some(Rule::SLOW)),
        (&b"\xb8\x3c\0\0\0\x0f\x05"[..], BEHIND, None),
        (&b"\xb8\x38\0\0\0\x0f\x0b"[..], BEHIND, None),
        (CALL, &b"\x48\x85\xc0\x7c\x13\x74\x02\xc3"[..], None),
        (CALL, &b"\x48\x85\xc0\x7c\x13\x74\x01\x53"[..], None),
    ] {
        let modules = Around::new(before, at);
        assert_eq!(rule(CodeAddress::Exact(CLONE), &modules), expected, "{before:x?} | {at:x?}");
        assert_eq!(rule(CodeAddress::Return(CLONE), &modules), None);
    }
}

/// Check that each instruction from the system call on is recognised, and no byte between or around them.
#[test]
fn each_instruction_without_a_table_is_recognised() {
    let modules = Around::new(CALL3, BEHIND);
    let recognised = |address: &u64| rule(CodeAddress::Exact(*address), &modules).is_some();
    let found = (CLONE - 16..CLONE + 16).filter(recognised);
    assert!(found.eq([CLONE - 2, CLONE, CLONE + 3, CLONE + 5, CLONE + 7]));
}

/// Check that the old thread goes on to its caller, and that the stack of a new one ends, whatever is on it.
#[test]
fn new_threads_have_no_callers() {
    const SP: u64 = 0x7000;
    let modules = Around::new(CALL3, BEHIND);
    let registers = Registers { ip: CodeAddress::Exact(CLONE), sp: SP, bp: 1 };
    let leave = |word: u64| {
        let mut words = Words::from([(SP, word)]);
        step(&Frame::innermost(registers), &mut words, &modules, &mut Scratch::new())
    };
    assert_eq!(leave(CALLER), Frame::caller(CALLER, SP + 8, 1));
    for word in [0, SP, FIRST, u64::MAX] {
        assert_eq!(leave(word), Err(End::Root), "{word:x}");
    }
    let unread = step(&Frame::innermost(registers), &mut Words::default(), &modules, &mut Scratch::new());
    assert_eq!(unread, Err(End::Unreadable));
}
