use super::{CachedRules, Rules};
use crate::testing::{CODE, Function, Layout, Segment};
use crate::{CodeAddress, Modules, Rule, RuleTable, Scratch, Sections, SharedRules, SharedSlot};
use std::boxed::Box;
use std::cell::Cell;

/// Modules that count how often they are asked, and have the same code everywhere.
struct Asked {
    tables: Segment,
    code: [u8; 16],
    asked: Cell<u32>,
}

impl Asked {
    /// Modules whose code is these bytes.
    fn with_code(code: &[u8]) -> Self {
        let code = core::array::from_fn(|i| code.get(i).copied().unwrap_or(0x90));
        let function = |start, length| Function { start, length, instructions: b"", signal: false };
        let tables = Segment::build(&[function(0, 256), function(APART, 16)], Layout::Indexed);
        Self { tables, code, asked: Cell::new(0) }
    }

    /// The rule of `address`, and how often the modules were asked for it: twice with a table that caches rules, and
    /// a third time with another thread's table.
    fn thrice(&self, address: CodeAddress) -> [(Option<Rule>, u32); 3] {
        let slots = [const { SharedSlot::new() }; 16];
        let shared = SharedRules::new(&slots);
        let mut scratch = Scratch::new();
        let mut tables = [Box::new(RuleTable::new()), Box::new(RuleTable::new())];
        [0, 0, 1].map(|thread| {
            self.asked.set(0);
            let mut rules = CachedRules::new(&mut tables[thread], shared, self, &mut scratch);
            (rules.rule(address).map(|(rule, _)| rule), self.asked.get())
        })
    }
}

impl Modules for Asked {
    fn find(&self, address: u64) -> Option<Sections<'_>> {
        self.asked.set(self.asked.get() + 1);
        self.tables.find(address)
    }

    fn is_code(&self, address: u64) -> bool {
        self.tables.is_code(address)
    }

    fn code(&self, _address: u64) -> Option<[u8; 16]> {
        Some(self.code)
    }
}

/// Where a function begins, relative to the code: after bytes without a row.
const APART: u32 = 0x200;
/// In the module, without a row.
const BARE: u64 = CODE + 0x8000;
/// Outside of modules.
const JIT: u64 = CODE + 0x1_8000;

const NOPS: &[u8] = b"";
const TRAMPOLINE: &[u8] = b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05";
const STUB: &[u8] = b"\xff\x25\0\0\0\0";
/// Sixteen bytes, ending with a push of rbp and a jump.
const CONTEXT: &[u8] = b"\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\xc3\x55\xff\xe3";
/// Sixteen bytes, ending with a call.
const CALL: &[u8] = b"\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\xe8\0\0\0\0";

/// Check that rules of modules, also that there is none, are computed once per process, and those for other code and
/// for data each time.
#[test]
fn rules_of_modules_are_asked_for_once() {
    let sp = |offset| Rule::new(crate::Kind::Sp, offset, 0);
    for (name, code, address, expected, lasting) in [
        ("row", NOPS, CodeAddress::Exact(CODE), Some(sp(8)), true),
        ("no row", NOPS, CodeAddress::Exact(BARE), Some(Rule::NO_INFORMATION), true),
        ("generated code", NOPS, CodeAddress::Return(JIT), Some(Rule::NO_INFORMATION), false),
        ("no code", NOPS, CodeAddress::Return(0x1234), None, false),
        ("stub", STUB, CodeAddress::Exact(BARE), Some(sp(8)), true),
        ("stubs are not returned to", STUB, CodeAddress::Return(BARE), Some(Rule::NO_INFORMATION), true),
        ("made by hand", NOPS, CodeAddress::Return(CODE + u64::from(APART)), Some(Rule::END), true),
        (
            "the end of a function without a row",
            CALL,
            CodeAddress::Return(CODE + u64::from(APART)),
            Some(Rule::NO_INFORMATION),
            true,
        ),
        ("a context that was jumped into", CONTEXT, CodeAddress::Return(BARE), Some(Rule::END), true),
        (
            "nobody returns into one by chance",
            CONTEXT,
            CodeAddress::Exact(BARE),
            Some(Rule::NO_INFORMATION),
            true,
        ),
        ("inside a function", NOPS, CodeAddress::Return(CODE + u64::from(APART) + 1), Some(sp(8)), true),
        ("trampoline", TRAMPOLINE, CodeAddress::Return(BARE), Some(Rule::SIGNAL), true),
        (
            "trampoline after a function",
            TRAMPOLINE,
            CodeAddress::Return(CODE + 256),
            Some(Rule::SIGNAL),
            true,
        ),
        ("generated trampoline", TRAMPOLINE, CodeAddress::Return(JIT), Some(Rule::SIGNAL), false),
    ] {
        let again = u32::from(!lasting);
        let modules = Asked::with_code(code);
        assert_eq!(modules.thrice(address), [(expected, 1), (expected, again), (expected, again)], "{name}");
    }
}

/// Check that a tag stays with a cached rule, and starts at 0 with every other.
#[test]
fn tags_belong_to_kept_rules() {
    let modules = Asked::with_code(NOPS);
    let (mut table, mut scratch) = (Box::new(RuleTable::new()), Scratch::new());
    let mut rules = CachedRules::new(&mut table, SharedRules::new(&[]), &modules, &mut scratch);
    let mut tag_then_set = |address| {
        let (_, tag) = rules.rule(address).expect("code");
        core::mem::replace(tag, 7)
    };
    for (address, expected) in [
        (CodeAddress::Exact(CODE), [0, 7]),
        (CodeAddress::Exact(JIT), [0, 0]),
        (CodeAddress::Return(BARE), [0, 7]),
    ] {
        assert_eq!([tag_then_set(address), tag_then_set(address)], expected, "{address:x?}");
    }
}
