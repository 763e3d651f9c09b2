use super::{End, step, walk};
use crate::testing::{CODE, Function, Layout, Segment, Words};
use crate::{
    CachedRules, CodeAddress, Frame, Kind, Registers, Rule, RuleTable, Scratch, SharedRules,
    arch::SignalContext,
};
use std::boxed::Box;
use std::vec::Vec;

const START: Registers = Registers { ip: CodeAddress::Exact(CODE), sp: 0x1000, bp: 0x1100 };

/// Runs `function` with the rules of these tables.
fn with_rules<T>(tables: &Segment, function: impl FnOnce(&mut CachedRules<'_, Segment>) -> T) -> T {
    let (mut table, mut scratch) = (Box::new(RuleTable::new()), Scratch::new());
    function(&mut CachedRules::new(&mut table, SharedRules::new(&[]), tables, &mut scratch))
}

/// Check that each kind of rule leads where its documentation says, and stops at anything that no stack can contain.
#[test]
fn each_kind_has_its_step() {
    let rule = |kind, cfa, bp| Rule::new(kind, cfa, bp);
    let caller = |address, sp, bp| Frame::caller(address, sp, bp);
    let interrupted = Frame::interrupted(7, 0x800, 9, SignalContext::at(0x1000));
    let context = |sp| [(0x1078, 9), (0x10a0, sp), (0x10a8, 7)];
    for (name, rule, words, expected) in [
        ("sp", rule(Kind::Sp, 16, 0), &[(0x1008, 7)][..], caller(7, 0x1010, 0x1100)),
        ("sp, saved", rule(Kind::SpSavesBp, 24, -16), &[(0x1010, 7), (0x1008, 5)], caller(7, 0x1018, 5)),
        ("bp", rule(Kind::Bp, 16, 0), &[(0x1108, 7)], caller(7, 0x1110, 0x1100)),
        ("bp, saved", rule(Kind::BpSavesBp, 16, -16), &[(0x1108, 7), (0x1100, 5)], caller(7, 0x1110, 5)),
        (
            "deref",
            rule(Kind::Deref, -8, 0),
            &[(0x10f8, 0x1200), (0x1100, 5), (0x11f8, 7)],
            caller(7, 0x1200, 5),
        ),
        ("end", Rule::END, &[], Err(End::Root)),
        ("signal", Rule::SIGNAL, &context(0x800), interrupted),
        ("signal, odd stack", Rule::SIGNAL, &context(0x804), Err(End::Broken)),
        (
            "signal, kernel address",
            Rule::SIGNAL,
            &[(0x1078, 9), (0x10a0, 0x800), (0x10a8, 1 << 63)],
            Err(End::Broken),
        ),
        ("signal, no context", Rule::SIGNAL, &[], Err(End::Unreadable)),
        ("not above", rule(Kind::Sp, 0, 0), &[(0xff8, 7)], Err(End::Broken)),
        ("below", rule(Kind::Bp, -0x200, 0), &[(0xef8, 7)], Err(End::Broken)),
        ("deref not above", rule(Kind::Deref, -8, 0), &[(0x10f8, 0x1000), (0x1100, 5)], Err(End::Broken)),
        ("odd", rule(Kind::Sp, 12, 0), &[(0x1000, 7)], Err(End::Broken)),
        ("no return address", rule(Kind::Sp, 16, 0), &[], Err(End::Unreadable)),
        ("no saved rbp", rule(Kind::SpSavesBp, 24, -16), &[(0x1010, 7)], Err(End::Unreadable)),
        ("outermost", rule(Kind::Sp, 16, 0), &[(0x1008, 0)], Err(End::Root)),
        ("kernel address", rule(Kind::Sp, 16, 0), &[(0x1008, 1 << 63)], Err(End::Broken)),
        ("no rule", Rule::NONE, &[(0x1008, 7)], Err(End::Broken)),
    ] {
        let mut memory = Words(words.iter().copied().collect());
        let frame = Frame::innermost(START);
        let found = with_rules(&Segment::of(b""), |rules| step(rule, frame, &mut memory, rules));
        assert_eq!(found, expected, "{name}");
    }
}

/// Check that a walk visits the frames in order, distinguishes the kinds of addresses, and ends where the chain does.
#[test]
fn walks_visit_frames_in_order() {
    let functions = [
        Function { start: 0, length: 0x10, instructions: b"", signal: false },
        Function { start: 0x10, length: 0x10, instructions: b"\x0e\x18", signal: false },
        Function { start: 0x20, length: 0x10, instructions: b"\x07\x10", signal: false },
    ];
    let tables = Segment::build(&functions, Layout::Indexed);
    // Three calls; the last one is the last instruction of its function.
    let mut memory = Words::from([(0x1000, CODE + 0x18), (0x1018, CODE + 0x20), (0x1030, CODE + 0x28)]);
    let expected =
        [CodeAddress::Exact(CODE), CodeAddress::Return(CODE + 0x18), CodeAddress::Return(CODE + 0x20)];
    for (max_depth, depth, end) in [(0, 0, End::Truncated), (3, 3, End::Truncated), (4, 4, End::Root)] {
        let mut seen = Vec::new();
        let found = with_rules(&tables, |rules| {
            walk(START, &mut memory, rules, max_depth, |code, _| seen.push(code))
        });
        assert_eq!(found, end, "limit {max_depth}");
        assert_eq!(seen.len(), depth);
        assert!(seen.iter().zip(&expected).all(|(a, b)| a == b));
    }
}

/// Check that addresses that are not code are never visited, wherever a walk meets them.
#[test]
fn only_code_is_visited() {
    let tables = Segment::of(b"");
    for (start, returns, depth) in [
        (CodeAddress::Return(0), 0, 0),
        (CodeAddress::Exact(0), 0, 0),
        (CodeAddress::Exact(CODE - 0x1000), 0, 0),
        (CodeAddress::Exact(CODE), CODE - 0x1000, 1),
        (CodeAddress::Exact(CODE), u64::MAX, 1),
    ] {
        let mut seen = 0;
        let mut memory = Words::from([(0x1000, returns)]);
        let start = Registers { ip: start, ..START };
        let end = with_rules(&tables, |rules| walk(start, &mut memory, rules, 10, |_, _| seen += 1));
        assert_eq!((end, seen), (End::Broken, depth), "{start:x?}, {returns:#x}");
    }
}
