//! Views of the lifetimes of blocks, on captures whose numbers were worked out by hand, and against the sums of the profile.

use crate::fields::assert_described;
use crate::shown::{self, written};
use crate::support::Made;
use crate::support::fixtures::{rich, sampled, small};
use analysis::lifetimes::{
    Frees, History, Lifetimes, Mapped, MappedRow, Order, PAGE, Pages, ReallocRow, Reallocs, Side, Sizes,
    Temporary, Threads,
};
use analysis::query::{Part, Query};
use analysis::{Amount, ProfileBuilder, Watch, lines};
use capture::{Action, Ended, Module, NodeId, ReallocOutcome, Tables};
use engine::{Analyzer, Loaded, Naming, Source};
use proptest::prelude::*;
use report::table::{Document, Readers};
use report::text::{self, Style};
use report::{ReportOptions, views};
use std::collections::BTreeMap;

fn watched<W: Watch>(made: &Made, watch: impl FnOnce(&Tables) -> W) -> (Loaded, W) {
    let mut builder = ProfileBuilder::watched(&made.tables, watch(&made.tables));
    builder.events(&made.events);
    let (profile, watch) = builder.finish_watched();
    (
        Loaded::new(
            made.tables.clone(),
            profile,
            Source { file: "app.memprof".to_owned(), ..Source::default() },
        ),
        watch,
    )
}

/// Check the fixture of the definition: a thousand blocks freed at once and ten that last, and some that live briefly
/// though other allocations come between.
#[test]
fn temporary_and_brief_are_told_apart() {
    let (mut made, process, thread, [temporary, lasting, crossed]) =
        Made::app_with(["main > temporary", "main > lasting", "main > crossed"]);
    for _ in 0..1000 {
        made.alloc(thread, 0x1000, 10, temporary);
        made.free(thread, 0x1000);
    }
    for block in 0..10 {
        made.alloc(thread, 0x2000 + block * 16, 16, lasting);
    }
    // Freed 2 ms after its birth, with another allocation between.
    made.alloc(thread, 0x3000, 7, crossed);
    made.alloc(thread, 0x4000, 7, lasting);
    made.free(thread, 0x3000);
    made.end(process, thread, Ended::Exited(0));
    let table = |limit_ns| {
        let (_, watch) = watched(&made, |tables| Temporary::new(limit_ns, tables));
        let row = |row: &analysis::lifetimes::TemporaryRow| {
            (row.node, row.allocated.blocks, row.immediate.blocks, row.brief.blocks)
        };
        watch.finish().iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(table(2_000_001), [(temporary, 1000, 1000, 1000), (crossed, 1, 0, 1), (lasting, 11, 0, 0)]);
    assert_eq!(table(2_000_000), [(temporary, 1000, 1000, 1000), (lasting, 11, 0, 0), (crossed, 1, 0, 0)]);
}

/// Check a producer and a consumer: who freed what of whom, with both stacks.
#[test]
fn blocks_that_pass_between_threads_are_counted() {
    let (mut made, process, producer) = Made::app();
    let consumer = made.thread(process);
    made.tables.threads[consumer.index()].name = "consumer".to_owned();
    let (make, take) = (made.stack("main > make"), made.stack("run > take"));
    for block in 0..5 {
        made.alloc(producer, 0x1000 + block * 0x100, 100, make);
    }
    for block in 0..3 {
        let address = 0x1000 + block * 0x100;
        made.event(consumer, Action::Free { address, stack: take });
    }
    made.free(producer, 0x1300);
    made.alloc(consumer, 0x5000, 7, take);
    made.end(process, producer, Ended::Exited(0));
    let (loaded, watch) = watched(&made, Threads::new);
    let table = watch.finish();
    let pairs: Vec<_> =
        table.pairs.iter().map(|pair| (pair.from, pair.to, pair.amount.blocks, pair.amount.bytes)).collect();
    assert_eq!(
        pairs,
        [
            (producer, None, 1, 100),
            (producer, Some(producer), 1, 100),
            (producer, Some(consumer), 3, 300),
            (consumer, None, 1, 7)
        ]
    );
    let [cross] = table.crossing[..] else { panic!("{:?}", table.crossing) };
    assert_eq!(
        (cross.allocated_by, cross.freed_by, cross.amount),
        (make, take, Amount { blocks: 3, bytes: 300 })
    );
    let text = shown::document(&loaded, &views::threads(&table), 20, &Style::default());
    let expected = "\
app.memprof: 507 B in 6 allocations

allocations        bytes    temporary        frees    of others    not freed  thread
          5        500 B            0            1            0        100 B  thread (5000)
          1          7 B            0            3            3          7 B  consumer (5001)

Allocated by one thread, freed by another
     blocks        bytes  threads
          3        300 B  thread (5000) → consumer (5001)

By stack
     blocks        bytes  allocated and freed by
          3        300 B  make (m.c:14) < main
                            thread (5000) → consumer (5001): take (t.c:14) < run
";
    assert_eq!(text, expected);
}

/// Check classes, slack and stacks of some sizes.
#[test]
fn sizes_are_put_into_classes() {
    let (mut made, process, thread, [a, b]) = Made::app_with(["main > a", "main > b"]);
    for (number, (size, stack)) in (1_u64..).zip([(0, a), (1, a), (16, b), (16, b), (17, a), (1000, b)]) {
        made.alloc(thread, number * 0x1000, size, stack);
    }
    made.end(process, thread, Ended::Exited(0));
    let (_, watch) = watched(&made, Sizes::new);
    let table = watch.finish();
    let rows: Vec<_> = table
        .classes
        .iter()
        .map(|row| (row.class.last(), row.allocated.blocks, row.allocated.bytes, row.slack, row.stacks[0].0))
        .collect();
    assert_eq!(
        rows,
        [(0, 1, 0, 24, a), (16, 3, 33, 23 + 8 + 8, b), (32, 1, 17, 7, a), (1024, 1, 1000, 0, b)]
    );
}

/// Check lifetimes: by class, with what was not seen to end apart.
#[test]
fn lifetimes_are_put_into_classes() {
    let (mut made, process, thread, [stack]) = Made::app_with(["main > f"]);
    for block in 0..3 {
        made.alloc(thread, 0x1000 + block * 0x100, 100, stack);
    }
    // 5 ms and 6 ms after their births; the third stays.
    made.time += 2_000_000;
    made.free(thread, 0x1000);
    made.time += 1_000_000;
    made.free(thread, 0x1100);
    made.alloc(thread, 0x2000, 5000, stack);
    made.time += 20_000_000;
    made.free(thread, 0x2000);
    made.end(process, thread, Ended::Exited(0));
    let (loaded, watch) = watched(&made, Lifetimes::new);
    let table = watch.finish();
    let ages: Vec<(String, i64)> =
        table.stacks[0].ages.iter().map(|(age, amount)| (age.to_string(), amount.blocks)).collect();
    let expected =
        [("< 10 ms", 2), ("< 100 ms", 1), ("to the end", 1)].map(|(age, blocks)| (age.to_owned(), blocks));
    assert_eq!(ages, expected);
    let map: Vec<(u64, String, i64)> =
        table.map.iter().map(|cell| (cell.size.last(), cell.age.to_string(), cell.amount.blocks)).collect();
    let expected = [(128, "< 10 ms", 2), (128, "to the end", 1), (8192, "< 100 ms", 1)];
    assert_eq!(map, expected.map(|(size, age, blocks)| (size, age.to_owned(), blocks)));
    let text = shown::document(&loaded, &views::lifetimes(&table), 20, &Style::default());
    assert!(text.contains("     ≤ 128 B            2                         1\n"), "{text}");
}

/// Check chains of reallocs: steps, moves, copies, and who made the last one; and the advice for slow growth.
#[test]
fn chains_of_reallocs_are_followed() {
    let (mut made, process, thread, [first, grow]) = Made::app_with(["main > first", "main > grow"]);
    let block = |address, size| ReallocOutcome::Block { address, size, stack: grow };
    made.alloc(thread, 0x1000, 100, first);
    made.realloc(thread, 1, 0x1000, block(0x2000, 200));
    made.realloc(thread, 2, 0x2000, block(0x2000, 400));
    made.realloc(thread, 3, 0x2000, ReallocOutcome::Failed);
    made.free(thread, 0x2000);
    made.alloc(thread, 0x3000, 10, first);
    for step in 0..8 {
        made.realloc(
            thread,
            4 + step,
            0x3000 + u64::from(step) * 0x100,
            block(0x3100 + u64::from(step) * 0x100, 20 + u64::from(step) * 10),
        );
    }
    made.alloc(thread, 0x9000, 10, first);
    made.end(process, thread, Ended::Exited(0));
    let (loaded, watch) = watched(&made, |_| Reallocs::default());
    let rows = watch.finish();
    let copied = 100 + (10 + 20 + 30 + 40 + 50 + 60 + 70 + 80);
    let expected = ReallocRow {
        node: grow,
        chains: 2,
        steps: 10,
        moves: 9,
        longest: 8,
        first_bytes: 110,
        last_bytes: 490,
        copied_bytes: copied,
        is_replaced: false,
    };
    assert_eq!(rows, [expected]);
    let slow = ReallocRow { chains: 1, steps: 8, first_bytes: 10, last_bytes: 90, ..expected };
    let advice = slow.advice().unwrap();
    assert_eq!((advice.doublings, advice.steps, advice.last), (4, 8, 90));
    assert!(ReallocRow { steps: 3, ..slow }.advice().is_none());
    assert!(ReallocRow { last_bytes: 10, ..slow }.advice().is_none());
    let text = shown::document(&loaded, &views::reallocs(&loaded, &rows), 20, &Style::default());
    assert!(text.starts_with("app.memprof: 10 resizes in 2 chains, up to 460 B copied\n"), "{text}");
}

/// Check that a vector's growth is a chain, also of one that is never freed; and that none are: messages of which the next one is taken
/// before the last one is freed, larger blocks that another stack or another thread takes, and what happens less than four times.
#[test]
fn vectors_grow_without_realloc() {
    let (mut made, process, thread) = Made::app();
    let other = made.thread(process);
    let [push, leak, message, twice, here, there] = ["push", "leak", "message", "twice", "here", "there"]
        .map(|name| made.stack(&format!("main > {name}")));
    let grow = |made: &mut Made,
                threads: [capture::ThreadId; 2],
                stacks: [capture::NodeId; 2],
                base: u64,
                sizes: &[u64]| {
        for (at, &size) in sizes.iter().enumerate() {
            let address = base + 0x1000 * at as u64;
            made.alloc(threads[at % 2], address, size, stacks[at % 2]);
            if at > 0 {
                made.free(threads[at % 2], address - 0x1000);
            }
        }
    };
    let doubling = [4, 8, 16, 32, 64, 128];
    grow(&mut made, [thread; 2], [push; 2], 0x10_0000, &doubling);
    made.free(thread, 0x10_5000);
    grow(&mut made, [thread; 2], [leak; 2], 0x20_0000, &doubling[..5]);
    grow(
        &mut made,
        [thread; 2],
        [message; 2],
        0x30_0000,
        &[100, 150, 90, 300, 500, 400, 420, 440, 460, 480, 500],
    );
    grow(&mut made, [thread; 2], [twice; 2], 0x40_0000, &doubling[..4]);
    grow(&mut made, [thread; 2], [here, there], 0x50_0000, &doubling);
    grow(&mut made, [thread, other], [here; 2], 0x60_0000, &doubling);
    made.end(process, thread, Ended::Exited(0));
    let (loaded, watch) = watched(&made, |_| Reallocs::default());
    let rows = watch.finish();
    let row = |node, steps, last, copied| ReallocRow {
        node,
        chains: 1,
        steps,
        moves: steps,
        longest: steps,
        first_bytes: 4,
        last_bytes: last,
        copied_bytes: copied,
        is_replaced: true,
    };
    assert_eq!(rows, [row(push, 5, 128, 4 + 8 + 16 + 32 + 64), row(leak, 4, 64, 4 + 8 + 16 + 32)]);
    let text = shown::document(&loaded, &views::reallocs(&loaded, &rows), 20, &Style::default());
    assert!(text.contains("like a C++ vector: reserve 128 B up front"), "{text}");
}

/// Check whose blocks keep which pages: of one that is full of others' blocks nothing would come back, and of a page with a
/// single small block all.
#[test]
fn pages_belong_to_those_whose_blocks_lie_on_them() {
    const BASE: u64 = 0x10_0000;
    let (mut made, process, thread, [many, few, large]) =
        Made::app_with(["main > fill > many", "main > few", "main > fill > large"]);
    // Page 0: sixteen of `many`, one of `few`. Page 1: one of `few`, and one of `many` that is freed.
    (0..16).for_each(|block| made.alloc(thread, BASE + block * 0x40, 48, many));
    made.alloc(thread, BASE + 0x800, 32, few);
    made.alloc(thread, BASE + PAGE, 32, few);
    made.alloc(thread, BASE + PAGE + 0x40, 48, many);
    made.free(thread, BASE + PAGE + 0x40);
    // From the last bytes of page 2 to the first ones of page 6, which the last of `few` follows, nothing in it.
    made.alloc(thread, BASE + 3 * PAGE - 16, 16 + 3 * PAGE + 16, large);
    made.alloc(thread, BASE + 6 * PAGE + 0x20, 0, few);
    made.end(process, thread, Ended::Exited(0));

    let (loaded, watch) = watched(&made, |tables| Pages::new(true, tables));
    let table = watch.finish();
    let pages = |bytes: i64| bytes / PAGE.cast_signed();
    let row = |row: &analysis::lifetimes::StackPages| {
        (row.node, row.held.blocks, pages(row.pages.total), pages(row.pages.alone), row.empty)
    };
    // Of page 0 are empty 4096 - 800, of page 1 and page 2 all but 32 and 16 bytes, of page 6 all but 16; 0 and 6 are shared by two.
    assert_eq!(
        table.stacks.iter().map(row).collect::<Vec<_>>(),
        [
            (few, 3, 3, 1, 3296 / 2 + 4064 + 4080 / 2),
            (large, 1, 5, 4, 4080 + 4080 / 2),
            (many, 16, 1, 0, 3296 / 2)
        ]
    );
    assert_eq!((pages(table.pages), table.held.blocks), (7, 20));
    assert_eq!((table.empty, table.by_fullness.map(pages)), (3296 + 4064 + 4080 + 4080, [3, 1, 0, 0, 3]));
    let shared = PAGE.cast_signed();
    assert_eq!(table.sharers(9, 9), [vec![(1, shared), (2, shared)], vec![(0, shared)], vec![(0, shared)]]);
    assert_eq!(table.sharers(2, 1), [vec![(1, shared)], vec![(0, shared)]]);

    let style = Style { color: false, width: Some(100) };
    let text = written(|out| text::pages_tree(out, &loaded, &table, 1, &style));
    let functions: Vec<&str> = text.lines().skip(8).map(|line| line.trim_start()).collect();
    assert_eq!(
        functions,
        [
            "15.2 KiB  28.0 KiB  28.0 KiB  12.8 KiB        20      45.9 %  [Everything]",
            "15.2 KiB  28.0 KiB  28.0 KiB  12.8 KiB        20      45.9 %  app",
            "15.2 KiB  28.0 KiB  28.0 KiB  12.8 KiB        20      45.9 %  main",
            "7.59 KiB  16.0 KiB  24.0 KiB  12.8 KiB        17      53.3 %  ├─ fill",
            "5.98 KiB  16.0 KiB  20.0 KiB  12.0 KiB         1      60.2 %  │  ├─ large",
            "1.61 KiB       0 B  4.00 KiB     768 B        16      18.8 %  │  └─ many",
            "7.57 KiB  4.00 KiB  12.0 KiB      64 B         3       0.5 %  └─ few",
        ],
        "{text}"
    );
    // What has ended holds nothing.
    let (_, watch) = watched(&made, |tables| Pages::new(false, tables));
    assert_eq!(watch.finish().pages, 0);
}

/// Check what lies free under the highest block of a heap: what was unmapped, what libc had mapped for a block alone, and what a process
/// left to its next program does not.
#[test]
fn freed_pages_lie_under_the_highest_block() {
    const BASE: u64 = 0x5555_5000_0000;
    const MAPPED: u64 = 0x7f00_0000_0010;
    let table = |unmaps: bool, ended: Ended| {
        let (mut made, process, thread, [builder, keep]) = Made::app_with(["main > load", "main > keep"]);
        made.alloc(thread, BASE, 10 * PAGE, builder);
        made.alloc(thread, BASE + 10 * PAGE + 0x20, 40, keep);
        made.alloc(thread, BASE + 11 * PAGE, 3 * PAGE, builder);
        made.alloc(thread, MAPPED, 1 << 20, builder);
        for block in [BASE, BASE + 11 * PAGE, MAPPED] {
            made.free(thread, block);
        }
        if unmaps {
            made.event(thread, Action::Unmap { address: BASE + PAGE, length: 4 * PAGE });
        }
        made.end(process, thread, ended);
        let (loaded, watch) = watched(&made, |tables| Pages::new(true, tables));
        (loaded, watch.finish(), keep)
    };
    let pages = |(under, above): (i64, i64)| [under, above].map(|bytes| bytes / PAGE.cast_signed());
    let (mut loaded, found, keep) = table(false, Ended::Exited(0));
    assert_eq!(pages(found.freed()), [10, 3]);
    let [heap] = &found.heaps[..] else { panic!("{:?}", found.heaps) };
    let highest = heap.highest.unwrap();
    assert_eq!((heap.start, heap.end), (BASE, BASE + 14 * PAGE));
    assert_eq!((highest.address, highest.size, highest.node), (BASE + 10 * PAGE + 0x20, 40, keep));
    let text = shown::document(
        &loaded,
        &views::pages(&loaded, &found),
        9,
        &Style { color: false, width: Some(100) },
    );
    for line in [
        "malloc_trim(0) would return about 40.0 KiB",
        "  40.0 KiB  12.0 KiB  4.00 KiB  56.0 KiB      40 B  keep (k.c:14) < main",
    ] {
        assert!(text.contains(line), "{text}");
    }
    // What is glibc's alone is not said of other allocators.
    loaded.tables.modules.push(Module { path: "/lib/libjemalloc.so.2".to_owned(), ..Module::default() });
    let text = shown::document(
        &loaded,
        &views::pages(&loaded, &found),
        9,
        &Style { color: false, width: Some(100) },
    );
    assert!(text.contains("freed: another 52.0 KiB in pages without a block, unless jemalloc"), "{text}");
    assert!(!text.contains("malloc_trim") && !text.contains("highest block"), "{text}");
    assert_eq!(pages(table(true, Ended::Exited(0)).1.freed()), [6, 3]);
    assert_eq!(pages(table(false, Ended::Exec).1.freed()), [0, 0]);
}

/// Check that an address has its invalid frees among its turns: a second one, one of the middle of its block, and one of an
/// address that never was a block's; but not those of other addresses.
#[test]
fn turns_of_an_address_have_invalid_frees() {
    let (mut made, process, thread) = Made::app();
    let (other, other_thread) = made.process("other");
    let stack = made.stack("main > f");
    made.alloc(thread, 0x1000, 64, stack);
    made.free(thread, 0x1010);
    made.free(thread, 0x1000);
    made.free(thread, 0x1000);
    made.free(thread, 0x5000);
    made.free(other_thread, 0x1000);
    made.end(other, other_thread, Ended::Exited(0));
    made.end(process, thread, Ended::Exited(0));
    let turns = |address| {
        let (loaded, watch) = watched(&made, |_| History::new(address, 99));
        let (entries, earlier) = watch.finish();
        let history = views::history(&loaded, address, &entries, earlier);
        let document = shown::document_json(&loaded, &history);
        let turns = document["turns"].as_array().unwrap().iter();
        let turns = turns
            .map(|turn| format!("{} {} {}", turn["turn"], turn["address"], turn["pid"]).replace('"', ""));
        let text = shown::document(&loaded, &history, 99, &Style::default());
        (turns.collect::<Vec<_>>(), text)
    };
    let (all, text) = turns(0x1000);
    let expected = [
        "allocated 0x1000 1000",
        "freed_invalid 0x1010 1000",
        "freed 0x1000 1000",
        "freed_invalid 0x1000 1000",
        "freed_invalid 0x1000 1001",
    ];
    assert_eq!(all, expected);
    assert!(text.contains("  freed 0x1010, where no block began\n"), "{text}");
    assert_eq!(turns(0x5000).0, ["freed_invalid 0x5000 1000"]);
    assert_eq!(turns(0x6000).0, [""; 0]);
}

/// Check the turns of an address that is used again and again, also from within a block.
#[test]
fn turns_of_an_address_are_told() {
    let (mut made, process, thread, [stack]) = Made::app_with(["main > f"]);
    made.alloc(thread, 0x1000, 16, stack);
    made.free(thread, 0x1000);
    made.alloc(thread, 0x0ff0, 64, stack);
    made.realloc(thread, 1, 0x0ff0, ReallocOutcome::Block { address: 0x2000, size: 8, stack });
    made.alloc(thread, 0x1000, 1, stack);
    made.alloc(thread, 0x1001, 1, stack);
    made.end(process, thread, Ended::Exited(0));
    let turns = |address, limit| {
        let (loaded, watch) = watched(&made, |_| History::new(address, limit));
        let (entries, earlier) = watch.finish();
        let document = views::history(&loaded, address, &entries, earlier);
        shown::document_json(&loaded, &document);
        let text = shown::document(&loaded, &document, limit, &Style::default());
        text.lines()
            .skip(1)
            .map(|line| if line.starts_with("   ") { line[36..].to_owned() } else { line.to_owned() })
            .collect::<Vec<_>>()
    };
    let all = [
        "allocated 0x1000 16  f (f.c:11) < main",
        "freed 0x1000 16",
        "allocated 0xff0 64  f (f.c:11) < main",
        "resized 0xff0 64 -> 0x2000 8  f (f.c:11) < main",
        "allocated 0x1000 1  f (f.c:11) < main",
        "never freed 0x1000 1",
    ];
    assert_eq!(turns(0x1000, 100)[2..], all);
    let last = turns(0x1000, 2);
    assert_eq!(last[2..], ["4 earlier events not shown (--limit)", all[4], all[5]]);
    assert_eq!(turns(0x9000, 2)[0], "  no recorded block was at this address");
}

/// Check that of a range the blocks are told that were allocated in it, as far as they ended in it.
#[test]
fn ranges_have_lives_of_their_own() {
    let file = small().saved("app.memprof");
    let query = |from: &str, to: &str| Query::of(Part::Range(from.parse().unwrap(), to.parse().unwrap()));
    // Events at 1 to 7 ms: start, b, b, b, c, free of the first, end.
    let table = |query: &Query, filter: Option<&str>| {
        let filter = filter.map(|text| text.parse().unwrap());
        let analyzer = Analyzer::open(&file).unwrap();
        let (loaded, watch) =
            analyzer.lifetimes(query, filter.as_ref(), Naming::Stored, Lifetimes::new).unwrap();
        let rows = watch.finish().stacks;
        let total = rows.iter().fold(Amount::ZERO, |sum, row| sum + row.total);
        assert_eq!(total, loaded.profile.total.allocated);
        total
    };
    assert_eq!(table(&Query::default(), None), Amount { blocks: 4, bytes: 350 });
    assert_eq!(table(&query("2ms", "4ms"), None), Amount { blocks: 2, bytes: 200 });
    assert_eq!(table(&query("2ms", "end"), Some("not b")), Amount { blocks: 1, bytes: 50 });
    assert_eq!(table(&Query::default(), Some("thread:5000 and b")), Amount { blocks: 3, bytes: 300 });
    assert_eq!(table(&Query::default(), Some("thread:1")), Amount::ZERO);
}

/// Check that what is mapped apart from the allocator is its stack's, whoever unmaps it and wherever it moves, and that
/// a part of a capture begins with what was there before.
#[test]
fn mappings_belong_to_those_who_map() {
    let (mut made, process, one) = Made::app();
    let two = made.thread(process);
    let (pool, cache) = (made.stack("main > pool"), made.stack("main > cache"));
    let map = |address, length, stack, in_hook| Action::Map { address, length, stack, in_hook };
    made.event(one, map(0x10000, 0x4000, pool, false));
    made.event(two, map(0x20000, 0x1000, cache, false));
    let begun = made.time;
    made.event(two, map(0x80000, 0x9000, cache, true));
    made.event(two, Action::Unmap { address: 0x11000, length: 0x1000 });
    let (old_address, old_length) = (0x20000, 0x1000);
    made.event(one, Action::Remap { old_address, old_length, address: 0x30000, length: 0x3000, stack: pool });
    made.event(one, map(0x30000, 0x1000, pool, false));
    made.event(one, map(0x40000, 0x2000, pool, false));
    made.end(process, one, Ended::Exited(0));
    let row = |node, peak, held, mapped, calls| MappedRow { process, node, peak, held, mapped, calls };
    let (_, watch) = watched(&made, |_| Mapped::default());
    assert_eq!(watch.finish(), [row(pool, 0x6000, 0x6000, 0x7000, 3), row(cache, 0x3000, 0x2000, 0x3000, 2)]);

    let file = made.saved("app.memprof");
    let part = Part::Range(format!("{begun}ns").parse().unwrap(), "end".parse().unwrap());
    let ask = |filter: &str| {
        let filter = filter.parse().unwrap();
        let analyzer = Analyzer::open(&file).unwrap();
        let (_, watch) = analyzer
            .lifetimes(&Query::of(part.clone()), Some(&filter), Naming::Stored, |_| Mapped::default())
            .unwrap();
        watch.finish()
    };
    assert_eq!(ask("pool"), [row(pool, 0x6000, 0x6000, 0x3000, 2)]);
    assert_eq!(ask("cache"), [row(cache, 0x3000, 0x2000, 0x2000, 1)]);
}

/// Check that every field of every document is described.
#[test]
fn every_field_is_documented() {
    for made in [rich(), small(), sampled()] {
        for (name, document) in documents(&made) {
            assert_eq!(document["document"], *name);
            assert_described(name, &document);
        }
    }
}

fn documents(made: &Made) -> Vec<(&'static str, serde_json::Value)> {
    let style = Style { color: false, width: Some(100) };
    let mut documents = Vec::new();
    let mut view = |loaded: &Loaded, document: Document| {
        let text = shown::document(loaded, &document, 2, &style);
        assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text}");
        documents.push((document.id, shown::document_json(loaded, &document)));
    };
    let (loaded, watch) = watched(made, Threads::new);
    view(&loaded, views::threads(&watch.finish()));
    let (loaded, watch) = watched(made, Sizes::new);
    view(&loaded, views::sizes(&loaded, &watch.finish()));
    let (loaded, watch) = watched(made, Lifetimes::new);
    view(&loaded, views::lifetimes(&watch.finish()));
    let (loaded, watch) = watched(made, |_| Reallocs::default());
    view(&loaded, views::reallocs(&loaded, &watch.finish()));
    let (loaded, watch) = watched(made, |tables| Pages::new(true, tables));
    view(&loaded, views::pages(&loaded, &watch.finish()));
    let (loaded, watch) = watched(made, Frees::new);
    view(
        &loaded,
        views::frees(&watch.finish(Side::Allocations, Order::Bytes), Side::Allocations, Order::Bytes),
    );
    let (loaded, watch) = watched(made, |tables| Temporary::new(1_000_000, tables));
    view(&loaded, views::temporary(&watch.finish(), 1_000_000));
    let (loaded, watch) = watched(made, |_| Mapped::default());
    view(&loaded, views::mapped(&loaded, &watch.finish()));
    let (loaded, watch) = watched(made, |_| History::new(0x3000, 10));
    let (entries, earlier) = watch.finish();
    view(&loaded, views::history(&loaded, 0x3000, &entries, earlier));
    let options = ReportOptions { limit: Some(2), ..ReportOptions::default() };
    let rows = analysis::lines(&loaded.profile, &loaded.tables, &loaded.names);
    view(&loaded, views::lines(&loaded, rows, &options, Readers::Programs));
    documents
}

/// A program of random calls by two threads.
fn random(calls: &[(u8, u8, u64)]) -> Made {
    let (mut made, process, one) = Made::app();
    let two = made.thread(process);
    let stacks = ["main > a", "main > b", "run > c"].map(|stack| made.stack(stack));
    let mut live: BTreeMap<u64, ()> = BTreeMap::new();
    let mut serial = 0_u16;
    for &(kind, place, size) in calls {
        let thread = if place % 2 == 0 { one } else { two };
        let address = 0x1000 + u64::from(place) * 0x100;
        match (kind, live.contains_key(&address)) {
            (0 | 1, false) => {
                made.alloc(thread, address, size, stacks[usize::from(place % 3)]);
                live.insert(address, ());
            }
            (2, true) => {
                let thread = if size % 2 == 0 { one } else { two };
                made.free(thread, address);
                live.remove(&address);
            }
            (3, true) => {
                serial += 1;
                made.realloc(
                    thread,
                    serial,
                    address,
                    ReallocOutcome::Block { address, size, stack: stacks[2] },
                );
            }
            _ => made.time += size * 1000,
        }
    }
    made.end(process, one, Ended::Exited(0));
    made
}

proptest! {
    /// Check that the sums of every view are those of the profile.
    #[test]
    fn sums_are_those_of_every_view(calls in prop::collection::vec((0..5_u8, 0..12_u8, 0..100_000_u64), 0..200)) {
        let made = random(&calls);
        let sum = |amounts: &mut dyn Iterator<Item = Amount>| amounts.fold(Amount::ZERO, |sum, amount| sum + amount);
        let (loaded, watch) = watched(&made, |tables| Temporary::new(1_000_000, tables));
        let total = loaded.profile.total;
        let rows = watch.finish();
        prop_assert_eq!(sum(&mut rows.iter().map(|row| row.allocated)), total.allocated);
        prop_assert_eq!(sum(&mut rows.iter().map(|row| row.immediate)), total.temporary);
        prop_assert!(rows.iter().all(|row| row.brief.blocks <= row.allocated.blocks));

        let table = watched(&made, Threads::new).1.finish();
        prop_assert_eq!(sum(&mut table.threads.iter().map(|row| row.allocated)), total.allocated);
        prop_assert_eq!(sum(&mut table.threads.iter().map(|row| row.temporary)), total.temporary);
        prop_assert_eq!(sum(&mut table.threads.iter().map(|row| row.freed)), total.freed);
        prop_assert_eq!(sum(&mut table.threads.iter().map(|row| row.left)), total.leaked);
        prop_assert_eq!(sum(&mut table.pairs.iter().map(|row| row.amount)), total.allocated);
        prop_assert_eq!(
            sum(&mut table.crossing.iter().map(|row| row.amount)),
            sum(&mut table.threads.iter().map(|row| row.foreign))
        );

        let table = watched(&made, Sizes::new).1.finish();
        prop_assert_eq!(sum(&mut table.classes.iter().map(|row| row.allocated)), total.allocated);
        prop_assert!(table.classes.iter().all(|row| row.slack >= 0));

        let table = watched(&made, Lifetimes::new).1.finish();
        prop_assert_eq!(sum(&mut table.stacks.iter().map(|row| row.total)), total.allocated);
        prop_assert_eq!(sum(&mut table.map.iter().map(|cell| cell.amount)), total.allocated);
        let left = table.map.iter().filter(|cell| cell.age == analysis::lifetimes::Age::LEFT);
        prop_assert_eq!(sum(&mut left.map(|cell| cell.amount)), total.leaked);

        let rows = lines(&loaded.profile, &loaded.tables, &loaded.names);
        prop_assert_eq!(sum(&mut rows.iter().map(|row| row.cost.allocated)), total.allocated);
        prop_assert_eq!(sum(&mut rows.iter().map(|row| row.cost.peak)), total.peak);

        let steps = made.events.iter().filter(|event| matches!(event.action, Action::ReallocEnd { .. })).count();
        let rows = watched(&made, |_| Reallocs::default()).1.finish();
        prop_assert_eq!(rows.iter().map(|row| row.steps).sum::<u64>(), steps as u64);
        prop_assert!(rows.iter().all(|row| row.node != NodeId::ROOT && row.copied_bytes == 0));
    }
}
