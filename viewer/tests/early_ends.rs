//! Where stacks end for want of unwind information, and what the texts say of it.

use crate::shown;
use crate::support::Made;
use analysis::{Amount, EarlyEnd, Metric, early_ends};
use report::text::Style;

const MARKER: &str = "[incomplete: no unwind information]";

/// Check that the file is named whose function is the outermost one below the marker, and not those that it calls; that stacks which end
/// for another reason, or reach their beginning, count nowhere, and files with less than a percent neither.
#[test]
fn files_are_those_in_which_stacks_end() {
    let (mut made, _, thread) = Made::app();
    let marker = made.stack(MARKER);
    let [bare, rare, called] =
        ["/lib/bare.so", "/lib/rare.so", "/lib/called.so"].map(|path| made.frame(Some(path), &["f"]));
    let nowhere = made.frame(None, &[]);
    let in_bare = made.node(marker, bare);
    let through_bare = made.node(in_bare, called);
    let in_rare = made.node(marker, rare);
    let in_no_file = made.node(marker, nowhere);
    let broken = made.stack("[incomplete: broken stack] > g");
    let complete = made.stack("main > g");
    let stacks =
        [(100, in_bare), (200, through_bare), (5, in_rare), (50, in_no_file), (300, broken), (400, complete)];
    for (index, (size, stack)) in stacks.into_iter().enumerate() {
        made.alloc(thread, 0x1000 * (index as u64 + 1), size, stack);
    }
    let loaded = made.loaded("app.memprof");
    let of = |metric| early_ends(&loaded.profile, &loaded.tables, metric);
    let module = |path: &str| {
        let place = loaded.tables.modules.iter().position(|module| module.path == path);
        place.map(capture::ModuleId::from_index)
    };
    let end = |module, blocks, bytes| EarlyEnd { module, cost: Amount { blocks, bytes } };
    let (bare, rare) = (module("/lib/bare.so"), module("/lib/rare.so"));
    assert_eq!(of(Metric::Bytes), [end(bare, 2, 300), end(None, 1, 50)]);
    assert_eq!(of(Metric::Allocations), [end(bare, 2, 300), end(None, 1, 50), end(rare, 1, 5)]);
    assert_eq!(of(Metric::Temporary), []);
}

/// Check that the summary says where to read more when stacks end so, and only then.
#[test]
fn summaries_say_that_info_says_why() {
    for (stack, is_told) in [(format!("{MARKER} > f"), true), ("main > f".to_owned(), false)] {
        let (mut made, _, thread) = Made::app();
        let stack = made.stack(&stack);
        made.alloc(thread, 0x1000, 10, stack);
        let text = shown::summary(&made.loaded("app.memprof"), "memprof", &Style::default());
        let line = text.lines().find(|line| line.starts_with("stacks")).unwrap();
        assert_eq!(line.ends_with("1 incomplete; info says why"), is_told, "{line}");
    }
}

/// Check that compilers' options are advised for files only, and frame pointers for code that has none.
#[test]
fn advice_fits_the_code() {
    for (path, is_file) in [("/lib/bare.so", true), ("[anonymous code (JIT?) of 7]", false)] {
        let (mut made, _, thread) = Made::app();
        let (marker, frame) = (made.stack(MARKER), made.frame(Some(path), &["f"]));
        let stack = made.node(marker, frame);
        made.alloc(thread, 0x1000, 10, stack);
        let text = shown::info(&made.loaded("app.memprof"), None, &Style::default());
        let advised =
            ["-fasynchronous-unwind-tables", "-XX:+PreserveFramePointer"].map(|advice| text.contains(advice));
        assert_eq!(advised, [is_file, !is_file], "{text}");
    }
}
