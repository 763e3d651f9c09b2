//! The depth limit, the tags, and the bounds of memory.

use crate::support::{Trace, Walker, this_stack, this_stack_memory};
use std::hint::black_box;
use unwind::{End, Memory, Registers, StackMemory};

/// Runs `innermost` below `depth` frames.
#[inline(never)]
fn below<T>(depth: usize, innermost: &mut dyn FnMut() -> T) -> T {
    let result = if depth == 0 { innermost() } else { below(depth - 1, innermost) };
    black_box(&result);
    result
}

/// The number of frames and the end of a walk from here.
fn depth_and_end(walker: &mut Walker, max_depth: usize) -> (usize, End) {
    let mut depth = 0;
    let end = walker.walk(Registers::here(), &mut this_stack_memory(), max_depth, |_, _| depth += 1);
    (depth, end)
}

/// Check that a recursion deeper than the limit yields exactly as many frames and reports that there are more.
#[test]
fn deep_stacks_are_truncated_at_the_limit() {
    let mut walker = Walker::new();
    for limit in [0, 1, 2, 128, 1024] {
        let walked = below(1500, &mut || depth_and_end(&mut walker, limit));
        assert_eq!(walked, (limit, End::Truncated));
    }
}

/// Check that a stack exactly as deep as the limit is complete, and that one frame less is not.
#[test]
fn stacks_of_the_limit_are_complete() {
    let mut walker = Walker::new();
    let walk = &mut |limit| below(40, &mut || depth_and_end(&mut walker, limit));
    let (depth, end) = walk(Trace::CAPACITY);
    assert_eq!(end, End::Root);
    assert_eq!(walk(depth), (depth, End::Root));
    assert_eq!(walk(depth - 1), (depth - 1, End::Truncated));
}

/// Check that a tag stays beside its address from walk to walk.
#[test]
fn tags_are_kept() {
    let mut walker = Walker::new();
    let mut stacks = this_stack_memory();
    let start = Registers::here();
    let mut next = 0;
    walker.walk(start, &mut stacks, 100, |_, tag| {
        assert_eq!(*tag, 0);
        next += 1;
        *tag = next;
    });
    let mut seen = Vec::new();
    walker.walk(start, &mut stacks, 100, |_, tag| seen.push(*tag));
    assert!(next > 3);
    assert_eq!(seen, (1..=next).collect::<Vec<_>>());
}

/// Check that a thread whose own table was emptied gets its rules back, and that tags are unset then.
#[test]
fn rules_come_back_and_tags_do_not() {
    let mut walker = Walker::new();
    let start = Registers::here();
    let walk = |walker: &mut Walker| {
        let mut frames = Vec::new();
        walker.walk(start, &mut this_stack_memory(), 100, |code, tag| {
            frames.push((code, std::mem::replace(tag, 7)))
        });
        frames
    };
    let first = walk(&mut walker);
    let tagged: Vec<_> = first.iter().map(|&(code, _)| (code, 7)).collect();
    assert_eq!(walk(&mut walker), tagged);
    walker.clear_table();
    assert_eq!(walk(&mut walker), first);
    walker.clear();
    assert_eq!(walk(&mut walker), first);
}

/// Check that a stack whose older part cannot be read is cut there, and that this is reported.
#[test]
fn unreadable_memory_ends_the_walk() {
    struct Below(StackMemory, u64);
    impl Memory for Below {
        fn read(&mut self, address: u64) -> Option<u64> {
            if address < self.1 { self.0.read(address) } else { None }
        }
    }
    let mut walker = Walker::new();
    let start = Registers::here();
    let mut memory = Below(this_stack_memory(), start.sp + 256);
    let mut depth = 0;
    assert_eq!(walker.walk(start, &mut memory, 100, |_, _| depth += 1), End::Unreadable);
    assert!(depth >= 1);
    assert!(start.sp + 256 < this_stack().end);
}
