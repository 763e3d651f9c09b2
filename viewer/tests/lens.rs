//! Filters, and other ways to see stacks, on captures whose numbers were worked out by hand.

use crate::shown;
use crate::support::Made;
use crate::support::fixtures::{rich, sampled};
use analysis::query::{Expression, Pattern};
use analysis::{Cost, Metric, ProfileBuilder, Share, Tree, functions};
use capture::{Action, Ended, FREE_STACKS, Frame, Module, ModuleId, NodeId, Process, Pseudo};
use engine::lens::Lens;
use engine::{Grouping, Loaded, Source};
use proptest::prelude::*;
use report::text::{self, Style};
use report::{ReportOptions, Shape};
use serde_json::json;

/// A capture of these stacks and sizes, each in a process.
fn made_of(calls: &[(&str, &str, u64)]) -> Made {
    let mut made = Made::new();
    let mut known: Vec<(String, _, _)> = Vec::new();
    for (number, &(process, stack, size)) in calls.iter().enumerate() {
        if !known.iter().any(|(name, ..)| name == process) {
            let (id, thread) = made.process(process);
            known.push((process.to_owned(), id, thread));
        }
        let &(.., thread) = known.iter().find(|(name, ..)| name == process).unwrap();
        let stack = made.stack(stack);
        made.alloc(thread, 0x1000 * (number as u64 + 1), size, stack);
    }
    for (_, id, thread) in known {
        made.end(id, thread, Ended::Exited(0));
    }
    made
}

fn patterns(names: &str) -> Vec<Pattern> {
    names.split_whitespace().map(|name| name.parse().unwrap()).collect()
}

/// The tree, a line for each node: `foo 22 self 7`, indented.
fn tree_of(loaded: &Loaded, inverted: bool) -> String {
    let Loaded { profile, tables, names, .. } = loaded;
    let tree = match inverted {
        true => Tree::inverted(profile, tables, names, Metric::Leaked, 0),
        false => Tree::top_down(profile, tables, names, Metric::Leaked),
    };
    let mut lines = Vec::new();
    let mut walk = vec![(Tree::ROOT, 0)];
    while let Some((id, depth)) = walk.pop() {
        let node = tree.node(id);
        lines.push(format!("{}{} {}", "  ".repeat(depth), names.label(node.label).name, node.total.bytes));
        let mut children: Vec<u32> = tree.children(id).collect();
        children.sort_by_key(|&child| tree.node(child).total.bytes);
        walk.extend(children.into_iter().map(|child| (child, depth + 1)));
    }
    lines.join("\n")
}

#[track_caller]
fn check(calls: &[(&str, &str, u64)], lens: &Lens, inverted: bool, expected: &[&str]) {
    let loaded = lens.apply(made_of(calls).loaded("app.memprof"));
    assert_eq!(tree_of(&loaded, inverted).lines().collect::<Vec<_>>(), expected);
}

/// Check that an expression selects exactly the stacks that it describes, with names of functions, of the call, of
/// files, modules and processes.
#[test]
fn expressions_select_stacks() {
    let calls = [
        ("app", "main > foo > malloc", 1),
        ("app", "main > foo > bar > free", 2),
        ("app", "main > malloc", 4),
        ("app", "main > foo > other", 8),
        ("tool", "start > foo > calloc", 16),
        ("tool", "start > std::vector<int>::push", 32),
    ];
    for (text, expected) in [
        ("\"foo\" and (\"malloc\" or \"free\")", 1 + 2 + 8),
        ("foo and not bar", 1 + 8 + 16),
        ("call:calloc", 16),
        ("call:malloc", 1 + 2 + 4 + 8 + 32),
        ("calloc or bar", 16 + 2),
        ("process:tool", 48),
        ("process:1000", 15),
        ("module:app", 63),
        ("module:/bin/app and not main", 48),
        ("module:libc*", 0),
        ("file:m.c", 15),
        ("file:/src/f*", 1 + 2 + 8 + 16),
        ("std::vector::push", 32),
        ("vector", 32),
        ("vector::push", 32),
        ("std", 32),
        ("int", 0),
        ("\"vector\"", 0),
        ("vec", 0),
        ("vec*", 32),
        ("\"std::vector<int>::push\"", 32),
        ("std::*", 32),
        ("fo", 0),
        ("?oo or nothing", 27),
    ] {
        let filter: Expression = text.parse().unwrap();
        let lens = Lens { filter: Some(filter), ..Lens::default() };
        let loaded = lens.apply(made_of(&calls).loaded("app.memprof"));
        assert_eq!(loaded.profile.total.allocated.bytes, expected, "{text}");
        let hidden = loaded.seen.unwrap().hidden.allocated.bytes;
        assert_eq!(hidden, 63 - expected, "{text}");
    }
}

/// Check that threads are selected by name and by id, and shown as groups, in captures that were counted by them.
#[test]
fn threads_are_selected_and_grouped() {
    let (mut made, process, first) = Made::app();
    let second = made.thread(process);
    made.tables.threads[second.index()].name = "worker 2".to_owned();
    let stack = made.stack("main > f");
    made.alloc(first, 0x10, 100, stack);
    made.alloc(second, 0x20, 7, stack);
    made.alloc(second, 0x30, 8, stack);
    made.end(process, first, Ended::Exited(0));
    let loaded = |lens: &Lens| {
        assert!(lens.asks_for_threads());
        let mut builder = ProfileBuilder::new(&made.tables).by_threads();
        builder.events(&made.events);
        lens.apply(Loaded::new(made.tables.clone(), builder.finish(), Source::default()))
    };
    for (text, expected) in [("thread:worker*", 15), ("thread:5000", 100), ("not thread:\"worker 2\"", 100)] {
        let lens = Lens { filter: Some(text.parse().unwrap()), ..Lens::default() };
        assert_eq!(loaded(&lens).profile.total.leaked.bytes, expected, "{text}");
    }
    let grouped = loaded(&Lens { group: Some(Grouping::Thread), ..Lens::default() });
    assert_eq!(
        tree_of(&grouped, false).lines().map(str::trim).collect::<Vec<_>>(),
        [
            "[Everything] 115",
            "app 115",
            "thread (5000 of app (1000)) 100",
            "worker 2 (5001 of app (1000)) 15"
        ]
    );
}

/// Check that processes are one by what they run or how they were called if that is asked for, and each alone if that is.
#[test]
fn processes_are_grouped_as_asked_for() {
    let commands = [("/bin/cc", "a.c"), ("/bin/cc", "b.c"), ("/usr/bin/cc", "a.c"), ("/bin/cc", "a.c")];
    for (group, expected) in [
        (Grouping::Process, ["cc (1000) 1", "cc (1001) 2", "cc (1002) 4", "cc (1003) 8"].as_slice()),
        (Grouping::Executable, &["/bin/cc 11", "/usr/bin/cc 4"]),
        (Grouping::Command, &["cc a.c 13", "cc b.c 2"]),
    ] {
        let mut made = Made::new();
        let stack = made.stack("main > f");
        for (at, (executable, source)) in commands.into_iter().enumerate() {
            let (process, thread) = made.process("cc");
            let process = &mut made.tables.processes[process.index()];
            process.executable = executable.to_owned();
            process.command = vec!["cc".to_owned(), source.to_owned()];
            made.alloc(thread, 0x10 * (at as u64 + 1), 1 << at, stack);
        }
        let lens = Lens { group: Some(group.clone()), ..Lens::default() };
        let tree = tree_of(&lens.apply(made.loaded("cc.memprof")), false);
        let mut groups: Vec<&str> = tree.lines().skip(2).map(str::trim).collect();
        groups.sort_unstable();
        assert_eq!(groups, expected, "{group:?}");
    }
}

/// Check that a file is one group whatever paths lead to it, and whatever builds of it were at its path.
#[test]
fn files_are_one_group_each() {
    let (mut made, _, thread) = Made::app();
    let modules = [
        ("/lib/libx.so", "one"),
        ("/lib/libx.so", "two"),
        ("/bin/../lib/libx.so", "one"),
        ("/opt/liby.so", "three"),
        ("/usr/liby.so", "four"),
        ("", ""),
    ];
    for (place, (path, build_id)) in modules.into_iter().enumerate() {
        let (path, build_id) = (path.to_owned(), build_id.as_bytes().to_vec());
        made.tables.modules.push(Module { path, build_id, ..Module::default() });
        let frame = made.frame(None, &["grow"]);
        let module = Some(ModuleId::from_index(place));
        made.tables.frames[frame.index()] = Frame::Code { module, address: 0x1000, exact: false };
        let stack = made.node(NodeId::ROOT, frame);
        made.alloc(thread, 0x1000 * (place as u64 + 1), 1 << place, stack);
    }
    let nowhere = made.frame(None, &["grow"]);
    let nowhere = made.node(NodeId::ROOT, nowhere);
    made.alloc(thread, 0x100, 64, nowhere);
    let lens = Lens { group: Some(Grouping::Module), ..Lens::default() };
    let tree = tree_of(&lens.apply(made.loaded("app.memprof")), false);
    let groups: Vec<&str> = tree.lines().skip(2).map(str::trim).collect();
    assert_eq!(groups, ["[no module] 96", "/usr/liby.so 16", "/opt/liby.so 8", "libx.so 7"]);
}

/// Check the two functions of the mailing list's example: the outermost one of them is the root, and nothing is
/// counted twice.
#[test]
fn outermost_chosen_function_is_the_root() {
    let calls = [
        ("app", "main > foo > bar > foo > malloc", 10),
        ("app", "main > bar > free", 5),
        ("app", "main > x", 1),
    ];
    let lens = Lens { focus: patterns("foo bar"), ..Lens::default() };
    let expected = [
        "[Everything] 15",
        "  app 15",
        "    foo 10",
        "      bar 10",
        "        foo 10",
        "          malloc 10",
        "    bar 5",
        "      free 5",
    ];
    check(&calls, &lens, false, &expected);
}

/// Check that folding pulls chosen functions out from below the focus, whatever leads to them.
#[test]
fn folded_functions_stand_together() {
    let calls = [
        ("app", "main > foo > a > malloc", 10),
        ("app", "main > foo > b > free", 5),
        ("app", "main > foo > c", 7),
    ];
    let lens = Lens { focus: patterns("foo"), fold: patterns("malloc free"), ..Lens::default() };
    let expected = [
        "[Everything] 22",
        "  app 22",
        "    foo 22",
        "      … 15",
        "        malloc 10",
        "        free 5",
        "      c 7",
    ];
    check(&calls, &lens, false, &expected);
    let all = Lens { fold: patterns("malloc"), ..Lens::default() };
    let expected = [
        "[Everything] 22",
        "  app 22",
        "    main 12",
        "      foo 12",
        "        c 7",
        "        b 5",
        "          free 5",
        "    … 10",
        "      malloc 10",
    ];
    check(&calls, &all, false, &expected);
    check(
        &calls,
        &Lens::default(),
        false,
        &[
            "[Everything] 22",
            "  app 22",
            "    main 22",
            "      foo 22",
            "        a 10",
            "          malloc 10",
            "        c 7",
            "        b 5",
            "          free 5",
        ],
    );
}

/// Check that callers of a function sum up to its total, also where it calls itself, and that they are told apart
/// by process.
#[test]
fn callers_sum_up_to_the_total() {
    let calls = [
        ("a", "main > bar > foo", 80),
        ("b", "main > baz > foo > x", 1),
        ("b", "main > baz > foo > foo > y", 2),
        ("b", "main > other", 50),
    ];
    let lens = Lens { callers: patterns("foo"), ..Lens::default() };
    let expected = [
        "[Everything] 83",
        "  foo 83",
        "    bar 80",
        "      main 80",
        "        a 80",
        "    baz 3",
        "      main 3",
        "        b 3",
    ];
    check(&calls, &lens, true, &expected);
}

/// Check that transparent functions vanish and totals stay, for a list of one's own and what is not the program's own.
#[test]
fn transparent_functions_change_no_total() {
    let calls = [
        ("app", "main > g_signal_emit > g_closure_invoke > click > g_signal_emit > change", 10),
        ("app", "main > click", 5),
    ];
    let own = Lens { transparent: patterns("g_*"), ..Lens::default() };
    let list = Lens { my_code: true, ..Lens::default() };
    for lens in [own, list] {
        let expected = ["[Everything] 15", "  app 15", "    main 15", "      click 15", "        change 10"];
        check(&calls, &lens, false, &expected);
    }
}

/// Check that only the program's own functions stay, whoever they are called by, and that a stack without any is kept
/// whole.
#[test]
fn own_code_is_what_stays() {
    let calls = [
        (
            "app",
            "_start > main > tokio::runtime::block_on > app::serve > std::vec::push > alloc::raw_vec::grow",
            10,
        ),
        ("app", "_start > main > app::serve", 5),
        ("app", "_start > std::rt::init > std::env::args", 3),
        ("app", "_start > main > core::Engine::run(int)", 2),
    ];
    let lens = Lens { my_code: true, ..Lens::default() };
    let expected = [
        "[Everything] 20",
        "  app 20",
        "    main 17",
        "      app::serve 15",
        "      core::Engine::run(int) 2",
        "    _start 3",
        "      std::rt::init 3",
        "        std::env::args 3",
    ];
    check(&calls, &lens, false, &expected);
}

/// Check that functions are put together with neighbours of their group alone, and that a group's total is that of
/// the stacks with it.
#[test]
fn neighbours_of_a_group_become_one() {
    let (mut made, process, thread) = Made::app();
    let inner =
        made.stack_in(&[("/bin/app", "main"), ("/lib/x.so", "f"), ("/lib/x.so", "g"), ("/bin/app", "h")]);
    let calloc = made.pseudo(Pseudo::Calloc);
    let inner = made.node(inner, calloc);
    let outer = made.stack_in(&[
        ("/bin/app", "a::b::main"),
        ("/bin/app", "a::b::f<int>"),
        ("/lib/y/x.so", "a::c::g"),
    ]);
    made.alloc(thread, 0x10, 10, inner);
    made.alloc(thread, 0x20, 5, outer);
    made.end(process, thread, Ended::Exited(0));
    let grouped = |group| {
        let made = Made { tables: made.tables.clone(), events: made.events.clone(), ..Made::default() };
        Lens { group: Some(group), ..Lens::default() }.apply(made.loaded("app.memprof"))
    };
    let lines = |group| tree_of(&grouped(group), false).lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        lines(Grouping::Module),
        [
            "[Everything] 15",
            "  app 15",
            "    app 15",
            "      /lib/x.so 10",
            "        app 10",
            "      /lib/y/x.so 5"
        ]
    );
    let loaded = grouped(Grouping::Module);
    let tree = Tree::top_down(&loaded.profile, &loaded.tables, &loaded.names, Metric::Leaked);
    let table: Vec<(String, i64, i64)> = functions(&tree, &loaded.names)
        .iter()
        .map(|cost| (loaded.names.label(cost.label).name.clone(), cost.own.bytes, cost.total.bytes))
        .collect();
    let row = |name: &str| table.iter().find(|(of, ..)| of == name).cloned().unwrap();
    assert_eq!((row("app").1, row("app").2), (10, 15), "{table:?}");
    assert_eq!(
        lines(Grouping::Namespace)[2..],
        ["    main 10", "      f 10", "        g 10", "          h 10", "    a::b 5", "      a::c 5"]
    );
    assert!(lines(Grouping::File).contains(&"    m.c 10".to_owned()), "{:?}", lines(Grouping::File));
    assert!(lines(Grouping::Line).contains(&"    m.c:14 10".to_owned()), "{:?}", lines(Grouping::Line));
    assert_eq!(lines(Grouping::Process), ["[Everything] 15", "  app 15", "    app (1000) 15"]);
    let text = shown::written(|out| {
        report::json::report(out, &grouped(Grouping::Module), &ReportOptions::default())
    });
    assert!(text.contains("\"call\": \"calloc\"") && text.contains("\"function\": \"/lib/x.so\""), "{text}");
}

/// Check that what is allocated by way of the standard library is its callers' group's, and what it allocates by itself its own.
#[test]
fn groups_begin_beyond_the_allocator() {
    let (mut made, process, thread) = Made::app();
    let library = "/lib/libstdc++.so.6";
    let stacks: [&[(&str, &str)]; 3] = [
        &[
            ("/bin/app", "main"),
            (library, "std::string::reserve(unsigned long)"),
            (library, "operator new(unsigned long)"),
        ],
        &[
            ("/bin/app", "main"),
            (library, "std::sort(int*)"),
            ("/lib/x.so", "less"),
            (library, "operator new(unsigned long)"),
        ],
        &[(library, "operator new(unsigned long)")],
    ];
    for (place, functions) in stacks.into_iter().enumerate() {
        let stack = made.stack_in(functions);
        let call = made.pseudo(Pseudo::New);
        let called = made.node(stack, call);
        made.alloc(thread, 0x1000 * (2 * place as u64 + 1), 1 << (2 * place), called);
        made.alloc(thread, 0x1000 * (2 * place as u64 + 2), 2 << (2 * place), stack);
    }
    made.end(process, thread, Ended::Exited(0));
    let lens = Lens { group: Some(Grouping::Module), ..Lens::default() };
    let tree = tree_of(&lens.apply(made.loaded("app.memprof")), false);
    assert_eq!(
        tree.lines().skip(1).collect::<Vec<_>>(),
        ["  app 63", "    libstdc++.so.6 48", "    app 15", "      libstdc++.so.6 12", "        x.so 12"]
    );
}

/// Check that in a list of functions each module has what its functions have: itself, the sum, and in total what was allocated on
/// stacks with any of them.
#[test]
fn modules_in_a_list_have_what_their_functions_have() {
    let (mut made, process, thread) = Made::app();
    let library = "/lib/libstdc++.so.6";
    let stacks: [&[(&str, &str)]; 3] = [
        &[
            ("/bin/app", "main"),
            (library, "std::string::reserve(unsigned long)"),
            (library, "operator new(unsigned long)"),
        ],
        &[("/bin/app", "main"), ("/bin/app", "make")],
        &[(library, "init"), (library, "operator new(unsigned long)")],
    ];
    for (place, functions) in stacks.into_iter().enumerate() {
        let stack = made.stack_in(functions);
        made.alloc(thread, 0x1000 * (place as u64 + 1), 1 << place, stack);
    }
    made.end(process, thread, Ended::Exited(0));
    let lens = Lens { group: Some(Grouping::Module), counts_library: true, ..Lens::default() };
    let loaded = lens.apply(made.loaded("app.memprof"));
    let tree = Tree::top_down(&loaded.profile, &loaded.tables, &loaded.names, Metric::Bytes);
    let mut rows: Vec<(String, i64, i64)> = functions(&tree, &loaded.names)
        .into_iter()
        .map(|row| (loaded.names.label(row.label).name.clone(), row.own.bytes, row.total.bytes))
        .collect();
    rows.sort();
    assert_eq!(rows, [("app".to_owned(), 2, 3), ("libstdc++.so.6".to_owned(), 5, 5)]);
}

/// Check that a view says what it leaves out, and that there may be nothing left.
#[test]
fn what_is_left_out_is_said() {
    let report = |text: &str, metric| {
        let lens = Lens { filter: Some(text.parse().unwrap()), ..Lens::default() };
        let loaded =
            lens.apply(made_of(&[("app", "main > f", 10), ("app", "main > g", 5)]).loaded("app.memprof"));
        shown::report(&loaded, &ReportOptions { metric, ..Default::default() })
    };
    let shown = report("f", Metric::Leaked);
    assert!(
        shown.starts_with(
            "app.memprof: 10 B in 1 block, still allocated at exit\n  only: f; not shown: 5 B in 1 block\n"
        ),
        "{shown}"
    );
    let shown = report("\"\u{1b}\"", Metric::Allocations);
    assert!(shown.contains("only: \"\\u{1b}\"; not shown: 15 B in 2 allocations"), "{shown}");
    assert!(shown.ends_with("Nothing to show: this selection has no allocations.\n"), "{shown}");
}

/// Check that names which match nothing are named, with those that are nearest, in text and JSON; that names which match
/// something are not, even where no stack has all that is wanted; and that what several lenses leave out adds up.
#[test]
fn mistyped_names_are_told_of() {
    let made = || made_of(&[("app", "main > ns::Parser::next", 10), ("app", "main > g", 5)]);
    let lens = |filter: &str, focus: &str| Lens {
        filter: Some(filter.parse().unwrap()),
        focus: patterns(focus),
        ..Lens::default()
    };
    let loaded =
        lens("Praser or module:libap* or process:ap", "mian main").apply(made().loaded("app.memprof"));
    let seen = loaded.seen.clone().unwrap();
    let told: Vec<String> = seen.unmatched.iter().map(ToString::to_string).collect();
    let expected = [
        "the capture has no function `Praser`; the nearest: ns::Parser::next",
        "the capture has no module `libap*`; * matches any characters",
        "the capture has no process `ap`; the nearest: app",
        "the capture has no function `mian`; the nearest: main",
    ];
    assert_eq!(told, expected);
    let text = shown::report(&loaded, &ReportOptions::default());
    assert!(expected.iter().all(|told| text.contains(&format!("warning: {told}\n"))), "{text}");
    let document = shown::report_json(&loaded, &ReportOptions::default());
    let unmatched = serde_json::json!({ "field": "function", "name": "mian", "nearest": ["main"] });
    assert_eq!(document["unmatched"][3], unmatched);
    let fine = lens("Parser and g and call:malloc and thread:* and file:m.c", "")
        .apply(made().loaded("app.memprof"));
    assert_eq!(fine.seen.unwrap().unmatched, []);

    let twice = lens("g", "main").apply(lens("not nowhere", "g").apply(made().loaded("app.memprof")));
    let seen = twice.seen.unwrap();
    assert_eq!((seen.hidden.leaked.bytes, twice.profile.total.leaked.bytes), (15, 0));
    assert_eq!((seen.filter.as_deref(), seen.unmatched.len()), (Some("not nowhere"), 1));
}

fn lenses() -> impl Strategy<Value = Lens> {
    let names = || {
        prop::collection::vec(
            prop::sample::select(vec!["main", "f*", "parse", "init", "loop", "???", "<in *>", "*"]),
            0..3,
        )
    };
    let names = move || names().prop_map(|names| names.into_iter().map(Pattern::glob).collect::<Vec<_>>());
    let filter = prop::sample::select(vec![
        "",
        "main",
        "not init",
        "module:lib*",
        "process:server and main",
        "calloc or file:/src/*",
    ]);
    let group = prop::option::of(prop::sample::select(&Grouping::ALL));
    (filter, names(), any::<bool>(), names(), names(), names(), group).prop_map(
        |(filter, transparent, my_code, focus, callers, fold, group)| Lens {
            filter: filter.parse().ok(),
            transparent,
            my_code,
            focus,
            callers,
            fold,
            group,
            counts_library: false,
        },
    )
}

/// Ten processes with commands and threads of their own, of which one allocates nearly all.
fn many_processes() -> Made {
    let mut made = Made::new();
    for number in 0..10 {
        let command = vec!["cc".to_owned(), format!("{number}.c")];
        let row = Process { name: "cc".to_owned(), command, ..Process::default() };
        let (process, thread) = made.process_row(row);
        made.tables.threads[thread.index()].name = format!("worker-{number}");
        let stack = made.stack("main > parse");
        made.alloc(thread, 0x1000, if number == 0 { 1 << 20 } else { number }, stack);
        made.end(process, thread, Ended::Exited(0));
    }
    made
}

/// Check that processes, commands and threads are all shown, however small, that a minimum leaves out what it is asked to, and that a table
/// with more rows than its limit says how many are left out and how to see them; in text and in tables for elsewhere.
#[test]
fn groups_of_processes_hide_nothing() {
    for group in [Grouping::Process, Grouping::Command, Grouping::Thread] {
        let lens = Lens { group: Some(group.clone()), ..Lens::default() };
        let loaded = lens.apply(many_loaded(&group));
        for shape in [Shape::Stacks, Shape::Functions] {
            let rows = |options: ReportOptions| {
                let text = shown::report(&loaded, &options);
                let of_group = |line: &&str| line.contains(" cc ") || line.contains("worker-");
                let outline = report::outline::outline(&loaded, &options);
                let rows = text.lines().filter(of_group).count();
                let hidden = text.lines().find(|line| line.contains("not shown")).map(str::to_owned);
                let told = outline.rows.iter().any(|row| row.name.contains("not shown"));
                assert_eq!(told, hidden.is_some(), "{text}");
                (rows, hidden)
            };
            let options = ReportOptions { shape, metric: Metric::Leaked, ..ReportOptions::default() };
            assert_eq!(rows(options), (10, None), "{group:?} {shape:?}");
            let (shown, hidden) = rows(ReportOptions { limit: Some(4), ..options });
            let hidden = hidden.expect("it is said");
            assert!(shown == 4 && hidden.contains("6 smaller") && hidden.contains("(--limit)"), "{hidden}");
            let (shown, hidden) = rows(ReportOptions { min: Some(Share::percent(1.0)), ..options });
            let hidden = hidden.expect("it is said");
            assert!(shown == 1 && hidden.contains("9 smaller") && hidden.contains("(--min)"), "{hidden}");
            // At the peak only the first one ran.
            let options = ReportOptions { shape, ..ReportOptions::default() };
            let text = shown::report(&loaded, &options);
            let told = " allocated memory, but none of this (--by bytes)";
            let line = text.lines().find(|line| line.ends_with(told)).unwrap_or_else(|| panic!("{text}"));
            assert!(line.starts_with("9 more "), "{line}");
            let outline = report::outline::outline(&loaded, &options);
            assert_eq!(outline.rows.last().map(|row| row.name.as_str()), Some(line));
        }
    }
}

/// Check that nobody is told to have nothing who allocated nothing, as a thread that only frees, and of other groups none.
#[test]
fn only_owners_that_allocate_are_told_to_have_nothing() {
    let (mut made, process, one) = Made::app();
    made.tables.metadata.options.push((FREE_STACKS.into(), true.to_string()));
    let two = made.thread(process);
    let (stack, drop) = (made.stack("main > parse"), made.stack("main > drop"));
    let library = made.frame(Some("/lib/x.so"), &["late"]);
    let library = made.node(NodeId::ROOT, library);
    made.alloc(one, 0x1000, 1 << 20, stack);
    made.event(two, Action::Free { address: 0x1000, stack: drop });
    made.alloc(one, 0x2000, 10, library);
    made.end(process, one, Ended::Exited(0));
    let profile = || {
        let mut builder = ProfileBuilder::new(&made.tables).by_threads();
        builder.events(&made.events);
        builder.finish()
    };
    assert!(profile().sites.iter().any(|site| site.thread == Some(two)), "it has a row of what it frees");
    for group in [Grouping::Thread, Grouping::Module] {
        let loaded = Loaded::new(made.tables.clone(), profile(), Source::default());
        let loaded = Lens { group: Some(group), ..Lens::default() }.apply(loaded);
        let text = shown::report(&loaded, &ReportOptions::default());
        assert!(!text.contains("with nothing of this"), "{text}");
    }
}

fn many_loaded(group: &Grouping) -> Loaded {
    let made = many_processes();
    let mut builder = ProfileBuilder::new(&made.tables);
    if *group == Grouping::Thread {
        builder = builder.by_threads();
    }
    builder.events(&made.events);
    let profile = builder.finish();
    Loaded::new(made.tables, profile, Source::default())
}

/// Check that JSON tells which process and thread stands for a stack in fields of their own, in rows, functions and nodes, and of commands
/// none, which may be several processes.
#[test]
fn processes_and_threads_have_fields_of_their_own() {
    let told = |group: Grouping, shape| {
        let lens = Lens { group: Some(group.clone()), ..Lens::default() };
        let loaded = lens.apply(many_loaded(&group));
        let options = ReportOptions { shape, ..ReportOptions::default() };
        let document = shown::report_json(&loaded, &options);
        let row = match shape {
            Shape::Stacks => &document["rows"][0]["stack"][0],
            Shape::Functions => &document["functions"][0],
            _ => &document["nodes"][2],
        };
        ["pid", "process", "tid", "thread"].map(|field| row.get(field).cloned().unwrap_or_default())
    };
    for shape in [Shape::Stacks, Shape::Functions, Shape::Tree] {
        let thread = told(Grouping::Thread, shape);
        assert_eq!(json!(thread), json!([1000, "cc", 5000, "worker-0"]), "{shape:?}");
        let process = told(Grouping::Process, shape);
        assert_eq!(json!(process), json!([1000, "cc", null, null]), "{shape:?}");
        assert_eq!(json!(told(Grouping::Command, shape)), json!([null, null, null, null]), "{shape:?}");
    }
}

/// Check that a function has its file, and the line that most of its cost passes through; one without line tables has none.
#[test]
fn functions_have_files_and_lines() {
    let (mut made, _, thread, [rare, often]) = Made::app_with(["main > rare > make", "main > often"]);
    let bare = made.frame(Some("/bin/app"), &[]);
    let bare = made.node(NodeId::ROOT, bare);
    made.alloc(thread, 0x1000, 10, rare);
    made.alloc(thread, 0x2000, 30, often);
    made.alloc(thread, 0x3000, 1, bare);
    // Places that a frame has by the table of lines: its file, if that is known, and its line.
    let mut called = |name: &str, parent: NodeId, (has_file, line): (bool, Option<u32>)| {
        let frame = made.frame(Some("/bin/app"), &[name]);
        let place = &mut made.tables.symbols[frame.index()].as_mut().unwrap().names[0];
        place.line = line;
        if !has_file {
            place.file = None;
        }
        made.node(parent, frame)
    };
    // The same function from another line, which more passes through, and from places of which less is known.
    let oftener = called("often", NodeId::ROOT, (true, Some(99)));
    let lineless = called("often", NodeId::ROOT, (true, None));
    let nowhere = called("often", NodeId::ROOT, (false, Some(7)));
    // One that calls itself is where it was called last.
    let outer = called("deep", NodeId::ROOT, (true, Some(5)));
    let inner = called("deep", outer, (true, Some(6)));
    for (address, size, node) in
        [(0x4000, 31, oftener), (0x5000, 500, lineless), (0x6000, 600, nowhere), (0x7000, 10, inner)]
    {
        made.alloc(thread, address, size, node);
    }
    let options = ReportOptions { shape: Shape::Functions, ..ReportOptions::default() };
    let document = shown::report_json(&made.loaded("app.memprof"), &options);
    let place = |name: &str| {
        let rows = document["functions"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"].as_str().unwrap().starts_with(name)).unwrap();
        (row["file"].clone(), row["line"].clone())
    };
    assert_eq!(place("often"), ("/src/o.c".into(), 99.into()));
    assert_eq!(place("deep"), ("/src/d.c".into(), 6.into()));
    assert_eq!(place("make"), ("/src/m.c".into(), 14.into()));
    assert_eq!(place("<in app"), Default::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Check that whatever the lens, what is shown and what is hidden add up to the whole, in sums, rows, processes,
    /// trees and tables, and that views can be written.
    #[test]
    fn seen_and_hidden_add_up(lens in lenses(), is_sampled in any::<bool>()) {
        let made = || if is_sampled { sampled() } else { rich() };
        let whole = made().loaded("app.memprof").profile.total;
        let loaded = lens.apply(made().loaded("app.memprof"));
        let profile = &loaded.profile;
        let mut sum = loaded.seen.as_ref().map(|seen| seen.hidden).unwrap_or_default();
        sum += profile.total;
        prop_assert_eq!(sum, whole);
        let (mut sites, mut processes) = (Cost::default(), Cost::default());
        profile.sites.iter().for_each(|site| sites += site.cost);
        profile.processes.iter().for_each(|process| processes += process.cost);
        prop_assert_eq!((sites, processes), (profile.total, profile.total));
        for metric in Metric::ALL {
            let tree = Tree::top_down(profile, &loaded.tables, &loaded.names, metric);
            prop_assert_eq!(tree.node(Tree::ROOT).total, metric.of(&profile.total));
            for shape in [Shape::Stacks, Shape::Functions, Shape::Tree, Shape::Inverted] {
                let options = ReportOptions { metric, shape, ..ReportOptions::default() };
                text::report(&mut Vec::new(), &loaded, &options, &Style::default()).unwrap();
                report::json::report(&mut Vec::new(), &loaded, &options).unwrap();
            }
        }
        if lens.callers.is_empty() && lens.focus.is_empty() {
            let kept = lens.filter.as_ref().map_or(whole, |_| profile.total);
            prop_assert_eq!(profile.total, kept);
        }
    }
}
