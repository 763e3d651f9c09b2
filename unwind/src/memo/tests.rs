//! A made-up machine calls and returns at random; each of its stacks is walked with and without the memo.

mod machine;

use self::machine::{BARE, BY_BP, EVALUATED, LENGTH, Machine, OUTERMOST, PLAIN, REALIGNED, SAVES, tables};
use super::identity::Identity;
use super::places::Places;
use super::seen::{Bp, Past, Seen};
use super::stack::Stack;
use super::{Accessors, Label, Labels, Memos};
use crate::testing::{CODE, Segment, Words};
use crate::{
    CachedRules, CodeAddress, End, Kind, Memory, Registers, Rule, RuleTable, Scratch, SharedRules, arch, cfi,
    walk,
};
use crate::{SavedWord, SavedWords};
use proptest::prelude::*;
use std::boxed::Box;
use std::collections::HashMap;
use std::vec::Vec;

/// Labels that stand for whole stacks, outermost frame first.
#[derive(Default)]
struct Stacks {
    labels: HashMap<Vec<u64>, Label>,
    stacks: Vec<Vec<u64>>,
    codes: Vec<u64>,
    new_frames: usize,
}

impl Stacks {
    fn label(&mut self, stack: Vec<u64>) -> Label {
        let stacks = &mut self.stacks;
        *self.labels.entry(stack.clone()).or_insert_with(|| {
            stacks.push(stack);
            // If the memo mixes anything up, the two words no longer match.
            let id = stacks.len() as u32 - 1;
            Label { id, key: !id }
        })
    }
}

impl Labels for Stacks {
    fn number(&mut self, address: CodeAddress, _tag: &mut u32) -> u32 {
        self.codes.push(address.to_bits());
        self.codes.len() as u32
    }

    fn empty(&mut self, end: End) -> Option<u64> {
        Some(self.label(Vec::from([end as u64])).to_bits())
    }

    fn longer(&mut self, label: Label, number: u32) -> Option<Label> {
        self.new_frames += 1;
        assert_eq!(label.key, !label.id);
        let mut stack = self.stacks[label.id as usize].clone();
        stack.push(self.codes[number as usize - 1]);
        Some(self.label(stack))
    }
}

/// Zeroed memory, aligned as memos need it.
#[derive(Clone)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

/// Walks stacks in both ways.
struct Checker {
    tables: Segment,
    table: Box<RuleTable>,
    scratch: Scratch,
    _memory: Vec<Line>,
    memos: Memos<'static>,
    depth: usize,
    stacks: Stacks,
}

impl Checker {
    /// For stacks of up to `depth` frames, with room for more if that is odd.
    fn new(depth: usize) -> Self {
        let room = if depth.is_multiple_of(2) { depth } else { 2 * depth };
        let mut memory = std::vec![Line { _bytes: [0; 64] }; Memos::bytes(room).div_ceil(64)];
        // SAFETY: the vector's lines stay where they are as long as the checker, their only user, exists.
        let memos = unsafe { Memos::from_raw(memory.as_mut_ptr().cast(), room) }.up_to(depth);
        Self {
            tables: tables(),
            table: Box::new(RuleTable::new()),
            scratch: Scratch::new(),
            _memory: memory,
            memos,
            depth,
            stacks: Stacks::default(),
        }
    }

    /// The stack with the memo and without.
    fn both(&mut self, start: Registers, memory: &mut impl Memory) -> (Vec<u64>, Vec<u64>) {
        let shared = SharedRules::new(&[]);
        let rules = CachedRules::new(&mut self.table, shared, &self.tables, &mut self.scratch);
        let mut accessors = Accessors { memory, rules, labels: &mut self.stacks };
        let label = self.memos.stack(start, &mut accessors).expect("labels do not run out");
        let mut whole = Vec::new();
        let Accessors { memory, mut rules, .. } = accessors;
        let end = walk(start, memory, &mut rules, self.depth, |code, _| whole.push(code.to_bits()));
        whole.push(end as u64);
        whole.reverse();
        (self.stacks.stacks[Label::from_bits(label).id as usize].clone(), whole)
    }

    fn check(&mut self, start: Registers, memory: &mut impl Memory) {
        let same = self.memos.same(start, memory);
        let (found, expected) = self.both(start, memory);
        assert_eq!(found, expected);
        if let Some(label) = same {
            assert_eq!(self.stacks.stacks[Label::from_bits(label).id as usize], expected);
        }
    }
}

/// Check that a frame whose rule is evaluated anew is one that the memo must leave alone: no rule describes it.
#[test]
fn evaluated_frames_have_no_rule() {
    let (tables, mut scratch) = (tables(), Scratch::new());
    let rule =
        |function| cfi::rule(tables.sections(), CodeAddress::Exact(CODE + function * LENGTH), &mut scratch);
    let kinds = [PLAIN, SAVES, BY_BP, EVALUATED].map(rule).map(Rule::kind);
    assert_eq!(kinds, [Kind::Sp, Kind::SpSavesBp, Kind::BpSavesBp, Kind::Slow].map(Some));
}

/// Reads like its inner memory, but claims without checking that older saved words are unchanged.
struct Forgetful<'a>(&'a mut Words);

impl Memory for Forgetful<'_> {
    fn read(&mut self, address: u64) -> Option<u64> {
        self.0.read(address)
    }

    fn unchanged<W: AsRef<SavedWord> + Copy>(&mut self, words: SavedWords<'_, W>) -> usize {
        let count = words.as_slice().len();
        let newest = words.as_slice().iter().map(AsRef::as_ref).rev().take(4).rev();
        let good = newest.take_while(|word| self.0.read(word.address) == Some(word.value));
        count.saturating_sub(4) + good.count()
    }
}

/// Two stacks that take turns and differ in one call far below nine newer frames.
fn two_calls_far_below(mut walk: impl FnMut(Registers, &mut Words)) {
    let mut machine = Machine::new(0x10_0000);
    for turn in 0..100 {
        machine.call(1, turn % 2, PLAIN, 0, 0);
        for depth in 2..11 {
            machine.call(depth, 0, SAVES, 0, 0x77);
        }
        walk(machine.start(), &mut machine.words);
    }
}

/// Check that a stack which differs from the last one only in its oldest call is told apart from it.
#[test]
fn a_call_far_below_is_seen() {
    if !arch::SUPPORTED {
        return;
    }
    let mut checker = Checker::new(64);
    two_calls_far_below(|start, words| checker.check(start, words));
}

/// Check that the test would fail if only the newest words were compared.
#[test]
fn comparing_a_part_would_be_wrong() {
    if !arch::SUPPORTED {
        return;
    }
    let (mut checker, mut wrong) = (Checker::new(64), 0);
    two_calls_far_below(|start, words| {
        let (found, expected) = checker.both(start, &mut Forgetful(words));
        wrong += u32::from(found != expected);
    });
    assert!(wrong > 40, "{wrong} of 100");
}

/// Check that frames which stay are not walked again, and that a stack which changes altogether soon costs no more.
#[test]
fn old_frames_are_met() {
    if !arch::SUPPORTED {
        return;
    }
    let mut checker = Checker::new(64);
    let mut machine = Machine::new(0x10_0000);
    for depth in 1..40 {
        machine.call(depth, 0, PLAIN, 0, 0);
    }
    checker.check(machine.start(), &mut machine.words);
    let before = checker.stacks.new_frames;
    for turn in 0..100 {
        machine.call(37, 1 + turn % 3, SAVES, 0, turn);
        machine.call(38, 0, PLAIN, 0, 0);
        checker.check(machine.start(), &mut machine.words);
    }
    // The caller whose call changed, and the two functions that it called; each of the three chains until it was
    // kept.
    assert_eq!(checker.stacks.new_frames - before, 3 * 3 * 2);
}

/// Check that a stack is met again whose frames are further apart than their places can distinguish, and that it is
/// walked as usual where frames have replaced others.
#[test]
fn large_stacks_are_met() {
    if !arch::SUPPORTED {
        return;
    }
    let mut checker = Checker::new(128);
    let mut machine = Machine::new(0x10_0000);
    // The last of 60 frames of 528 bytes have the same addresses as the first, modulo 4 KiB.
    for depth in 1..60 {
        machine.call(depth, 0, BY_BP, 512, 0);
    }
    checker.check(machine.start(), &mut machine.words);
    for (turn, keep) in (1..).zip([58, 57, 58, 40, 58, 20, 21, 22, 10, 58, 58]) {
        for depth in keep..60 {
            machine.call(depth, turn, BY_BP, 512, 0);
        }
        let before = checker.stacks.new_frames;
        checker.check(machine.start(), &mut machine.words);
        let walked = checker.stacks.new_frames - before;
        // The newly called frames and their caller, and at most a few above that have been replaced.
        let new = 60 - keep + 1;
        assert!((new..=new + 8).contains(&walked), "turn {turn}: {walked} for {new}");
    }
}

/// Check that stacks that take turns are not walked again, as long as everything that leads through them is
/// unchanged, and that a single changed word is noticed, wherever it is.
#[test]
fn stacks_in_turn_are_recalled() {
    if !arch::SUPPORTED {
        return;
    }
    let mut checker = Checker::new(64);
    let mut machine = Machine::new(0x10_0000);
    let functions = [PLAIN, SAVES, BY_BP, REALIGNED];
    let leaves = |machine: &mut Machine, turn: usize| {
        let (base, site) = (turn / 5 % 2, turn % 5);
        for depth in 1..17 {
            machine.call(depth, u64::from(depth == 5) * base as u64, functions[depth % 3], 32, 0x20);
        }
        machine.call(17, site as u64, functions[site % 4], 32, 0x30);
        machine.call(18, 1, functions[site % 3], 32, 0x40);
        machine.call(19, 2, functions[site % 2], 0, 0x50 + turn as u64);
    };
    let walked: Vec<usize> = (0..60)
        .map(|turn| {
            let before = checker.stacks.new_frames;
            leaves(&mut machine, turn);
            checker.check(machine.start(), &mut machine.words);
            checker.stacks.new_frames - before
        })
        .collect();
    // Each chain until it was kept; and what is below it where the base changes.
    assert!(
        walked.iter().skip(30).enumerate().all(|(turn, walked)| turn % 5 == 0 || *walked == 0),
        "{walked:?}"
    );
    // Each word in turn is overwritten, in a stack that is not the last one.
    for turn in 0..20 {
        leaves(&mut machine, turn);
        let lowest = machine.start().sp;
        let words: Vec<u64> = machine.words.0.range(lowest..).map(|(address, _)| *address).collect();
        for word in words {
            leaves(&mut machine, turn + 1);
            checker.check(machine.start(), &mut machine.words);
            leaves(&mut machine, turn);
            let old = machine.words.0.get(&word).copied().expect("it is there");
            for value in [0x66, old ^ 8, old] {
                machine.words.0.insert(word, value);
                checker.check(machine.start(), &mut machine.words);
            }
        }
        // Or the newest function is entered with another rbp.
        leaves(&mut machine, turn + 1);
        checker.check(machine.start(), &mut machine.words);
        leaves(&mut machine, turn);
        let start = machine.start();
        checker.check(Registers { bp: start.bp ^ 8, ..start }, &mut machine.words);
    }
}

/// Check that a chain only counts for the very frame that it belonged to: every difference of that frame is noticed.
#[test]
fn roots_are_compared_whole() {
    let word = SavedWord { address: 0x1000, value: CODE + 1 };
    let identity = Identity::of(CODE + 1, 0x1008);
    let past = Past { label: 3, bp: 7, frames: 2, bp_is: Bp::Live, identity };
    let seen = Seen { word, past };
    let with = |past| Seen { past, ..seen };
    let [address, value] = if arch::PUSHES_RETURN_ADDRESS {
        [SavedWord { address: 0xff8, ..word }, SavedWord { value: CODE + 2, ..word }]
            .map(|word| Seen { word, ..seen })
    } else {
        [Identity::of(CODE + 1, 0x1000), Identity::of(CODE + 2, 0x1008)]
            .map(|identity| with(Past { identity, ..past }))
    };
    let others = [
        address,
        value,
        with(Past { label: 4, ..past }),
        with(Past { bp: 8, ..past }),
        with(Past { frames: 3, ..past }),
        with(Past { bp_is: Bp::Dead, ..past }),
    ];
    // SAFETY: zeros are valid places.
    let mut places = unsafe { Box::<Places>::new_zeroed().assume_init() };
    let mut words = [Seen::default(), seen, seen];
    let mut stack = Stack::new(&mut words, &mut places);
    stack.len = 2;
    assert!(stack.has(2, &seen));
    assert!(!stack.has(3, &seen), "it has left");
    assert_eq!(others.map(|other| stack.has(2, &other)), [false; 6]);
    // The value of a register that nobody needs does not matter.
    stack.words[1].past.bp_is = Bp::Dead;
    let dead = with(Past { bp_is: Bp::Dead, bp: 8, ..past });
    assert!(stack.has(2, &dead));
}

/// Check that a frame is recognised whichever function it has called meanwhile, even by the very same call, and that
/// stacks which differ only in that are recalled. Where calls do not push, each of these functions keeps the return
/// address elsewhere.
#[test]
fn one_call_of_several_functions_is_one_frame() {
    if !arch::SUPPORTED {
        return;
    }
    let mut checker = Checker::new(64);
    let mut machine = Machine::new(0x10_0000);
    for depth in 1..17 {
        machine.call(depth, 0, SAVES, 0, 0x20);
    }
    let functions = [PLAIN, SAVES, BY_BP, REALIGNED];
    let mut leaves = |turn: usize, is_twice: bool| {
        let before = checker.stacks.new_frames;
        machine.call(17, 0, functions[turn % 4], 32, 0x30);
        for depth in 18..21 {
            machine.call(depth, 0, SAVES, 0, 0x40);
        }
        for _ in 0..1 + u32::from(is_twice) {
            checker.check(machine.start(), &mut machine.words);
        }
        checker.stacks.new_frames - before
    };
    let walked: Vec<usize> = (0..60).map(|turn| leaves(turn, turn >= 40)).collect();
    // The calling frame and the newer ones; each chain until it was kept.
    assert!(walked.iter().skip(9).all(|walked| *walked == 0), "{walked:?}");
    assert!(walked.iter().skip(1).all(|walked| *walked <= 4), "{walked:?}");
}

/// Check that rbp is compared where an older frame is left by it, and only there.
#[test]
fn a_live_frame_pointer_is_compared() {
    if !arch::SUPPORTED {
        return;
    }
    for (function, new_frames) in [(PLAIN, 1), (BY_BP, 1)] {
        let mut checker = Checker::new(64);
        let mut machine = Machine::new(0x10_0000);
        machine.call(1, 0, function, 32, 0);
        for depth in 2..20 {
            machine.call(depth, 0, SAVES, 0, 5);
        }
        checker.check(machine.start(), &mut machine.words);
        let before = checker.stacks.new_frames;
        // The same frames again, except for the newest one's rbp.
        machine.call(19, 0, SAVES, 0, 6);
        checker.check(machine.start(), &mut machine.words);
        assert!(checker.stacks.new_frames - before <= new_frames, "function {function}");
        // The saved rbp of a frame far below now leads elsewhere: to garbage or to nothing.
        let saved = machine.frames[1].sp - 24;
        machine.words.0.insert(saved, 0x66);
        checker.check(machine.start(), &mut machine.words);
    }
}

/// Check that frames come with their places on the stack, outermost first, whatever the memo has kept, and that the
/// memo still works afterwards.
#[test]
fn frames_have_their_places() {
    if !arch::SUPPORTED {
        return;
    }
    let mut checker = Checker::new(64);
    let mut machine = Machine::new(0x10_0000);
    for turn in 0..40u64 {
        machine.call(turn as usize % 7, turn % 3, 1 + turn % 5, 32, turn);
        checker.check(machine.start(), &mut machine.words);
        let shared = SharedRules::new(&[]);
        let Checker { tables, table, scratch, memos, stacks, .. } = &mut checker;
        let rules = CachedRules::new(table, shared, tables, scratch);
        let start = machine.start();
        let mut accessors = Accessors { memory: &mut machine.words, rules, labels: stacks };
        let (end, frames) = memos.frames(start, &mut accessors);
        assert_eq!(end, End::Root);
        let found: Vec<(u32, u64)> = frames.map(|frame| (frame.number, frame.sp)).collect();
        let found: Vec<_> =
            found.into_iter().map(|(number, sp)| (checker.stacks.codes[number as usize - 1], sp)).collect();
        let expected: Vec<_> = machine.frames.iter().map(|frame| (frame.code(), frame.sp)).collect();
        assert_eq!(found, expected, "turn {turn}");
        checker.check(machine.start(), &mut machine.words);
    }
}

/// Check that of stacks longer than the limit the innermost frames are kept, even if there is room for more.
#[test]
fn long_stacks_are_cut() {
    if !arch::SUPPORTED {
        return;
    }
    for limit in [16, 15] {
        let mut checker = Checker::new(limit);
        let mut machine = Machine::new(0x10_0000);
        for depth in (1..30).chain(5..25).chain(14..18) {
            machine.call(depth, depth as u64 % 3, PLAIN, 0, 0);
            checker.check(machine.start(), &mut machine.words);
        }
    }
}

/// Check that coroutines, each on its own stack, find their own last stacks again.
#[test]
fn coroutines_have_memos_of_their_own() {
    if !arch::SUPPORTED {
        return;
    }
    let mut checker = Checker::new(64);
    let mut machines: Vec<Machine> = (1..4).map(|number| Machine::new(number * 0x1_0000)).collect();
    for machine in &mut machines {
        for depth in 1..20 {
            machine.call(depth, 0, PLAIN, 0, 0);
        }
        checker.check(machine.start(), &mut machine.words);
    }
    let before = checker.stacks.new_frames;
    for turn in 0..30 {
        let machine = &mut machines[turn % 3];
        machine.call(20, turn as u64 % 2, PLAIN, 0, 0);
        checker.check(machine.start(), &mut machine.words);
    }
    assert!(checker.stacks.new_frames - before <= 60, "{}", checker.stacks.new_frames - before);
}

/// Check that nothing is left of forgotten stacks.
#[test]
fn forgotten_stacks_are_walked_again() {
    if !arch::SUPPORTED {
        return;
    }
    let mut checker = Checker::new(64);
    let mut machine = Machine::new(0x10_0000);
    machine.call(1, 0, PLAIN, 0, 0);
    checker.check(machine.start(), &mut machine.words);
    assert!(checker.memos.same(machine.start(), &mut machine.words).is_some());
    assert_eq!(checker.stacks.new_frames, 2);
    checker.memos.clear();
    assert_eq!(checker.memos.same(machine.start(), &mut machine.words), None);
    checker.check(machine.start(), &mut machine.words);
    assert_eq!(checker.stacks.new_frames, 4);
}

/// Check that chains are forgotten, too: their labels may mean other stacks by now.
#[test]
fn forgotten_chains_are_not_recalled() {
    if !arch::SUPPORTED {
        return;
    }
    let mut checker = Checker::new(64);
    let mut machine = Machine::new(0x10_0000);
    for depth in 1..17 {
        machine.call(depth, 0, SAVES, 0, 0x20);
    }
    // The second time in the other order, so that labels of old chains belong to others.
    for first in [0, 1] {
        for turn in first..20 {
            machine.call(17, turn % 2, SAVES, 32, 0x30);
            machine.call(18, turn % 2, SAVES, 32, 0x40);
            checker.check(machine.start(), &mut machine.words);
        }
        checker.memos.clear();
        checker.stacks = Stacks::default();
    }
}

/// Labels that leave every frame out, and tell only how a stack ended.
struct Nothing;

impl Labels for Nothing {
    fn number(&mut self, _: CodeAddress, _: &mut u32) -> u32 {
        0
    }

    fn empty(&mut self, end: End) -> Option<u64> {
        Some(end as u64)
    }

    fn longer(&mut self, _: Label, _: u32) -> Option<Label> {
        unreachable!("no frame counts")
    }
}

/// Check that frames which are left out cannot be walked forever.
#[test]
fn frames_that_do_not_count_are_bounded() {
    if !arch::SUPPORTED {
        return;
    }
    for (depth, end) in [(10, End::Root), (200, End::Broken)] {
        let mut checker = Checker::new(16);
        let mut machine = Machine::new(0x10_0000);
        (1..depth).for_each(|depth| machine.call(depth, 0, PLAIN, 0, 0));
        let shared = SharedRules::new(&[]);
        let rules = CachedRules::new(&mut checker.table, shared, &checker.tables, &mut checker.scratch);
        let start = machine.start();
        let mut accessors = Accessors { memory: &mut machine.words, rules, labels: Nothing };
        let found = checker.memos.stack(start, &mut accessors);
        assert_eq!(found, Some(end as u64), "{depth} frames");
    }
}

proptest! {
    /// Check that the memo gives the same stack as a plain walk, whatever a machine with two stacks calls, wherever
    /// the stacks begin, and whatever is written over its memory.
    #[test]
    fn memos_walk_like_walks(
        depth in 3usize..40,
        begin in OUTERMOST..BARE + 1,
        steps in proptest::collection::vec(
            (0usize..2, 1usize..30, 0u64..3, PLAIN..BARE + 1, 0u64..4, any::<bool>(), 0u64..40), 1..200),
    ) {
        if arch::SUPPORTED {
            let mut checker = Checker::new(depth);
            let mut machines = [Machine::beginning_in(begin, 0x10_0000), Machine::new(0x20_0000)];
            for (machine, keep, site, function, room, is_bp_fresh, scribble) in steps {
                let machine = &mut machines[machine];
                let bp = if is_bp_fresh { 0x1000 + room } else { machine.frames[0].sp - 16 };
                machine.call(keep, site, function, room * 8, bp);
                if scribble < 2 {
                    // Something is written into an older frame: an odd value, or another saved register.
                    let word = machine.frames[0].sp + 40 - 8 * keep as u64;
                    machine.words.0.entry(word).and_modify(|value| *value ^= 8 * scribble + 8);
                }
                let (found, expected) = checker.both(machine.start(), &mut machine.words);
                prop_assert_eq!(found, expected);
            }
        }
    }
}
