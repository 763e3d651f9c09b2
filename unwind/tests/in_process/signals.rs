//! Walks that begin in a signal handler.

use crate::support::{Stacks, Trace, Walker};
use std::cell::RefCell;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::Mutex;
use unwind::{CodeAddress, End, Registers};

/// Signal handlers belong to the process: tests that install one take turns.
pub(crate) static HANDLERS: Mutex<()> = Mutex::new(());

/// What the handler needs, and what it finds. The thread that raises the signal handles it.
struct Handler {
    walker: Walker,
    stacks: Stacks,
    codes: Vec<CodeAddress>,
    end: Option<End>,
    expected: Trace,
}

thread_local! {
    static HANDLER: RefCell<Option<Handler>> = const { RefCell::new(None) };
}

extern "C" fn handle(_signal: c_int) {
    HANDLER.with_borrow_mut(|handler| {
        let Handler { walker, stacks, codes, end, expected } = handler.as_mut().expect("set up by the test");
        expected.backtrace();
        *end = Some(walker.walk(Registers::here(), stacks, 1000, |code, _| codes.push(code)));
    });
}

/// Raises `SIGUSR1` in a handler's setting and returns what the handler saw.
#[inline(never)]
fn raise(flags: c_int, alternate_stack: Option<Range<u64>>) -> Handler {
    HANDLER.set(Some(Handler {
        walker: Walker::new(),
        stacks: Stacks::of_this_thread(alternate_stack),
        codes: Vec::new(),
        end: None,
        expected: Trace::new(),
    }));
    // SAFETY: all-zero is a valid set of flags and masks.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handle as *const () as usize;
    action.sa_flags = flags;
    let mut before = action;
    // SAFETY: the handler only touches this thread's state.
    unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, &raw mut before) };
    // SAFETY: the handler is installed.
    unsafe { libc::raise(libc::SIGUSR1) };
    // SAFETY: restores the previous handler.
    unsafe { libc::sigaction(libc::SIGUSR1, &raw const before, std::ptr::null_mut()) };
    HANDLER.take().expect("still there")
}

/// Asserts that the walk in the handler agrees with glibc's and is complete, and that the interrupted frame's address
/// is exact.
fn assert_crosses_the_signal(seen: &Handler) {
    let addresses: Vec<_> = seen.codes.iter().map(|code| code.address()).collect();
    assert_eq!(seen.end, Some(End::Root), "{:#x?}", seen.codes);
    // glibc's trace begins in the closure, ours in a function that may or may not be inlined into it: both must meet
    // in the handler's caller, the trampoline.
    let trampoline = seen.codes.iter().skip(1).position(|code| matches!(code, CodeAddress::Exact(_)));
    let interrupted = trampoline.expect("an interrupted frame") + 1;
    assert!(interrupted >= 2);
    assert_eq!(addresses[1..], seen.expected.frames()[1..]);
    let process = seen.walker.process();
    let libc = process.image(libc::raise as *const () as u64).expect("libc is a module");
    assert!(libc.code.contains(addresses[interrupted]), "raise was interrupted");
    // On x86-64 the trampoline is libc's, elsewhere the vDSO's.
    assert_eq!(libc.code.contains(addresses[interrupted - 1]), cfg!(target_arch = "x86_64"));
}

/// Check that handler, trampoline and interrupted frames are walked as glibc walks them.
#[test]
fn handlers_on_the_thread_stack_are_crossed() {
    let _turn = HANDLERS.lock();
    assert_crosses_the_signal(&raise(0, None));
}

/// Check that a handler on an alternate stack leads back to the stack it interrupted.
#[test]
fn handlers_on_an_alternate_stack_are_crossed() {
    let _turn = HANDLERS.lock();
    let mut memory = vec![0u64; 1 << 15];
    let range = memory.as_ptr_range();
    let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: 8 << 15 };
    let mut before = stack;
    // SAFETY: the memory lives until the stack is released below.
    unsafe { libc::sigaltstack(&raw const stack, &raw mut before) };
    let seen = raise(libc::SA_ONSTACK, Some(range.start as u64..range.end as u64));
    // SAFETY: nothing runs on the alternate stack any more.
    unsafe { libc::sigaltstack(&raw const before, std::ptr::null_mut()) };
    assert_crosses_the_signal(&seen);
}
