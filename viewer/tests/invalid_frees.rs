//! Frees of what was no live block, on captures whose frees are known.

use crate::fields::assert_described;
use crate::shown;
use crate::support::Made;
use analysis::lifetimes::{Cause, InvalidFreeRow, Suspects};
use analysis::{Profile, ProfileBuilder};
use capture::{Action, Ended, NodeId, Process, ProcessId, ReallocOutcome, ThreadId};
use engine::{Loaded, Source};
use proptest::prelude::*;
use report::text::{self, Extent, Style};
use report::views;

/// What two passes find, of so many at most.
fn invalid(made: &Made, limit: usize) -> (Profile, Vec<InvalidFreeRow>, u64) {
    let mut first = ProfileBuilder::watched(&made.tables, Suspects::new(limit));
    first.events(&made.events);
    let mut second = ProfileBuilder::watched(&made.tables, first.finish_watched().1.finish());
    second.events(&made.events);
    let (profile, frees) = second.finish_watched();
    let (rows, more) = frees.finish();
    (profile, rows, more)
}

fn free_with_stack(made: &mut Made, thread: ThreadId, address: u64, stack: NodeId) {
    made.event(thread, Action::Free { address, stack });
}

/// A program that frees a block twice, in two threads, one that `realloc` has moved, the inside of one, and what is none; beside frees
/// with which nothing is wrong.
fn wrong() -> (Made, ThreadId, ThreadId) {
    let (mut made, process, one) = Made::app();
    let two = made.thread(process);
    let [make, drop, grow, oops] =
        ["make", "drop", "grow", "oops"].map(|name| made.stack(&format!("main > {name}")));
    // Its address is used again, and then freed twice.
    made.alloc(one, 0x1000, 100, grow);
    made.free(one, 0x1000);
    made.alloc(one, 0x1000, 64, make);
    free_with_stack(&mut made, two, 0x1000, drop);
    free_with_stack(&mut made, one, 0x1000, oops);
    made.alloc(one, 0x2000, 10, make);
    made.realloc(one, 1, 0x2000, ReallocOutcome::Block { address: 0x3000, size: 20, stack: grow });
    made.free(two, 0x2000);
    made.alloc(two, 0x4000, 32, make);
    made.free(one, 0x4010);
    // Behind its end.
    made.free(one, 0x4020);
    made.free(one, 0x4000);
    made.end(process, one, Ended::Signaled(6));
    (made, one, two)
}

/// Check that each free is told with what was there before, and that there are as many as the totals say.
#[test]
fn each_free_is_told_with_what_was_there() {
    let (made, one, two) = wrong();
    let (profile, rows, more) = invalid(&made, 10);
    assert_eq!((profile.anomalies().unmatched_frees, more), (4, 0));
    let told: Vec<_> = rows.iter().map(|row| (row.free.address, row.free.thread, row.cause.name())).collect();
    let expected =
        [(0x1000, one, "twice"), (0x2000, two, "moved"), (0x4010, one, "inside"), (0x4020, one, "unknown")];
    assert_eq!(told, expected);
    let Cause::Twice(block, returned) = rows[0].cause else { panic!("{:?}", rows[0]) };
    assert_eq!((block.size, block.thread, returned.thread), (64, one, two));
    assert!(block.at < returned.at && returned.at < rows[0].at, "{:?}", rows[0]);
    assert_ne!((block.stack, returned.stack), (NodeId::ROOT, NodeId::ROOT));
    let Cause::Twice(block, returned) = rows[1].cause else { panic!("{:?}", rows[1]) };
    assert_eq!((block.size, returned.moved_to), (10, Some(0x3000)));
    let Cause::Inside(block) = rows[2].cause else { panic!("{:?}", rows[2]) };
    assert_eq!((block.address, block.size, block.thread), (0x4000, 32, two));
}

/// Check that of very many the first are told, and the others counted.
#[test]
fn of_very_many_the_first_are_told() {
    let (made, ..) = wrong();
    let (_, rows, more) = invalid(&made, 2);
    assert_eq!(
        (rows.iter().map(|row| row.cause.name()).collect::<Vec<_>>(), more),
        (vec!["twice", "moved"], 2)
    );
}

/// Check that nothing is invalid that the recording explains: a child's free of what it inherited, a block from before an attach.
#[test]
fn what_is_explained_is_not_invalid() {
    let (mut made, parent, thread, [stack]) = Made::app_with(["main"]);
    made.alloc(thread, 0x1000, 10, stack);
    made.event(thread, Action::Fork { fork: 1 });
    let (_, child) = made.fork(parent);
    made.free(child, 0x1000);
    let (_, old) = made.process_row(Process { attached: true, ..Process::default() });
    made.free(old, 0x9000);
    let (profile, rows, _) = invalid(&made, 10);
    let anomalies = profile.anomalies();
    assert_eq!((anomalies.inherited_frees, anomalies.frees_from_before), (1, 1));
    assert!(rows.is_empty(), "{rows:?}");
}

/// Check what is written, that the JSON document has it all, and that each of its fields is described.
#[test]
fn views_say_what_was_there() {
    let (made, ..) = wrong();
    let (profile, rows, more) = invalid(&made, 10);
    let source = Source { file: "app.memprof".to_owned(), ..Source::default() };
    let loaded = Loaded::new(made.tables.clone(), profile, source);
    let document = views::errors(&loaded, &rows, more);
    let text = shown::written(|out| {
        text::document(out, &loaded, &document, Extent::of_command(3), &Style::default())
    });
    for line in [
        "app.memprof: 0 failed allocations, 4 invalid frees\n",
        "0x1000 freed twice, after 6.00 ms by app (1000), thread 5000\n    oops  o.c:14\n    main  m.c:14\n",
        "\n  first freed after 5.00 ms by thread 5001\n    drop  d.c:14\n",
        "\n  a block of 64 B, allocated after 4.00 ms by thread 5000\n    make  m.c:14\n",
        "0x2000 freed after realloc moved it",
        "\n  moved to 0x3000 after",
        "\n  16 bytes past 0x4000, the start of the block\n",
        "\n1 more invalid free not shown (--limit)\n",
        "\n  where they were freed is not recorded: run --free-stacks does that\n",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
    let summary = shown::summary(&loaded, "memprof", &Style::default());
    assert!(summary.contains("\ninvalid       4 frees of addresses without a live block\n"), "{summary}");
    assert!(summary.contains("\n  memprof errors app.memprof "), "{summary}");
    let document = shown::document_json(&loaded, &document);
    let first = &document["invalid_frees"][0];
    assert_eq!(document["invalid_frees"].as_array().unwrap().len(), 4);
    assert_eq!((&first["stack"][0]["function"], &first["cause"]), (&"oops".into(), &"twice".into()));
    assert_eq!(first["before"]["stack"][0]["function"], "drop");
    assert_eq!(first["block"]["stack"][0]["function"], "make");
    assert_eq!(document["invalid_frees"][1]["before"]["moved_to"], "0x3000");
    assert_described("errors", &document);
}

proptest! {
    /// Check causes against a list of all blocks that there were, on random calls at few addresses.
    #[test]
    fn causes_are_those_of_a_list_of_all_blocks(
        calls in proptest::collection::vec((any::<bool>(), 0u64..6, 1u64..40), 0..80),
    ) {
        let (mut made, process, thread, [stack]) = Made::app_with(["main"]);
        // Address, size, and whether it lives.
        let mut blocks: Vec<(u64, u64, bool)> = Vec::new();
        let mut expected = Vec::new();
        for (allocates, place, size) in calls {
            let address = 0x1000 + place * 16;
            let overlaps = |&(other, bytes, lives): &(u64, u64, bool)| {
                lives && other < address + size && address < other + bytes
            };
            if allocates && !blocks.iter().any(overlaps) {
                made.alloc(thread, address, size, stack);
                blocks.push((address, size, true));
            } else if !allocates {
                made.free(thread, address);
                if let Some(block) = blocks.iter_mut().find(|block| block.0 == address && block.2) {
                    block.2 = false;
                } else if blocks.iter().any(|block| block.2 && (block.0..block.0 + block.1).contains(&address)) {
                    expected.push((address, "inside"));
                } else {
                    let was_there = blocks.iter().any(|block| block.0 == address);
                    expected.push((address, if was_there { "twice" } else { "unknown" }));
                }
            }
        }
        made.end(process, thread, Ended::Exited(0));
        let (profile, rows, more) = invalid(&made, 1000);
        prop_assert_eq!((profile.anomalies().unmatched_frees, more), (expected.len() as u64, 0));
        let told: Vec<_> = rows.iter().map(|row| (row.free.address, row.cause.name())).collect();
        prop_assert_eq!(told, expected);
        prop_assert!(rows.iter().all(|row| row.free.process == ProcessId(0)));
    }
}
