use super::step;
use crate::testing::{CODE, Segment, Words};
use crate::{
    CachedRules, CodeAddress, End, Frame, Modules, Registers, RuleTable, Scratch, Sections, SharedRules,
};
use std::boxed::Box;

/// One function with a table at [`CODE`], in memory whose code can be read.
struct Coded {
    tables: Segment,
    /// The code before each return address ends with these bytes.
    before: [u8; 16],
    /// The code at the target of a call.
    at: [u8; 16],
}

impl Modules for Coded {
    fn find(&self, address: u64) -> Option<Sections<'_>> {
        self.tables.find(address)
    }

    fn is_code(&self, address: u64) -> bool {
        self.tables.is_code(address)
    }

    fn code(&self, address: u64) -> Option<[u8; 16]> {
        Some(if [JIT - 16, BARE - 16].contains(&address) { self.before } else { self.at })
    }
}

/// Code without a table: in the module, after its only function.
const BARE: u64 = CODE + 0x8000;
/// Code outside of modules.
const JIT: u64 = CODE + 0x1_8000;

/// Leaves a frame with sp 0x1000 and this rbp.
fn leave(bp: u64, words: [(u64, u64); 2], before: &[u8]) -> Result<Frame, End> {
    leave_after(bp, words, before, [0x90; 16])
}

/// The same, but the called code begins with `at`.
fn leave_after(bp: u64, words: [(u64, u64); 2], before: &[u8], at: [u8; 16]) -> Result<Frame, End> {
    let mut code = [0x90; 16];
    code[16 - before.len()..].copy_from_slice(before);
    let modules = Coded { tables: Segment::of(b""), before: code, at };
    let (mut table, mut scratch) = (Box::new(RuleTable::new()), Scratch::new());
    let mut rules = CachedRules::new(&mut table, SharedRules::new(&[]), &modules, &mut scratch);
    let frame = Frame::innermost(Registers { ip: CodeAddress::Return(JIT), sp: 0x1000, bp });
    step(&frame, &mut Words::from(words), &mut rules)
}

/// `call *%rax`.
const INDIRECT: &[u8] = b"\xff\xd0";

/// Check that a plausible frame is left, and each kind of implausible one is not.
#[test]
fn only_plausible_frames_are_left() {
    let caller = |address, bp| Frame::caller(address, 0x1050, bp);
    let none = Err(End::NoUnwindInfo);
    for (name, bp, saved, returns, expected) in [
        ("ordinary", 0x1040, 0x1080, JIT, caller(JIT, 0x1080)),
        ("back into a module, which needs no frame pointer", 0x1040, 3, BARE, caller(BARE, 3)),
        ("the chain falls", 0x1040, 0x1000, JIT, none),
        ("the chain stands still", 0x1040, 0x1040, JIT, none),
        ("below the stack pointer", 0xff8, 0x1080, JIT, none),
        ("odd", 0x1044, 0x1080, JIT, none),
        ("not code", 0x1040, 0x1080, 0x1234, none),
        ("outermost by its return address", 0x1040, 0, 0, Err(End::Root)),
        ("no frame pointer", 0, 0x1080, JIT, none),
        ("highest address", u64::MAX - 7, 3, BARE, none),
    ] {
        let words = [(bp & !7, saved), ((bp & !7).wrapping_add(8), returns)];
        assert_eq!(leave(bp, words, INDIRECT), expected, "{name}");
    }
    assert_eq!(leave(0x1040, [(0x1040, 0x1080), (0x1050, JIT)], INDIRECT), none, "unreadable");
}

/// Check that a frame pointer of 0 marks the outermost frame only on the stack of a new process.
#[test]
fn outermost_frames_begin_a_process() {
    let end = |words: &[(u64, u64)]| {
        let modules = Coded { tables: Segment::of(b""), before: [0x90; 16], at: [0x90; 16] };
        let (mut table, mut scratch) = (Box::new(RuleTable::new()), Scratch::new());
        let mut rules = CachedRules::new(&mut table, SharedRules::new(&[]), &modules, &mut scratch);
        let frame = Frame::innermost(Registers { ip: CodeAddress::Return(JIT), sp: 0x1000, bp: 0 });
        step(&frame, &mut Words(words.iter().copied().collect()), &mut rules).expect_err("it has no caller")
    };
    let two = [(0x1000, 2), (0x1008, 0x1800), (0x1010, 0x1810), (0x1018, 0)];
    assert_eq!(end(&two), End::Root);
    let aligned = two.map(|(address, word)| (address + 8, word));
    assert_eq!(end(&aligned), End::Root);
    for (place, word) in [(0, 0), (0, 1), (0, u64::MAX), (1, 0), (1, 0xff0), (2, 0), (2, 1 << 40), (3, 8)] {
        let mut other = two;
        other[place].1 = word;
        assert_eq!(end(&other), End::NoUnwindInfo, "{place}: {word:#x}");
        assert_eq!(end(&two[..place]), End::NoUnwindInfo, "{place} words");
    }
}

/// Check that the return address must follow a call, and that a direct call must not lead to code that has a table.
#[test]
fn return_addresses_follow_a_possible_call() {
    let call = |target: u64| {
        let distance = (target.wrapping_sub(JIT) as u32).to_le_bytes();
        [&[0xe8][..], &distance].concat()
    };
    let words = [(0x1040, 0x1080), (0x1048, JIT)];
    let left = Frame::caller(JIT, 0x1050, 0x1080);
    assert_eq!(leave(0x1040, words, INDIRECT), left);
    assert_eq!(leave(0x1040, words, &call(BARE)), left);
    assert_eq!(leave(0x1040, words, &call(JIT + 64)), left);
    // The called function has a table, so its frame would not be this one.
    assert_eq!(leave(0x1040, words, &call(CODE)), Err(End::NoUnwindInfo));
    // Unless it is a PLT stub, which has a table and may lead anywhere.
    let stub = core::array::from_fn(|i| if i < 2 { [0xff, 0x25][i] } else { 0 });
    assert_eq!(leave_after(0x1040, words, &call(CODE), stub), left);
    // Not code at all.
    assert_eq!(leave(0x1040, words, &call(CODE - 64)), Err(End::NoUnwindInfo));
    assert_eq!(leave(0x1040, words, b"\x90\x90"), Err(End::NoUnwindInfo));
}
