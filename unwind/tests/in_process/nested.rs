//! Plain calls.

use crate::second_opinion::Framehop;
use crate::support::{Walker, this_stack_memory};
use std::hint::black_box;
use unwind::{End, Registers};

/// Recurses through frames of different sizes.
#[inline(never)]
fn descend<const WORDS: usize>(depth: u32) -> usize {
    let locals = black_box([u64::from(depth); WORDS]);
    let result = match (depth, depth % 3) {
        (0, _) => assert_walks_like_backtrace!(),
        (_, 0) => descend::<1>(depth - 1),
        (_, 1) => descend::<70>(depth - 1),
        _ => descend::<200>(depth - 1),
    };
    black_box(locals);
    result
}

/// Check that nested calls yield glibc's frames from any depth.
#[test]
fn nested_calls_agree_with_backtrace() {
    for depth in [0, 1, 2, 30, 300] {
        assert!(descend::<3>(depth) > depth as usize);
    }
}

/// Check that calls through closures and trait objects yield glibc's frames.
#[test]
fn dynamic_calls_agree_with_backtrace() {
    type Step = Box<dyn Fn(&dyn Fn() -> usize) -> usize>;
    let steps: [Step; 2] = [Box::new(|next| next() + 1), Box::new(|next| black_box(next)() * 2)];
    let innermost = || assert_walks_like_backtrace!();
    assert!(steps[0](&|| steps[1](&innermost)) > 2);
}

/// Check that a walk in a destructor that runs while a panic unwinds yields glibc's frames.
#[test]
fn landing_pads_agree_with_backtrace() {
    struct WalksOnDrop(std::rc::Rc<std::cell::Cell<usize>>);
    impl Drop for WalksOnDrop {
        fn drop(&mut self) {
            self.0.set(assert_walks_like_backtrace!());
        }
    }
    let depth = std::rc::Rc::new(std::cell::Cell::new(0));
    let guard = WalksOnDrop(depth.clone());
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _guard = guard;
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(result.is_err());
    assert!(depth.get() > 2);
}

/// Check that a thread's stack ends at its root, glibc's `clone`.
#[test]
fn thread_stacks_end_at_the_root() {
    let depth = std::thread::spawn(|| descend::<3>(5)).join();
    assert!(depth.expect("the thread's walk agrees") > 5);
}

/// Check that framehop, which implements the tables independently, sees the same ordinary frames. It fails behind
/// realigned stacks, so those are only compared with glibc.
#[test]
fn ordinary_frames_agree_with_framehop() {
    let mut walker = Walker::new();
    let mut framehop = Framehop::new(walker.process());
    below(50, &mut || {
        let start = Registers::here();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let end = walker.walk(start, &mut this_stack_memory(), 1000, |code, _| ours.push(code.address()));
        framehop.walk(start, &mut this_stack_memory(), |address| theirs.push(address));
        assert_eq!(end, End::Root);
        assert!(ours.len() > 50);
        // On 64-bit ARM it omits the outermost frame, whose return address is undefined.
        let known = ours.len() - usize::from(cfg!(target_arch = "aarch64"));
        assert_eq!(ours[..known], theirs);
    });
}

/// Runs `innermost` below `depth` frames.
#[inline(never)]
fn below(depth: u32, innermost: &mut dyn FnMut()) {
    match depth {
        0 => innermost(),
        _ => below(depth - 1, innermost),
    }
    black_box(depth);
}
