//! Walks from wherever a timer interrupts a busy program: prologues, leaf functions, PLT stubs.

use crate::signals::HANDLERS;
use crate::support::{Trace, Walker, this_stack_memory};
use std::cell::RefCell;
use std::ffi::c_int;
use std::hint::black_box;
use std::time::{Duration, Instant};
use unwind::{CodeAddress, End, Modules, Registers, StackMemory};

/// Interruptions that are examined.
const ENOUGH: usize = 300;

struct Seen {
    walker: Walker,
    stack: StackMemory,
    ours: Trace,
    expected: Trace,
    count: usize,
    /// How a walk ended that differed from glibc's. Both traces are kept then.
    wrong: Option<End>,
}

thread_local! {
    static SEEN: RefCell<Option<Seen>> = const { RefCell::new(None) };
}

extern "C" fn handle(_signal: c_int) {
    SEEN.with(|seen| {
        // The loop may be reading it.
        let Ok(mut seen) = seen.try_borrow_mut() else { return };
        let Some(Seen { walker, stack, ours, expected, count, wrong }) = &mut *seen else { return };
        if *count == ENOUGH || wrong.is_some() {
            return;
        }
        ours.clear();
        let mut interrupted = 0;
        let end = walker.walk(Registers::here(), stack, Trace::CAPACITY, |code, _| {
            ours.push(code.address());
            if let CodeAddress::Exact(address) = code {
                interrupted = address;
            }
        });
        // The vDSO may have no tables.
        if walker.process().find(interrupted).is_none() {
            return;
        }
        expected.backtrace();
        *count += 1;
        // glibc stops in PLT stubs that have no tables.
        if end != End::Root || !ours.frames()[1..].starts_with(&expected.frames()[1..]) {
            *wrong = Some(end);
        }
    });
}

/// A leaf function, a function that calls it, and library functions that have no frame of their own.
#[inline(never)]
fn leaf(value: u64) -> u64 {
    (0..black_box(64_u64)).fold(value, |sum, next| sum.rotate_left(7) ^ next)
}

#[inline(never)]
fn busy(value: u64) -> u64 {
    let text = [b'x'; 300];
    let copied = black_box(&text).to_vec();
    leaf(value) ^ u64::from(black_box(copied.as_slice() == text))
}

/// Check that a walk agrees with glibc's and is complete, wherever it begins.
#[test]
fn interrupted_code_is_walked_as_glibc_walks_it() {
    let _turn = HANDLERS.lock();
    SEEN.set(Some(Seen {
        walker: Walker::new(),
        stack: this_stack_memory(),
        ours: Trace::new(),
        expected: Trace::new(),
        count: 0,
        wrong: None,
    }));
    // SAFETY: all-zero is a valid set of flags and masks.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handle as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    let mut before = action;
    // SAFETY: the handler only touches this thread's state, in memory that exists already.
    unsafe { libc::sigaction(libc::SIGPROF, &raw const action, &raw mut before) };
    // A timer for this thread only, since other threads run other tests.
    // SAFETY: all-zero is a valid event.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_THREAD_ID, libc::SIGPROF);
    // SAFETY: returns the id of this thread.
    event.sigev_notify_thread_id = unsafe { libc::gettid() };
    let mut timer = std::ptr::null_mut();
    // SAFETY: writes the timer's id.
    let error = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
    assert_eq!(error, 0, "timer_create");
    let pause = libc::timespec { tv_sec: 0, tv_nsec: 700_000 };
    let each = libc::itimerspec { it_interval: pause, it_value: pause };
    // SAFETY: the timer was just created.
    unsafe { libc::timer_settime(timer, 0, &raw const each, std::ptr::null_mut()) };
    let (start, mut sum) = (Instant::now(), 0_u64);
    while start.elapsed() < Duration::from_secs(60) {
        sum = black_box(busy(sum));
        if SEEN.with_borrow(|seen| {
            seen.as_ref().is_some_and(|seen| seen.count == ENOUGH || seen.wrong.is_some())
        }) {
            break;
        }
    }
    // SAFETY: the timer exists.
    unsafe { libc::timer_delete(timer) };
    // SAFETY: restores the previous handler.
    unsafe { libc::sigaction(libc::SIGPROF, &raw const before, std::ptr::null_mut()) };
    let seen = SEEN.take().expect("still there");
    assert_eq!(seen.wrong, None, "{:#x?} for {:#x?}", seen.ours.frames(), seen.expected.frames());
    assert_eq!(seen.count, ENOUGH);
}
