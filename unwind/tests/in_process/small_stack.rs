//! How much stack a walk uses.

use crate::support::{Walker, this_stack_memory};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use unwind::{End, Registers, Scratch};

/// Size of the thread's stack.
const STACK: usize = 128 << 10;
/// What unused stack is filled with.
const PAINT: u64 = 0x5a5a_5a5a_5a5a_5a5a;
/// What a function may use below its stack pointer.
const RED_ZONE: u64 = 128;

/// What the thread gets, and what it finds.
struct Job {
    /// The lowest word of the thread's stack.
    bottom: *mut u64,
    walker: Walker,
    scratch: Box<MaybeUninit<Scratch>>,
    ends: Vec<End>,
    used: Used,
}

/// Bytes of stack used.
#[derive(Default)]
struct Used {
    /// By creating a thread's working memory.
    init: u64,
    /// By a walk in which every rule is a miss.
    cold: u64,
    /// By a walk in which every rule is cached.
    warm: u64,
}

extern "C" fn work(job: *mut c_void) -> *mut c_void {
    // SAFETY: the test passes its job and waits for the thread.
    let Job { bottom, walker, scratch, ends, used } = unsafe { &mut *job.cast::<Job>() };
    let mut stacks = this_stack_memory();
    let start = Registers::here();
    let mut walk = || ends.push(walker.walk(start, &mut stacks, 100, |_, _| {}));
    used.init = stack_used(*bottom, || {
        Scratch::init(scratch);
    });
    used.cold = stack_used(*bottom, &mut walk);
    used.warm = stack_used(*bottom, &mut walk);
    std::ptr::null_mut()
}

/// How far down `function` uses this thread's stack, whose lowest word is at `bottom`.
#[inline(never)]
fn stack_used(bottom: *mut u64, mut function: impl FnMut()) -> u64 {
    let sp = Registers::here().sp;
    let free = ((sp - RED_ZONE - bottom as u64) / 8) as usize;
    for index in 0..free {
        // SAFETY: the word is in the stack, below everything that is in use.
        unsafe { bottom.wrapping_add(index).write_volatile(PAINT) };
    }
    function();
    // SAFETY: the word is in the stack.
    let is_painted = |index: &usize| unsafe { bottom.wrapping_add(*index).read_volatile() } == PAINT;
    let untouched = (0..free).take_while(is_painted).count();
    8 * (free - untouched) as u64
}

/// Check that walks fit on small stacks when optimised like the agent: a thread's first walk takes a third of 16 KiB,
/// the smallest stack that a thread can have, and one with warm caches a few hundred bytes.
#[test]
fn walks_fit_on_small_stacks() {
    let mut memory = vec![0u64; STACK / 8];
    let bottom = memory.as_mut_ptr();
    let (walker, scratch) = (Walker::new(), Box::new(MaybeUninit::uninit()));
    let mut job = Job { bottom, walker, scratch, ends: Vec::with_capacity(2), used: Used::default() };
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: only fills the attributes.
    unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
    // SAFETY: the memory outlives the thread.
    unsafe { libc::pthread_attr_setstack(attributes.as_mut_ptr(), bottom.cast(), STACK) };
    let mut thread = 0;
    let argument = (&raw mut job).cast();
    // SAFETY: the job outlives the thread.
    let error = unsafe { libc::pthread_create(&raw mut thread, attributes.as_ptr(), work, argument) };
    assert_eq!(error, 0, "pthread_create");
    // SAFETY: the thread was created and is joined once.
    unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
    assert_eq!(job.ends, [End::Root; 2]);
    let Used { init, cold, warm } = job.used;
    println!("bytes of stack: working memory {init}, cold walk {cold}, warm walk {warm}");
    // Without optimisation every temporary has a place of its own.
    let (most_init, most_cold, most_warm) =
        if cfg!(debug_assertions) { (48 << 10, 16 << 10, 4 << 10) } else { (1 << 10, 5632, 512) };
    assert!(init <= most_init, "working memory: {init} bytes");
    assert!((1..=most_cold).contains(&cold), "cold walk: {cold} bytes");
    assert!((1..=most_warm).contains(&warm), "warm walk: {warm} bytes");
}
