//! What a walk costs: nanoseconds of CPU time per frame, at several depths, compared with other unwinders.
//!
//! `cargo bench -p unwind`. Each figure is the smallest of several rounds. The stack under measurement consists of
//! calls through 64 functions with frames of different sizes, chosen so that neighbours differ.
//!
//! - *warm*: every rule in the thread's own table, the case of a running program;
//! - *shared*: the thread's table is emptied first, so that every rule comes from the process-wide one;
//! - *cold*: both are empty, so that every rule is worked out from `.eh_frame`;
//! - *framehop* with its cache, and *glibc*: `backtrace()`.

#![cfg_attr(not(all(target_arch = "x86_64", target_os = "linux")), no_main)]
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../tests/in_process/second_opinion.rs"]
mod second_opinion;
#[path = "../tests/in_process/support.rs"]
#[macro_use]
#[expect(unsafe_code, reason = "reads the process that is measured")]
#[allow(dead_code, unused_macros, reason = "shared with the tests, which use more of it")]
mod support;

#[expect(unsafe_code, reason = "asks the system for processor time")]
mod clock {
    use std::time::Duration;

    /// The CPU time that this process has used.
    pub(crate) fn cpu_time() -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: only writes the time.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}

use clock::cpu_time;
use second_opinion::Framehop;
use std::hint::black_box;
use support::{Trace, Walker, this_stack_memory};
use unwind::{End, Registers, StackMemory};

/// One of the functions: a frame of its own size.
#[inline(never)]
fn level<const WORDS: usize>(depth: usize, innermost: &mut dyn FnMut()) {
    let mut locals = [0u64; WORDS];
    black_box(&mut locals);
    match depth {
        0 => innermost(),
        _ => LEVELS[depth * 29 % LEVELS.len()](depth - 1, innermost),
    }
    black_box(&mut locals);
}

macro_rules! levels {
    ($($words:literal)*) => { [$(level::<$words>),*] };
}

/// Makes `depth` further calls and then runs the function.
type Level = fn(usize, &mut dyn FnMut());

static LEVELS: [Level; 64] = levels!(
    1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
);

/// The smallest time per call of `function`, in nanoseconds, over `rounds` rounds of `calls` calls. `prepare` runs
/// before each call; its time is measured separately and subtracted.
fn smallest<T>(
    rounds: u32,
    calls: u32,
    state: &mut T,
    prepare: impl Fn(&mut T),
    function: impl Fn(&mut T),
) -> f64 {
    let time = |state: &mut T, function: &dyn Fn(&mut T)| {
        let start = cpu_time();
        for _ in 0..calls {
            function(state);
        }
        (cpu_time() - start).as_nanos() as f64 / f64::from(calls)
    };
    let best = |state: &mut T, function: &dyn Fn(&mut T)| {
        (0..rounds).map(|_| time(state, function)).fold(f64::INFINITY, f64::min)
    };
    let alone = best(state, &prepare);
    let both = best(state, &|state| {
        prepare(state);
        function(state);
    });
    both - alone
}

fn main() {
    println!("ns per frame {:>9} {:>9} {:>9} {:>9} {:>9}", "warm", "shared", "cold", "framehop", "glibc");
    for depth in [20, 60, 200] {
        level::<0>(depth, &mut || {
            let start = Registers::here();
            let mut state = (Walker::new(), this_stack_memory());
            let mut frames = 0;
            let end = state.0.walk(start, &mut state.1, Trace::CAPACITY, |_, _| frames += 1);
            assert_eq!(end, End::Root);
            let walk = |(walker, stacks): &mut (Walker, StackMemory)| {
                let mut sum = 0;
                walker.walk(start, stacks, Trace::CAPACITY, |code, tag| {
                    sum += code.to_bits() ^ u64::from(*tag)
                });
                black_box(sum);
            };
            let warm = smallest(50, 2000, &mut state, |_| {}, walk);
            let shared = smallest(50, 200, &mut state, |(walker, _)| walker.clear_table(), walk);
            let cold = smallest(20, 20, &mut state, |(walker, _)| walker.clear(), walk);
            let mut other = (Framehop::new(state.0.process()), this_stack_memory());
            let framehop = smallest(
                50,
                500,
                &mut other,
                |_| {},
                |(framehop, stacks)| {
                    let mut sum = 0;
                    framehop.walk(start, stacks, |address| sum += address);
                    black_box(sum);
                },
            );
            let glibc = smallest(20, 50, &mut Trace::new(), |_| {}, Trace::backtrace);
            print!("{frames:>12}");
            for figure in [warm, shared, cold, framehop, glibc] {
                print!(" {:>9.2}", figure / f64::from(frames));
            }
            println!();
        });
    }
}
