//! What the rows of a report and the notes beside it say.

use crate::shown;
use crate::support::Made;
use analysis::{Metric, Share, rows};
use capture::{Action, CounterKind, Ended, MarkKind, NodeId, Pseudo, Summary};
use engine::Loaded;
use report::outline::Form;
use report::text::{self, Style};
use report::{ReportOptions, Shape};

fn report(loaded: &Loaded) -> String {
    shown::report(loaded, &ReportOptions::default())
}

#[track_caller]
fn assert_rows(made: Made, expected: &[&str]) {
    let report = report(&made.loaded("app.memprof"));
    let rows = report.lines().skip(4).map(|line| line.get(33..).unwrap_or_default().trim());
    assert_eq!(rows.collect::<Vec<_>>(), expected, "{report}");
}

/// Check that stacks of one function say where in it they begin when they differ in that, and by which container or
/// wrapper they came to the allocator; and that the allocator's own name is not worth a word.
#[test]
fn stacks_of_a_function_are_told_apart() {
    let (mut made, _, thread, [start]) = Made::app_with(["_start"]);
    let calls = [
        ("std::map<int, int>::operator[](int const&)", 7, 400),
        ("operator new(unsigned long)", 8, 300),
        ("xmalloc", 9, 200),
    ];
    for (index, (called, line, size)) in calls.into_iter().enumerate() {
        let frame = made.frame(Some("/bin/app"), &[called, "main"]);
        made.tables.symbols[frame.index()].as_mut().unwrap().names[1].line = Some(line);
        let stack = made.node(start, frame);
        made.alloc(thread, 0x1000 * (index as u64 + 1), size, stack);
    }
    assert_rows(
        made,
        &["main", "m.c:7 via std::map::operator[] < _start", "m.c:8 < _start", "m.c:9 via xmalloc < _start"],
    );
}

/// Check that of a program with many functions that all hold little, each form of a report has the largest, unless a share is asked for.
#[test]
fn many_small_functions_are_not_an_empty_report() {
    let (mut made, _, thread) = Made::app();
    for index in 0..300 {
        let stack = made.stack(&format!("start{index} > function{index}"));
        made.alloc(thread, 0x1000 * (index + 1), 1000 - index, stack);
    }
    let loaded = made.loaded("app.memprof");
    for shape in [Shape::Stacks, Shape::Functions, Shape::Inverted] {
        let shown = |min| {
            let options = ReportOptions { shape, min, ..ReportOptions::default() };
            shown::report(&loaded, &options)
        };
        let has = |report: &str, name: &str| report.split_whitespace().any(|word| word == name);
        let report = shown(None);
        assert!(has(&report, "function0") && !has(&report, "function5"), "{shape:?}: {report}");
        assert!(report.contains(" smaller ") && report.contains("not shown"), "{shape:?}: {report}");
        let asked = shown(Some(Share::percent(1.0)));
        assert!(!has(&asked, "function0"), "{shape:?}: {asked}");
    }
}

/// Check that a function of C++ in a namespace `core` is what allocates, and one of Rust's crate of that name passes on what its
/// caller asked for.
#[test]
fn a_namespace_is_not_a_crate_of_rust() {
    for (function, linkage, expected) in [
        ("core::Parser::grow()", None, "core::Parser::grow"),
        ("core::Parser::grow()", Some("_ZN4core6Parser4growEv"), "core::Parser::grow"),
        ("core::Parser::grow", Some("_ZN4core6Parser4growEv"), "core::Parser::grow"),
        ("core::iter::next", Some("_ZN4core4iter4next17h0123456789abcdefE"), "main"),
        ("core::iter::next", Some("_RNvNtC4core4iter4next"), "main"),
        ("core::iter::next", None, "main"),
    ] {
        let (mut made, _, thread) = Made::app();
        let stack = made.stack(&format!("main > {function}"));
        let linkage = linkage.map(|linkage| made.string(linkage));
        made.tables.symbols.last_mut().unwrap().as_mut().unwrap().linkage = linkage;
        made.alloc(thread, 0x1000, 100, stack);
        let report = report(&made.loaded("app.memprof"));
        let row = report.lines().nth(4).unwrap_or_default();
        assert!(row.contains(expected), "{function}: {report}");
    }
}

/// Check that stacks which are written the same are one row with the sum of their numbers, in reports, leaks and the summary,
/// and that a line, a caller or the allocator's function tells them apart.
#[test]
fn stacks_that_are_written_the_same_are_one_row() {
    let (mut made, id, thread, [start]) = Made::app_with(["_start"]);
    let mut address = 0;
    let mut alloc = |made: &mut Made, stack, size| {
        address += 0x1000;
        made.alloc(thread, address, size, stack);
    };
    for (size, line) in [(100, None), (200, None), (400, None), (1000, Some(7))] {
        let frame = made.frame(Some("/bin/app"), &["main"]);
        made.tables.symbols[frame.index()].as_mut().unwrap().names[0].line = line;
        let stack = made.node(start, frame);
        alloc(&mut made, stack, size);
    }
    made.end(id, thread, Ended::Exited(0));
    let loaded = made.loaded("app.memprof");
    let report = report(&loaded);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let rows: Vec<String> = report.lines().skip(4).map(words).collect();
    assert_eq!(
        rows,
        ["1.66 KiB 100 % 4 main", "1000 B 58.8 % 1 m.c:7 < _start", "700 B 41.2 % 3 m.c < _start"],
        "{report}"
    );
    let leaks = shown::leaks(&loaded, 10, &Style::default());
    assert!(leaks.contains("700 B (41.2 %) in 3 blocks from malloc"), "{leaks}");
    let summary = shown::summary(&loaded, "tool", &Style::default());
    assert!(summary.contains("700 B   41.2 %  main (m.c) < _start"), "{summary}");
}

/// Check that stacks which only the function of the allocator tells apart say which one that was, and others do not.
#[test]
fn calls_of_the_allocator_tell_rows_apart() {
    let (mut made, id, thread, [inner, other]) = Made::app_with(["_start > main > grow", "_start > grow"]);
    let calloc = made.pseudo(Pseudo::Calloc);
    let cleared = made.node(inner, calloc);
    made.alloc(thread, 0x1000, 400, inner);
    made.alloc(thread, 0x2000, 300, cleared);
    made.alloc(thread, 0x3000, 200, other);
    made.end(id, thread, Ended::Exited(0));
    assert_rows(
        made,
        &["grow (g.c:14)", "via malloc < main < _start", "via calloc < main < _start", "< _start"],
    );
}

/// Check that a stack of several processes is one row with what all of them have, however they take turns.
#[test]
fn a_stack_of_several_processes_is_one_row() {
    let mut made = Made::new();
    let stacks = ["main > large", "main > small"].map(|stack| made.stack(stack));
    for number in 0..3 {
        let (id, thread) = made.process("app");
        for (stack, size) in stacks.into_iter().zip([1000, 10]) {
            made.alloc(thread, 0x1000 * size + 0x100 * number, size + number, stack);
        }
        made.end(id, thread, Ended::Exited(0));
    }
    let loaded = made.loaded("app.memprof");
    let costs: Vec<(NodeId, i64, i64)> = rows(&loaded.profile, Metric::Bytes)
        .iter()
        .map(|row| (row.node, row.cost.allocated.bytes, row.cost.allocated.blocks))
        .collect();
    assert_eq!(costs, [(stacks[0], 3003, 3), (stacks[1], 33, 3)]);
}

/// Check that summaries tell of blocks that ended unseen, where their places were given out again, and of processes that ran on, of many
/// only so many by name.
#[test]
fn what_was_not_seen_is_told() {
    let (mut made, _, thread, [stack]) = Made::app_with(["main"]);
    made.alloc(thread, 0x1000, 10, stack);
    made.alloc(thread, 0x1000, 20, stack);
    made.tables.summary = Some(Summary {
        unrecorded: (1..=12).map(|pid| format!("{pid} worker")).collect(),
        ..Summary::default()
    });
    let summary = shown::summary(&made.loaded("app.memprof"), "tool", &Style::default());
    assert!(summary.contains("1 block without a recorded free"), "{summary}");
    assert!(summary.contains("  still running when the recording ended: 1 worker, 2 worker, "), "{summary}");
    assert!(summary.contains(", 10 worker and 2 more\n"), "{summary}");
}

/// Check that stacks which differ only further out than is written do not name a function of the allocator, which both have called.
#[test]
fn a_call_that_tells_nothing_apart_is_not_named() {
    let (mut made, id, thread) = Made::app();
    let callers = (0..20).map(|number| format!("f{number}")).collect::<Vec<_>>().join(" > ");
    let stacks = ["one", "other"].map(|root| made.stack(&format!("{root} > {callers} > grow")));
    for (stack, address) in stacks.into_iter().zip([0x1000, 0x2000]) {
        made.alloc(thread, address, 100, stack);
    }
    made.end(id, thread, Ended::Exited(0));
    let report = report(&made.loaded("app.memprof"));
    assert_eq!(report.matches("< f19 < f18").count(), 2, "{report}");
    assert!(!report.contains("via malloc"), "{report}");
}

/// Check that what a report leaves out is summed up in each of its forms, with the option that shows it, and that this one does: what is
/// small below a function of a tree, where all that it calls is, too.
#[test]
fn what_is_left_out_has_an_option() {
    let (mut made, process, thread) = Made::app();
    for (number, (stack, size)) in (1..).zip([
        ("main > large", 10_000),
        ("main > parent > a", 30),
        ("main > parent > b", 20),
        ("main > small", 10),
    ]) {
        let stack = made.stack(stack);
        made.alloc(thread, 0x10_000 * number, size, stack);
    }
    made.end(process, thread, Ended::Exited(0));
    let loaded = made.loaded("app.memprof");
    let written = |shape, min: &str, limit| {
        let min = Some(min.parse().unwrap());
        let options = ReportOptions { metric: Metric::Peak, shape, min, limit };
        let markdown = report::outline::outline(&loaded, &options).to_text(Form::Markdown);
        [shown::report(&loaded, &options), markdown]
    };
    for (shape, min, limit, expected) in [
        (
            Shape::Tree,
            "0.4%",
            None,
            &["2 smaller ones not shown (--min)", "1 smaller one not shown (--min)"][..],
        ),
        (Shape::Tree, "0", Some(1), &["2 smaller ones not shown (--limit)"]),
        (Shape::Tree, "0", None, &[]),
        (Shape::Functions, "1%", None, &["smaller functions not shown (--min)"]),
        (Shape::Functions, "0", Some(2), &["smaller functions not shown (--limit)"]),
        (Shape::Stacks, "1%", None, &["not shown (--min)"]),
        (Shape::Stacks, "0", Some(1), &["not shown (--limit)"]),
        (Shape::Stacks, "0", None, &[]),
    ] {
        for text in written(shape, min, limit) {
            assert_eq!(text.contains("smaller"), !expected.is_empty(), "{text}");
            assert!(expected.iter().all(|part| text.contains(part)), "{expected:?} in {text}");
        }
    }
    // Of what `parent` has, nothing is worth a row, and all of it is accounted for.
    let [_, markdown] = written(Shape::Tree, "0.4%", None);
    assert!(
        markdown
            .contains("| 50 B | 0.5 % | 2 |  | &nbsp;&nbsp;&nbsp;&nbsp;*2 smaller ones not shown (--min)* |"),
        "{markdown}"
    );
}

/// Check that of thousands of processes those are listed that held most, in the order in which they began, and that as many as are wanted
/// can be.
#[test]
fn the_largest_processes_are_listed() {
    let mut made = Made::new();
    for number in 0..60_u64 {
        let (process, thread) = made.process("app");
        let stack = made.stack("main");
        made.alloc(thread, 0x1000, 100 + number * 37 % 60, stack);
        made.end(process, thread, Ended::Exited(0));
    }
    let loaded = made.loaded("app.memprof");
    let listed = |limit| {
        let text = shown::info(&loaded, limit, &Style::default());
        let table: Vec<String> =
            text.lines().skip_while(|line| *line != "Processes").skip(2).map(str::to_owned).collect();
        let rows = table.iter().take_while(|line| line.ends_with("  app")).count();
        (rows, table)
    };
    let (rows, table) = listed(None);
    assert_eq!((rows, table[50].as_str()), (50, "10 smaller processes not shown (--limit)"), "{table:#?}");
    assert!(table[..50].iter().all(|row| !row.contains(" 109 B ")), "the smallest are left out: {table:#?}");
    let pids: Vec<u32> =
        table[..50].iter().map(|row| row.split_whitespace().next().unwrap().parse().unwrap()).collect();
    assert!(pids.is_sorted(), "{pids:?}");
    let (rows, table) = listed(Some(60));
    assert!(rows == 60 && !table.iter().any(|row| row.contains("not shown")), "{table:#?}");
}

/// Check that reports of samples say what these do not tell of: work without any, and stacks that were cut; and reports of memory nothing.
#[test]
fn reports_of_samples_say_what_is_missing() {
    for (refused, truncated, expected) in [
        ("", 10, vec![]),
        ("", 11, vec!["warning: 11 of 100 samples have truncated stacks"]),
        ("most CPU time has no samples", 0, vec!["warning: most CPU time has no samples"]),
        ("no sample", 99, vec!["warning: no sample", "warning: 99 of 100 samples have"]),
    ] {
        let (mut made, process, thread) = Made::app();
        let (task, stack) = (made.task(process, 1000, "app"), made.stack("main > work"));
        made.alloc(thread, 0x1000, 400, stack);
        made.sample(task, 1, stack);
        made.end(process, thread, Ended::Exited(0));
        let mut summary = Summary::default();
        (summary.cpu.event, summary.cpu.refused) = ("cpu-clock".to_owned(), refused.to_owned());
        (summary.cpu.samples, summary.cpu.truncated) = (100, truncated);
        made.tables.summary = Some(summary);
        let loaded = made.loaded("app.memprof");
        for metric in [Metric::Cpu, Metric::Peak] {
            let options = ReportOptions { metric, ..ReportOptions::default() };
            let report = shown::report(&loaded, &options);
            let warnings: Vec<&str> = report.lines().filter(|line| line.starts_with("warning: ")).collect();
            let expected = if metric == Metric::Cpu { &expected[..] } else { &[] };
            assert_eq!(warnings.len(), expected.len(), "{report}");
            assert!(warnings.iter().zip(expected).all(|(line, part)| line.starts_with(part)), "{report}");
            let markdown = report::outline::outline(&loaded, &options);
            assert_eq!(markdown.title.len(), 1 + expected.len(), "{:?}", markdown.title);
        }
    }
}

/// Check that pages beside the heap are noted when they are more than it held, with a word for interpreters that have such pages.
#[test]
fn pages_are_noted_where_they_are_more_than_the_heap() {
    for (process, length, in_hook, expected) in [
        ("app", 0x1000, false, None),
        ("app", 0x9000, true, None),
        ("app", 0x9000, false, Some("not recorded\n")),
        ("python3.11", 0x9000, false, Some("set PYTHONMALLOC=malloc\n")),
        ("php8.2", 0x9000, false, Some("set USE_ZEND_ALLOC=0\n")),
    ] {
        let mut made = Made::new();
        let stack = made.stack("main");
        let (id, thread) = made.process(process);
        made.alloc(thread, 0x1000, 0x2000, stack);
        made.event(thread, Action::Map { address: 0x100_0000, length, stack: NodeId::ROOT, in_hook });
        made.event(thread, Action::Unmap { address: 0x100_0000, length });
        made.end(id, thread, Ended::Exited(0));
        let loaded = made.loaded("app.memprof");
        let style = Style::default();
        for view in [shown::summary(&loaded, "tool", &style), shown::info(&loaded, None, &style)] {
            let note =
                view.split_inclusive('\n').find(|line| line.trim_start().starts_with("note: up to 36.0 KiB"));
            assert_eq!(note.is_some(), expected.is_some(), "{view}");
            assert!(note.unwrap_or_default().ends_with(expected.unwrap_or_default()), "{view}");
        }
    }
}

/// Check what a summary proposes of a process that has ended, of one that goes on, and of one whose moments have names: two that lead
/// somewhere, or else none.
#[test]
fn next_command_is_about_what_was_recorded() {
    let (leaks, grown) = ("tool leaks app.memprof", "tool diff app.memprof --from 10% --to end");
    for (has_ended, marks, expected) in [
        (true, &[][..], vec![leaks]),
        (false, &[], vec![grown]),
        (false, &["load", "loaded twice"], vec!["tool diff app.memprof --from load --to 'loaded twice'"]),
        (true, &["a", "b", "c"], vec!["tool diff app.memprof --from a --to c", leaks]),
        (true, &["a"], vec![leaks]),
        (true, &["a", "b", "a"], vec![leaks]),
        (true, &["a", "peak"], vec![leaks]),
        (true, &["10s", "b"], vec![leaks]),
    ] {
        let mut made = Made::new();
        let stack = made.stack("main");
        let (id, thread) = made.process("app");
        made.alloc(thread, 0x1000, 0x2000, stack);
        marks.iter().for_each(|name| made.mark(thread, MarkKind::Instant, name));
        if has_ended {
            made.end(id, thread, Ended::Exited(0));
        }
        let summary = shown::summary(&made.loaded("app.memprof"), "tool", &Style::default());
        let next = summary.lines().filter_map(|line| line.trim_start().split("  ").next());
        let next: Vec<&str> =
            next.filter(|line| line.starts_with("tool ") && !line.contains("report")).collect();
        assert_eq!(next, expected, "{marks:?}");
    }
}

/// Check that the inside of a wrapper is passed over where only its outer part has a name, as in a stripped library; and neither another
/// file's function nor more than a wrapper needs, nor a nameless one that a function of the program has called.
#[test]
fn nameless_inside_of_a_wrapper_is_passed_over() {
    let library = "/lib/libsqlite3.so.0";
    for (inside, outside, expected) in [
        (vec![library; 2], "sqlite3Malloc", "insert (i.c:16)"),
        (vec!["/lib/other.so"], "sqlite3Malloc", "<in other.so> < sqlite3Malloc < insert"),
        (vec![library; 4], "sqlite3Malloc", "<in libsqlite3.so.0> ×4 < sqlite3Malloc < insert"),
        (vec![library], "sqlite3Step", "<in libsqlite3.so.0> < sqlite3Step < insert"),
    ] {
        let (mut made, _, thread) = Made::app();
        let mut stack = made.stack("insert");
        let wrapper = made.frame(Some(library), &[outside]);
        stack = made.node(stack, wrapper);
        for file in inside {
            let frame = made.frame(Some(file), &[]);
            stack = made.node(stack, frame);
        }
        made.alloc(thread, 0x1000, 10, stack);
        let loaded = made.loaded("app.memprof");
        assert_eq!(text::stack_line(&loaded, stack, &Style::default(), 0), expected);
    }
}

/// Check that it is said of pages beside the heap that most of them cannot be memory, where processes were looked at and had less.
#[test]
fn addresses_without_memory_are_told_apart() {
    for (resident, expected) in [
        (None, "more than its peak; allocations"),
        (Some(5 << 30), "more than its peak; allocations"),
        (Some(3 << 30), "mostly reserved, not resident (peak RSS 3.00 GiB in all); allocations"),
    ] {
        let mut made = Made::new();
        let stack = made.stack("main");
        let (id, thread) = made.process("app");
        made.alloc(thread, 0x1000, 0x2000, stack);
        made.event(
            thread,
            Action::Map { address: 1 << 40, length: 10 << 30, stack: NodeId::ROOT, in_hook: false },
        );
        if let Some(bytes) = resident {
            made.counter(Some(id), CounterKind::Rss, bytes);
            made.counter(Some(id), CounterKind::Rss, 1 << 20);
        }
        made.end(id, thread, Ended::Exited(0));
        let summary = shown::summary(&made.loaded("app.memprof"), "tool", &Style::default());
        assert!(
            summary.contains(&format!("outside the heap, {expected} inside are not recorded")),
            "{summary}"
        );
    }
}

/// Check that a capture is not said to have no samples where only what was chosen of it has none, and that it is said how processes are
/// sampled that `run` has not started.
#[test]
fn samples_that_were_not_chosen_are_there() {
    let options = ReportOptions { metric: Metric::Cpu, ..ReportOptions::default() };
    for (samples, is_service, expected) in [
        (0, false, "Nothing to show: this capture has no CPU samples.\n"),
        (0, true, "no CPU samples. attach, record and daemon take them with --cpu.\n"),
        (
            1010,
            true,
            "Nothing to show: this selection has none of the 1,010 CPU samples. These have a thread, a stack and a time, but no size",
        ),
    ] {
        let (mut made, process, thread) = Made::app();
        made.end(process, thread, Ended::Exited(0));
        made.tables.metadata.command = if is_service { Vec::new() } else { vec!["app".to_owned()] };
        let mut summary = Summary::default();
        summary.cpu.samples = samples;
        made.tables.summary = Some(summary);
        let report = shown::report(&made.loaded("app.memprof"), &options);
        assert!(report.contains(expected), "{report}");
    }
}
