//! Who frees: what stacks of frees add up to, in every view that can be asked for them.

use crate::shown;
use crate::support::Made;
use analysis::lifetimes::{Age, BlockStats, Endpoint, Frees, FreesRow, Order, Side};
use analysis::query::{Filter, Part, Pattern, Query};
use analysis::{Amount, Metric, Profile, ProfileBuilder, Site};
use capture::{Action, Ended, FREE_STACKS, NodeId, ReallocOutcome, ThreadId};
use engine::lens::Lens;
use engine::{Analyzer, Loaded, Naming, Recorded};
use export::{ExportOptions, Format};
use proptest::prelude::*;
use report::text::{self, Extent, Style};
use report::{ReportOptions, Shape, views};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Blocks of `make` and of a library, which `drop` and `clear` free, one that `grow` makes larger, and one that stays.
fn traced() -> Made {
    let (mut made, process, one) = Made::app();
    made.tables.metadata.options.push((FREE_STACKS.into(), true.to_string()));
    let two = made.thread(process);
    let [make, grow, drop, clear] =
        ["main > make", "main > grow", "main > drop > release", "main > clear"].map(|name| made.stack(name));
    let of_library = made.frame(Some("/lib/libx.so.1"), &["x_new"]);
    let of_library = made.node(NodeId::ROOT, of_library);
    for block in 0..3 {
        made.alloc(one, 0x1000 + block * 0x100, 100, make);
    }
    made.alloc(one, 0x2000, 50, of_library);
    made.alloc(one, 0x3000, 7, make);
    free(&mut made, one, 0x1000, drop);
    free(&mut made, two, 0x1100, drop);
    free(&mut made, one, 0x2000, drop);
    free(&mut made, one, 0x1200, clear);
    let outcome = ReallocOutcome::Block { address: 0x4000, size: 70, stack: grow };
    made.realloc(one, 1, 0x3000, outcome);
    made.end(process, one, Ended::Exited(0));
    made
}

fn free(made: &mut Made, thread: ThreadId, address: u64, stack: NodeId) {
    made.event(thread, Action::Free { address, stack });
}

/// The innermost function of each stack that has freed, and what.
fn frees(loaded: &Loaded) -> Vec<(String, Amount)> {
    let name = |site: &Site| {
        let frame = loaded.tables.nodes[site.node.index()].frame;
        loaded.names.label(loaded.names.steps(frame)[0].label).name.clone()
    };
    let sites = loaded.profile.sites.iter().filter(|site| !site.cost.frees.is_zero());
    let mut frees: Vec<_> = sites.map(|site| (name(site), site.cost.frees)).collect();
    frees.sort_by(|a, b| a.0.cmp(&b.0));
    frees
}

fn expected(rows: &[(&str, i64, i64)]) -> Vec<(String, Amount)> {
    rows.iter().map(|&(name, blocks, bytes)| (name.to_owned(), Amount { blocks, bytes })).collect()
}

fn asked(made: &Made, query: &Query) -> Loaded {
    let path = made.saved("a.memprof");
    Analyzer::open(&path).unwrap().seen(query, &Lens::default(), Naming::Stored).unwrap()
}

/// Check that each free counts where it was made, a `realloc` where that was called, and all of them add up to what was freed;
/// and that what was allocated is counted as without.
#[test]
fn frees_count_where_they_are_made() {
    let loaded = asked(&traced(), &Query::default());
    assert_eq!(frees(&loaded), expected(&[("clear", 1, 100), ("grow", 1, 7), ("release", 3, 250)]));
    assert_eq!(loaded.profile.total.frees, loaded.profile.total.freed);
    let mut without = traced();
    without.tables.metadata.options.clear();
    let without = asked(&without, &Query::default());
    assert_eq!(without.profile.total.frees, Amount::ZERO);
    let flows = |profile: &Profile| (profile.total.allocated, profile.total.freed, profile.total.leaked);
    assert_eq!(flows(&loaded.profile), flows(&without.profile));
    assert_eq!(without.profile.sites.len(), 3, "no rows of stacks that only free");
}

/// Check that of a part only its own frees count, whenever the block was allocated.
#[test]
fn parts_have_the_frees_made_in_them() {
    let part = |part: Part| frees(&asked(&traced(), &Query::of(part)));
    let when = |text: &str| text.parse().unwrap();
    // Events come a millisecond apart: the first free is the seventh.
    assert_eq!(part(Part::At(when("7ms"))), expected(&[("release", 1, 100)]));
    let range = Part::Range(when("8ms"), when("10ms"));
    assert_eq!(part(range), expected(&[("clear", 1, 100), ("release", 1, 50)]));
}

/// Check that a choice of blocks is one by where they were allocated: a library's blocks are freed by those that free them, and not
/// only by the library.
#[test]
fn choices_are_of_blocks_and_not_of_frees() {
    let modules = vec![Pattern::glob("libx.so")];
    let of_library = Query { filter: Filter { modules, ..Filter::default() }, ..Query::default() };
    let loaded = asked(&traced(), &of_library);
    assert_eq!(frees(&loaded), expected(&[("release", 1, 50)]));
    assert_eq!(loaded.profile.total.allocated, Amount { blocks: 1, bytes: 50 });
    let sizes =
        Query { filter: Filter { sizes: "..7".parse().ok(), ..Filter::default() }, ..Query::default() };
    assert_eq!(frees(&asked(&traced(), &sizes)), expected(&[("grow", 1, 7)]));
}

/// Check that of samples each free stands for as many as its block, with the same error.
#[test]
fn frees_of_samples_are_estimates() {
    let (mut made, _, thread, [make, drop]) = Made::app_with(["main > make", "main > drop"]);
    made.tables.metadata.options.push((FREE_STACKS.into(), true.to_string()));
    made.tables.metadata.sample_interval = 64 << 10;
    for block in 0..40 {
        made.alloc(thread, 0x1000 + block * 0x100, 100, make);
    }
    for block in 0..30 {
        free(&mut made, thread, 0x1000 + block * 0x100, drop);
    }
    let profile = made.profile();
    assert!(profile.total.frees.blocks > 1000, "{:?}", profile.total);
    assert_eq!(profile.total.frees, profile.total.freed);
    let spread = profile.total_spread;
    assert!(spread.frees.blocks_error() > 0);
    assert_eq!(
        (spread.frees.blocks_error(), spread.frees.bytes_error()),
        (spread.freed.blocks_error(), spread.freed.bytes_error())
    );
}

/// Check that blocks of a pool, of which programs do not tell where they go back, have no frees of stacks.
#[test]
fn pools_tell_nothing_of_frees() {
    let (mut made, _, thread) = Made::app();
    made.tables.metadata.options.push((FREE_STACKS.into(), true.to_string()));
    let (pool, stack) = (made.string("arena"), made.stack("main > take"));
    made.event(thread, Action::PoolAlloc { pool, address: 0x10, size: 8, stack });
    made.event(thread, Action::PoolFree { pool, address: 0x10 });
    let profile = made.loaded_of_pool("arena", "app.memprof").profile;
    assert_eq!((profile.total.freed, profile.total.frees), (Amount { blocks: 1, bytes: 8 }, Amount::ZERO));
    assert_eq!(profile.sites.len(), 1);
}

/// Check that samples of a choice by file are those whose stacks pass through it, as without stacks of frees.
#[test]
fn choices_are_of_samples_too() {
    for with_frees in [true, false] {
        let mut made = traced();
        if !with_frees {
            made.tables.metadata.options.clear();
        }
        let task = made.task(capture::ProcessId(0), 5000, "app");
        let [library, other] = [NodeId::from_index(made.tables.nodes.len() - 1), made.stack("main > make")];
        made.sample(task, 10, library);
        made.sample(task, 20, other);
        made.sample(task, 30, other);
        let modules = vec![Pattern::glob("libx.so")];
        let query = Query { filter: Filter { modules, ..Filter::default() }, ..Query::default() };
        assert_eq!(asked(&made, &query).profile.total.cpu.blocks, 1, "{with_frees}");
        assert_eq!(asked(&made, &Query::default()).profile.total.cpu.blocks, 3);
    }
}

/// Check each shape of a report in text and in JSON: its total is that of all frees, and `release` has the most.
#[test]
fn reports_weigh_by_frees() {
    let loaded = asked(&traced(), &Query::default());
    for shape in [Shape::Stacks, Shape::Functions, Shape::Tree, Shape::Inverted] {
        let options = ReportOptions { metric: Metric::Frees, shape, ..ReportOptions::default() };
        let text = shown::report(&loaded, &options);
        assert!(text.lines().next().unwrap().ends_with("5 frees of 357 B"), "{text}");
        let line = text.lines().find(|line| line.contains("release")).unwrap();
        assert!(line.contains("60.0 %") && line.contains("250 B"), "{text}");
        assert!(!text.contains("make"), "{text}");
        let document = shown::report_json(&loaded, &options);
        assert_eq!((&document["by"], &document["total"]["frees_here"]), (&"frees".into(), &5.into()));
        assert_eq!(document["total"]["freed_here_bytes"], 357);
        if shape == Shape::Stacks {
            let rows: Vec<_> = document["rows"].as_array().unwrap().iter().take(3).collect();
            let told = rows.iter().map(|row| row["frees_here"].as_i64().unwrap());
            assert_eq!(told.collect::<Vec<_>>(), [3, 1, 1], "{document:#}");
            let calls = rows.iter().map(|row| row["call"].as_str().unwrap());
            assert_eq!(calls.collect::<Vec<_>>(), ["free", "free", "malloc"]);
            assert_eq!((&rows[0]["allocations"], &rows[0]["frees"]), (&0.into(), &0.into()));
        }
    }
}

/// Check that every format that holds stacks has the frees of each, and that captures without have no empty columns.
#[test]
fn exports_hold_frees() {
    let export = |loaded: &Loaded, format: Format| {
        let recorded = Recorded::new(&PathBuf::from("unused"));
        let options = ExportOptions { metric: Metric::Frees, ..ExportOptions::new(format) };
        let mut out = Vec::new();
        export::export(&mut out, loaded, &recorded, &options).unwrap();
        out
    };
    let text = |loaded: &Loaded, format: Format| String::from_utf8(export(loaded, format)).unwrap();
    let loaded = asked(&traced(), &Query::default());
    let mut without = traced();
    without.tables.metadata.options.clear();
    let without = asked(&without, &Query::default());

    let folded = text(&loaded, Format::Folded);
    let mut lines: Vec<&str> = folded.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["app;main;clear 1", "app;main;drop;release 3", "app;main;grow 1"]);
    assert_eq!(text(&without, Format::Folded), "");

    let csv = text(&loaded, Format::Csv);
    let mut rows = csv.lines();
    assert!(rows.next().unwrap().ends_with(",frees_here,freed_here_bytes,stack"), "{csv}");
    let row =
        rows.find(|row| row.contains(",3,250,\"main;drop;release\"")).unwrap_or_else(|| panic!("{csv}"));
    assert!(row.contains(",\"free\","), "{row}");
    assert!(!text(&without, Format::Csv).contains("frees_here"));

    let callgrind = text(&loaded, Format::Callgrind);
    assert!(
        callgrind.lines().any(|line| line.starts_with("totals:") && line.ends_with(" 357 5")),
        "{callgrind}"
    );
    assert!(!text(&without, Format::Callgrind).contains("FreesHere"));

    let speedscope: Value = serde_json::from_slice(&export(&loaded, Format::Speedscope)).unwrap();
    let active = &speedscope["profiles"][speedscope["activeProfileIndex"].as_u64().unwrap() as usize];
    assert_eq!((&active["name"], &active["endValue"]), (&"frees".into(), &5.into()));

    let pprof = crate::export::protobuf::Profile::decode(&export(&loaded, Format::Pprof));
    let of = |name: &str| {
        let place = pprof.sample_types.iter().position(|(kind, _)| kind == name).unwrap();
        pprof.samples.iter().map(|sample| sample.values[place]).sum::<i64>()
    };
    assert_eq!((of("freed_here_objects"), of("freed_here_space")), (5, 357));
    let pprof = crate::export::protobuf::Profile::decode(&export(&without, Format::Pprof));
    assert!(pprof.sample_types.iter().all(|(kind, _)| !kind.starts_with("freed_here")));
}

/// Who frees whose blocks, asked of a file.
fn pairs(made: &Made, query: &Query, side: Side, freed_by: Option<&str>) -> (Loaded, Vec<FreesRow>) {
    let path = made.saved("a.memprof");
    let analyzer = Analyzer::open(&path).unwrap();
    let expression = freed_by.map(|text| text.parse::<analysis::query::Expression>().unwrap());
    let by_threads = expression.as_ref().is_some_and(|expression| expression.asks_for_threads());
    let watch = |tables: &_| if by_threads { Frees::new(tables).by_threads() } else { Frees::new(tables) };
    let (loaded, mut frees) = analyzer.lifetimes(query, None, Naming::Stored, watch).unwrap();
    if let Some(expression) = &expression {
        frees.keep_freed_by(&mut expression.select(&loaded.tables, &loaded.names));
    }
    let rows = frees.finish(side, Order::Bytes);
    (loaded, rows)
}

/// Each row and what is below it in words: who, how many blocks, and how many of them another thread freed.
fn texts_of(loaded: &Loaded, rows: &[FreesRow]) -> Vec<String> {
    let name = |endpoint: Endpoint| match endpoint.stack().filter(|stack| *stack != NodeId::ROOT) {
        Some(stack) => {
            let frame = loaded.tables.nodes[stack.index()].frame;
            format!("{} {}", endpoint.name(), loaded.names.label(loaded.names.steps(frame)[0].label).name)
        }
        None => endpoint.name().to_owned(),
    };
    let said = |endpoint, stats: &BlockStats| {
        format!(
            "{}: {} {} {}",
            name(endpoint),
            stats.blocks.blocks,
            stats.blocks.bytes,
            stats.by_others.blocks
        )
    };
    let row = |row: &FreesRow| {
        let below = row.with.iter().map(|(other, stats)| format!("  {}", said(*other, stats)));
        [said(row.endpoint, &row.sum)].into_iter().chain(below).collect::<Vec<_>>()
    };
    rows.iter().flat_map(row).collect()
}

/// Check each allocating stack with those that free its blocks, and each freeing one with those whose blocks it frees; what `realloc`
/// makes of a block, what another thread frees, and what nobody does.
#[test]
fn allocations_lead_to_frees_and_back() {
    let made = traced();
    let (loaded, rows) = pairs(&made, &Query::default(), Side::Allocations, None);
    let expected = [
        "allocated make: 4 307 1",
        "  freed release: 2 200 1",
        "  freed clear: 1 100 0",
        "  resized grow: 1 7 0",
        "allocated grow: 1 70 0",
        "  left: 1 70 0",
        "allocated x_new: 1 50 0",
        "  freed release: 1 50 0",
    ];
    assert_eq!(texts_of(&loaded, &rows), expected);
    let blocks: i64 = rows.iter().map(|row| row.sum.blocks.blocks).sum();
    assert_eq!(blocks, loaded.profile.total.allocated.blocks);
    let (loaded, rows) = pairs(&made, &Query::default(), Side::Frees, None);
    let expected = [
        "freed release: 3 250 1",
        "  allocated make: 2 200 1",
        "  allocated x_new: 1 50 0",
        "freed clear: 1 100 0",
        "  allocated make: 1 100 0",
        "resized grow: 1 7 0",
        "  allocated make: 1 7 0",
    ];
    assert_eq!(texts_of(&loaded, &rows), expected);
}

/// Check that a choice is of both sides: of who allocated, of who freed, and of the time in which both happened.
#[test]
fn pairs_can_be_chosen_by_both_sides() {
    let made = traced();
    let chosen = |query: &Query, freed_by| {
        let (loaded, rows) = pairs(&made, query, Side::Allocations, freed_by);
        texts_of(&loaded, &rows)
    };
    let of_clear = ["allocated make: 1 100 0", "  freed clear: 1 100 0"];
    assert_eq!(chosen(&Query::default(), Some("clear")), of_clear);
    assert_eq!(chosen(&Query::default(), Some("nobody")), [""; 0]);
    // All were allocated by the first thread, so this is of who freed.
    let of_second = ["allocated make: 1 100 1", "  freed release: 1 100 1"];
    assert_eq!(chosen(&Query::default(), Some("thread:5001")), of_second);
    let of_first = ["allocated make: 2 107 0", "  freed clear: 1 100 0", "  resized grow: 1 7 0"];
    assert_eq!(chosen(&Query::default(), Some("main and thread:5000 and not release")), of_first);
    // Threads that free one stack's blocks are told apart for the choice, and are one row after it.
    let of_all = chosen(&Query::default(), Some("thread:*"));
    assert_eq!(of_all, chosen(&Query::default(), Some("release or clear or grow")));
    let modules = vec![Pattern::glob("libx.so")];
    let of_library = Query { filter: Filter { modules, ..Filter::default() }, ..Query::default() };
    assert_eq!(chosen(&of_library, None), ["allocated x_new: 1 50 0", "  freed release: 1 50 0"]);
    assert_eq!(chosen(&of_library, Some("clear")), [""; 0]);
    // Events come a millisecond apart: three blocks of `make` come second to fourth, and the first two frees seventh and eighth.
    let range = Query::of(Part::Range("2ms".parse().unwrap(), "7ms".parse().unwrap()));
    let expected =
        ["allocated make: 3 207 0", "  left: 3 207 0", "allocated x_new: 1 50 0", "  left: 1 50 0"];
    assert_eq!(chosen(&range, None), expected);
}

/// Check the text of both sides to the letter, and the document.
#[test]
fn pairs_are_written() {
    let made = traced();
    let text = |side| {
        let (loaded, rows) = pairs(&made, &Query::default(), side, None);
        let style = Style { color: false, width: Some(100) };
        let document = views::frees(&rows, side, Order::Bytes);
        let text =
            shown::written(|out| text::document(out, &loaded, &document, Extent::of_command(2), &style));
        // The file lies anywhere.
        text[text.find("a.memprof").unwrap()..].to_owned()
    };
    let expected = "\
a.memprof: 427 B in 6 allocations
  freed: 350 B in 4 blocks, 25.0 % by others (not the thread that allocated)
  resized by realloc, which counts as a new block: 7 B in 1 block
  never freed: 70 B in 1 block
  lifetime: median of the freed blocks

     bytes      blocks   by others    lifetime  allocated by
     307 B           4      25.0 %     < 10 ms  make (m.c:14) < main
     200 B           2      50.0 %     < 10 ms    freed by release (r.c:17) < drop < main
     100 B           1                 < 10 ms    freed by clear (c.c:15) < main
       7 B           1                 < 10 ms    resized by grow (g.c:14) < main
      70 B           1                          grow (g.c:14) < main
      70 B           1                            never freed
1 more stack not shown (--limit)
";
    assert_eq!(text(Side::Allocations), expected);
    let turned = text(Side::Frees);
    let rows: Vec<&str> = turned.lines().skip(5).collect();
    let expected = [
        "     bytes      blocks   by others    lifetime  freed by",
        "     250 B           3      33.3 %     < 10 ms  release (r.c:17) < drop < main",
        "     200 B           2      50.0 %     < 10 ms    allocated by make (m.c:14) < main",
        "      50 B           1                 < 10 ms    allocated by x_new (x.c:15)",
        "     100 B           1                 < 10 ms  clear (c.c:15) < main",
        "     100 B           1                 < 10 ms    allocated by make (m.c:14) < main",
        "1 more stack not shown (--limit)",
    ];
    assert_eq!(rows, expected, "{turned}");

    let (loaded, rows) = pairs(&made, &Query::default(), Side::Allocations, None);
    let document = shown::document_json(&loaded, &views::frees(&rows, Side::Allocations, Order::Bytes));
    assert_eq!((&document["side"], &document["by"]), (&"allocations".into(), &"bytes".into()));
    let with = &document["rows"][0]["with"];
    assert_eq!(
        (&with[0]["party"], &with[0]["by_others"]["blocks"]),
        (&"freed".into(), &1.into()),
        "{with:#}"
    );
    assert_eq!(with[0]["stack"][0]["function"], "release");
    assert_eq!(with[0]["lifetimes"][0]["below_ns"], 10_000_000);
    let left = &document["rows"][1]["with"][0];
    assert_eq!(
        (&left["party"], &left["stack"], &left["lifetimes"][0]["ended"]),
        (&"left".into(), &Value::Null, &false.into())
    );
}

/// Check the same rows with exact numbers for a spreadsheet, and as a table of Markdown.
#[test]
fn pairs_are_in_other_formats() {
    let (loaded, rows) = pairs(&traced(), &Query::default(), Side::Allocations, None);
    let document = views::frees(&rows, Side::Allocations, Order::Bytes);
    let text = |format: report::Format| {
        let mut out = Vec::new();
        format.write(&mut out, &loaded, &document, Extent::of_command(1), &Style::default()).unwrap();
        String::from_utf8(out).unwrap()
    };
    let csv = text(report::Format::Csv);
    let first: Vec<&str> = csv.split("\r\n").take(4).collect();
    let expected = [
        "\"level\",\"bytes\",\"blocks\",\"by others\",\"lifetime\",\"allocated by\"",
        "0,307,4,0.250000,\"< 10 ms\",\"main;make\"",
        "1,200,2,0.500000,\"< 10 ms\",\"freed by main;drop;release\"",
        "1,100,1,,\"< 10 ms\",\"freed by main;clear\"",
    ];
    assert_eq!(first, expected, "{csv}");
    assert_eq!(csv.matches("\r\n0,").count(), rows.len(), "no limit: {csv}");
    let markdown = text(report::Format::Markdown);
    for line in [
        "never freed: 70 B in 1 block",
        "| bytes | blocks | by others | lifetime | allocated by |",
        "| 307 B | 4 | 25.0 % | < 10 ms | `make (m.c:14) < main` |",
        "| 7 B | 1 |  | < 10 ms | &nbsp;&nbsp;*resized by grow (g.c:14) &lt; main* |",
        "|  |  |  |  | *2 more stacks not shown (--limit)* |",
    ] {
        assert!(markdown.lines().any(|written| written == line), "{line} in {markdown}");
    }
}

/// Check that stacks with the same innermost function are one row, wherever they differ, with what nobody freed beside.
#[test]
fn pairs_are_told_by_function() {
    let mut made = traced();
    let (thread, other) = (ThreadId(0), made.stack("main > batch > make"));
    made.events.pop();
    made.alloc(thread, 0x9000, 1000, other);
    made.alloc(thread, 0xa000, 3, other);
    let drop = made.stack("main > drop > release");
    free(&mut made, thread, 0x9000, drop);
    made.end(capture::ProcessId(0), thread, Ended::Exited(0));
    let path = made.saved("a.memprof");
    let rows = |side| {
        let analyzer = Analyzer::open(&path).unwrap();
        let (loaded, frees) =
            analyzer.lifetimes(&Query::default(), None, Naming::Stored, Frees::new).unwrap();
        let rows = frees.finish_functions(side, Order::Bytes, &loaded.tables, &loaded.names);
        (loaded, rows)
    };
    let (loaded, found) = rows(Side::Allocations);
    let document = views::frees(&found, Side::Allocations, Order::Bytes);
    let text = shown::written(|out| {
        text::document(out, &loaded, &document, Extent::of_command(1), &Style::default())
    });
    let expected = [
        "  1.28 KiB           6      20.0 %     < 10 ms  make",
        "  1.17 KiB           3      33.3 %     < 10 ms    freed by release",
        "     100 B           1                 < 10 ms    freed by clear",
        "       7 B           1                 < 10 ms    resized by grow",
        "       3 B           1                            never freed",
        "2 more functions not shown (--limit)",
    ];
    let lines: Vec<&str> = text.lines().skip(7).collect();
    assert_eq!(lines, expected, "{text}");
    let (loaded, found) = rows(Side::Frees);
    let document = shown::document_json(&loaded, &views::frees(&found, Side::Frees, Order::Bytes));
    let [first, with] = [&document["rows"][0], &document["rows"][0]["with"][0]];
    assert_eq!((&first["function"], &first["blocks"]), (&"release".into(), &4.into()), "{document:#}");
    assert_eq!(
        (&with["party"], &with["function"], &with["bytes"]),
        (&"allocated".into(), &"make".into(), &1200.into())
    );
    assert!(first.get("stack").is_none());
}

/// Check that the middle lifetime is that of the middle block, and that blocks which were never freed have no part in it.
#[test]
fn lifetimes_have_a_median() {
    let stats = |ages: &[(u64, i64)], left: i64| {
        let age = |&(life, blocks): &(u64, i64)| (Age::of(life), Amount { blocks, bytes: 0 });
        let left = (left > 0).then_some((Age::LEFT, Amount { blocks: left, bytes: 0 }));
        BlockStats { ages: ages.iter().map(age).chain(left).collect(), ..BlockStats::default() }
    };
    for (ages, left, expected) in [
        (&[][..], 0, None),
        (&[], 7, None),
        (&[(10, 1)], 100, Some("< 1 µs")),
        (&[(10, 1), (5_000, 2)], 0, Some("< 10 µs")),
        (&[(10, 2), (5_000, 2)], 0, Some("< 1 µs")),
        (&[(10, 2), (5_000, 2), (u64::MAX, 5)], 0, Some("≥ 10 s")),
    ] {
        let median = stats(ages, left).median().map(|age| age.to_string());
        assert_eq!(median.as_deref(), expected, "{ages:?} {left}");
    }
}

proptest! {
    /// Check both sides against a count by hand of what random threads allocate and free.
    #[test]
    fn pairs_add_up(turns in prop::collection::vec((0..3_usize, 0..4_usize, 0..2_usize, 1..100_u64, any::<bool>()), 0..60)) {
        let (mut made, process, one) = Made::app();
        made.tables.metadata.options.push((FREE_STACKS.into(), true.to_string()));
        let threads = [one, made.thread(process)];
        let makers = ["main > a", "main > b", "c"].map(|stack| made.stack(stack));
        let freers = ["main > x", "run > y", "z"].map(|stack| made.stack(stack));
        let (mut live, mut next) = (Vec::new(), 0x1000);
        let mut expected: BTreeMap<(NodeId, Option<NodeId>), (i64, i64, i64)> = BTreeMap::new();
        for (maker, freer, thread, size, takes) in turns {
            if takes || live.is_empty() {
                made.alloc(threads[thread], next, size, makers[maker]);
                live.push((next, size, makers[maker], threads[thread]));
                next += 0x100;
                continue;
            }
            let (address, size, allocated_by, owner) = live.remove(maker % live.len());
            let freed_by = freers[freer % 3];
            free(&mut made, threads[thread], address, freed_by);
            let sum = expected.entry((allocated_by, Some(freed_by))).or_default();
            *sum = (sum.0 + 1, sum.1 + size as i64, sum.2 + i64::from(owner != threads[thread]));
        }
        for (_, size, allocated_by, _) in live {
            let sum = expected.entry((allocated_by, None)).or_default();
            *sum = (sum.0 + 1, sum.1 + size as i64, 0);
        }
        made.end(process, one, Ended::Exited(0));
        let found = |side| {
            let mut builder = ProfileBuilder::watched(&made.tables, Frees::new(&made.tables));
            builder.events(&made.events);
            let rows = builder.finish_watched().1.finish(side, Order::Blocks);
            assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(row.sum.blocks.blocks)));
            rows
        };
        let numbers = |stats: &BlockStats| (stats.blocks.blocks, stats.blocks.bytes, stats.by_others.blocks);
        let mut sums = BTreeMap::new();
        for row in found(Side::Allocations) {
            let allocated_by = row.endpoint.stack().unwrap();
            sums.extend(row.with.iter().map(|(end, stats)| ((allocated_by, end.stack()), numbers(stats))));
        }
        prop_assert_eq!(&sums, &expected);
        let mut turned = BTreeMap::new();
        for row in found(Side::Frees) {
            let freed_by = row.endpoint.stack();
            turned.extend(row.with.iter().map(|(endpoint, stats)| ((endpoint.stack().unwrap(), freed_by), numbers(stats))));
        }
        expected.retain(|(_, freed_by), _| freed_by.is_some());
        prop_assert_eq!(turned, expected);
    }
}
