//! Inlined functions and lines within functions.

use crate::toolchain::{Workshop, symbol};
use symbols::SourceFrame;

const SOURCE: &str = "
#include <stdlib.h>
volatile int sink;
static inline __attribute__((always_inline)) void innermost(int x) { sink = x; }
static inline __attribute__((always_inline)) void middle(int x) {
    innermost(x + 1);
}
__attribute__((noinline)) void outer(int x) {
    middle(x * 3);
    sink = 0;
}
__attribute__((noinline)) void *two_lines(void) {
    free(malloc(1));
    return malloc(2);
}
int main(void) { outer(1); return two_lines() == 0; }
";

fn short(frames: &[SourceFrame]) -> Vec<(Option<&str>, Option<u32>)> {
    frames.iter().map(|frame| (frame.function.as_deref(), frame.line)).collect()
}

/// Check the whole chain: each function with the line at which it calls the next inner one.
#[test]
fn inlined_chain_is_innermost_first() {
    for flags in ["-O2 -g", "-O2 -g -gdwarf-4", "-O2 -g -fuse-ld=gold -no-pie"] {
        let workshop = Workshop::new();
        if !workshop.try_compile("program", SOURCE, flags) {
            println!("skipped: {flags}");
            continue;
        }
        let (address, size) = symbol(&workshop.path("program"), "outer");
        let addresses: Vec<u64> = (address..address + size).collect();
        let lookups = workshop.lookup("program", &addresses);
        let chain = [(Some("innermost"), Some(4)), (Some("middle"), Some(6)), (Some("outer"), Some(9))];
        assert!(lookups.iter().any(|lookup| short(&lookup.frames) == chain), "{flags}: {lookups:?}");
        assert!(lookups.iter().any(|lookup| short(&lookup.frames) == [(Some("outer"), Some(10))]), "{flags}");
        assert!(lookups.iter().all(|lookup| lookup.function() == Some("outer") && lookup.reason.is_none()));
    }
}

/// Check that two calls on two lines of one function are told apart.
#[test]
fn two_calls_on_two_lines_are_separate() {
    let workshop = Workshop::new();
    let path = workshop.compile("program", SOURCE, "-O0 -g");
    let (address, size) = symbol(&path, "two_lines");
    let addresses: Vec<u64> = (address..address + size).collect();
    let lines: Vec<_> =
        workshop.lookup("program", &addresses).iter().map(|lookup| lookup.frames[0].line).collect();
    assert!(lines.contains(&Some(13)) && lines.contains(&Some(14)), "{lines:?}");
}

/// Check that code with lines but without a function, such as hand-written assembly, keeps its lines and says why
/// there is no name.
#[test]
fn lines_without_function_are_kept() {
    let workshop = Workshop::new();
    let path = workshop.compile("assembly", ".text\n nop\n nop\n", "-g -shared -nostdlib");
    let (text, _) = crate::toolchain::section(&path, ".text");
    let lookup = workshop.lookup("assembly", &[text + 1]).remove(0);
    assert_eq!(short(&lookup.frames), [(None, Some(3))]);
    assert_eq!(lookup.reason, Some(symbols::Reason::NoSymbolHere));
}
