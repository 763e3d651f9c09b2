//! Which leaks rules leave out, on captures whose numbers were worked out by hand.

use crate::shown;
use crate::support::Made;
use analysis::Cost;
use analysis::query::{Part, Query};
use capture::{Ended, Process, Summary};
use engine::lens::Lens;
use engine::suppression::{Suppressions, parse};
use engine::{Analyzer, Loaded, Naming};
use report::table::Readers;
use report::text::Style;
use report::views;

/// A capture of leaks: each stack, in `function@file` from the root, with the size of its block.
fn made_of(stacks: &[(&str, u64)]) -> Made {
    let (mut made, process, thread) = Made::app();
    for (number, &(stack, size)) in (1_u64..).zip(stacks) {
        let node = stack.split(" > ").fold(capture::NodeId::ROOT, |parent, function| {
            let (name, file) = function.split_once('@').unwrap_or((function, "/bin/app"));
            let frame = made.frame(Some(file), &[name]);
            made.node(parent, frame)
        });
        made.alloc(thread, 0x1000 * number, size, node);
    }
    made.end(process, thread, Ended::Exited(0));
    made
}

/// The capture without what is left out, through a file as users have it.
fn leaks(made: &Made, suppressions: &Suppressions) -> Loaded {
    let file = made.saved("app.memprof");
    let analyzer = Analyzer::open(&file).unwrap();
    analyzer.leaks(&Query::default(), &Lens::default(), suppressions, Naming::Stored).unwrap()
}

fn rules(list: &str) -> Suppressions {
    Suppressions { rules: parse(list, "list").unwrap(), ..Suppressions::default() }
}

/// Check that rules match parts of functions, source files and libraries anywhere on a stack, that the first one
/// counts, and that each has its sum.
#[test]
fn first_matching_rule_counts() {
    let made = made_of(&[
        ("main > cache_init", 1),
        ("main > cache_init > helper", 2),
        ("main > other", 4),
        ("main > f@/lib/libfoo.so.1", 8),
        ("main > kept", 16),
        ("main > init", 32),
    ]);
    let loaded = leaks(
        &made,
        &rules("leak:helper\nleak:cache_*\nleak:libfoo\nleak:/src/o.c\nleak:^init$\nleak:never\n"),
    );
    assert_eq!((loaded.profile.total.leaked.bytes, loaded.profile.total.leaked.blocks), (16, 1));
    let suppressed = loaded.suppressed.unwrap();
    let uses: Vec<(&str, i64, u64)> = suppressed
        .uses
        .iter()
        .map(|used| (used.rule.text.as_str(), used.amount.bytes, used.stacks))
        .collect();
    let expected = [
        ("helper", 2, 1),
        ("cache_*", 1, 1),
        ("libfoo", 8, 1),
        ("/src/o.c", 4, 1),
        ("^init$", 32, 1),
        ("never", 0, 0),
    ];
    assert_eq!(uses, expected);
    assert_eq!((suppressed.total.bytes, suppressed.total.blocks), (47, 5));
}

/// Check that the list that comes with us hides what system libraries keep for themselves, and nothing that a
/// program's own function allocates for them to call.
#[test]
fn built_in_rules_hide_only_what_libraries_keep() {
    let (libc, loader, cpp) =
        ("/usr/lib/libc.so.6", "/usr/lib/ld-linux-x86-64.so.2", "/usr/lib/libstdc++.so.6");
    let hidden = [
        format!("main > puts@{libc} > _IO_file_doallocate@{libc}"),
        format!("_dl_start_user@{loader} > _dl_init@{loader} > call_init@{loader} > <in libstdc++>@{cpp}"),
        format!("main > setlocale@{libc} > _nl_find_locale@{libc}"),
        format!("main > pthread_create@{libc} > _dl_allocate_tls@{loader}"),
        "_start > _GLOBAL__sub_I_eh_alloc.cc".to_owned(),
        "main > std::rt::lang_start_internal > std::sys::pal::unix::stack_overflow::imp::init > alloc::alloc::alloc"
            .to_owned(),
        "main > std::thread::local::LocalKey::try_with > std::thread::current::init_current > std::thread::thread::Thread::new".to_owned(),
    ];
    let shown = [
        "main > strdup_of_mine".to_owned(),
        format!("main > strdup@{libc}"),
        format!("_dl_start_user@{loader} > _dl_init@{loader} > make_table"),
        format!("main > setlocale@{libc} > callback"),
        format!("main > qsort@{libc} > compare > strdup@{libc}"),
        "main > setlocale".to_owned(),
        "main > std::rt::lang_start_internal > app::main > alloc::vec::Vec::push".to_owned(),
        "main > std::rt::lang_start > std::vector::push_back".to_owned(),
        format!("_dl_start_user@{loader} > _dl_init@{loader} > std::vector::push_back"),
    ];
    for (stacks, expected) in [(&hidden[..], 0), (&shown[..], 1)] {
        for stack in stacks {
            let made = made_of(&[(stack.as_str(), 100)]);
            let loaded = leaks(&made, &Suppressions { built_in: true, ..Suppressions::default() });
            assert_eq!(loaded.profile.total.leaked.blocks, expected, "{stack}");
            assert_eq!(loaded.suppressed.unwrap().uses.len() as i64, 1 - expected, "{stack}");
        }
    }
}

/// What leaves out blocks that are younger, and nothing else.
fn older_than(nanoseconds: u64) -> Suppressions {
    Suppressions { older_than_ns: Some(nanoseconds), ..Suppressions::default() }
}

/// Check that young blocks are left out, by their age when their own process ended, and not what was freed.
#[test]
fn young_blocks_are_left_out() {
    let (mut made, process, thread, [stack]) = Made::app_with(["main > f"]);
    // Events are a millisecond apart: the ages at the end are 5, 4 and 1 ms.
    made.alloc(thread, 0x1000, 1, stack);
    made.alloc(thread, 0x2000, 2, stack);
    made.alloc(thread, 0x3000, 4, stack);
    made.free(thread, 0x3000);
    made.alloc(thread, 0x4000, 8, stack);
    made.end(process, thread, Ended::Exited(0));
    for (age_ms, left) in [(0, 11), (1, 11), (2, 3), (5, 1), (6, 0)] {
        let suppressions = older_than(age_ms * 1_000_000);
        let loaded = leaks(&made, &suppressions);
        assert_eq!(loaded.profile.total.leaked.bytes, left, "{age_ms} ms");
        assert_eq!(loaded.suppressed.unwrap().young.bytes, 11 - left, "{age_ms} ms");
    }
}

/// Check that blocks of a process that goes on grow older while nothing happens, up to the end of the recording or of
/// the part that is looked at.
#[test]
fn blocks_grow_older_without_events() {
    let (mut made, _, thread, [stack]) = Made::app_with(["main > f"]);
    made.alloc(thread, 0x1000, 1, stack);
    let born = made.time;
    made.tables.summary = Some(Summary { duration_ns: born + 60_000_000_000, ..Summary::default() });
    let file = made.saved("app.memprof");
    let whole = || Part::Whole;
    let moment = || Part::At("30s".parse().unwrap());
    let range = || Part::Range("start".parse().unwrap(), "30s".parse().unwrap());
    let late = || Part::At("90s".parse().unwrap());
    for (part, age_s, left) in [
        (whole as fn() -> Part, 60, 1),
        (whole, 61, 0),
        (moment, 29, 1),
        (moment, 31, 0),
        (range, 29, 1),
        (range, 31, 0),
        (late, 61, 0),
    ] {
        let suppressions = older_than(age_s * 1_000_000_000);
        let analyzer = Analyzer::open(&file).unwrap();
        let loaded = analyzer.leaks(&Query::of(part()), &Lens::default(), &suppressions, Naming::Stored);
        assert_eq!(loaded.unwrap().profile.total.leaked.blocks, left, "{:?}, {age_s} s", part());
    }
}

/// Check that blocks of a process that was killed in silence are as old as they were then.
#[test]
fn blocks_grow_older_until_their_process_is_killed() {
    let (mut made, process, thread, [stack]) = Made::app_with(["main > f"]);
    made.alloc(thread, 0x1000, 1, stack);
    let born = made.time;
    made.end(process, thread, Ended::Signaled(9));
    let killed = born + 60_000_000_000;
    made.tables.processes[0].end.as_mut().unwrap().time = killed;
    made.tables.summary = Some(Summary { duration_ns: killed + 1, ..Summary::default() });
    for (age_s, left) in [(60, 1), (61, 0)] {
        let suppressions = older_than(age_s * 1_000_000_000);
        assert_eq!(leaks(&made, &suppressions).profile.total.leaked.blocks, left, "{age_s} s");
    }
}

/// Check the view: what is left, what is beside it, and the rules with their use, in text and in JSON, and that
/// they add up to what was allocated.
#[test]
fn use_of_rules_is_shown() {
    let made = made_of(&[("main > cache_init", 100), ("main > f", 20)]);
    let loaded = leaks(&made, &rules("leak:cache\nleak:never\u{1b}\n"));
    let text = shown::leaks(&loaded, 20, &Style::default());
    let text = text.split_once(": ").unwrap().1;
    let expected = "20 B in 1 block, still allocated at exit
  not included: 100 B in 1 block suppressed by the rules below

20 B (100 %) in 1 block from malloc
    f  f.c:11
    main  m.c:14

Suppressions
     bytes      blocks      stacks  rule
     100 B           1           1  cache  (list:1)
       0 B           0           0  never\\u{1b}  (list:2, unused)
";
    assert_eq!(text, expected);

    let document = shown::document_json(&loaded, &views::leaks(&loaded, usize::MAX, Readers::Programs));
    assert_eq!(document["leaked"]["bytes"], 20);
    assert_eq!(document["suppressed"]["bytes"], 100);
    assert_eq!(document["rows"][0]["stack"][0]["function"], "f");
    assert_eq!(document["suppressions"][1]["stacks"], 0);
    let mut sum = Cost::default();
    loaded.profile.sites.iter().for_each(|site| sum += site.cost);
    assert_eq!(sum, loaded.profile.total);
}

/// Check that a program's own list is read from its file, when that is the one that was recorded and the list is a
/// constant.
#[test]
fn programs_bring_their_list() {
    let folder = tempfile::tempdir().unwrap();
    let build = |name: &str, body: &str| {
        let (source, output) = (folder.path().join("source.c"), folder.path().join(name));
        let text = format!(
            "const char *__lsan_default_suppressions(void) {{ {body} }}\nint main(int n, char **v) {{ return n; }}\n"
        );
        std::fs::write(&source, text).unwrap();
        let compiled =
            std::process::Command::new("cc").args(["-O1", "-o"]).arg(&output).arg(&source).status().unwrap();
        assert!(compiled.success());
        output.to_string_lossy().into_owned()
    };
    let constant = build("constant", "return \"leak:cache\\nrace:other\\n\";");
    let computed = build("computed", "static volatile int which; return which ? \"leak:a\" : \"leak:b\";");
    for (path, is_recorded, rules, unread) in [
        (&constant, true, 1, 0),
        (&constant, false, 0, 0),
        (&computed, true, 0, 1),
        (&"/nowhere/app".to_owned(), true, 0, 0),
    ] {
        let mut made = Made::new();
        let (process, thread) = made.process_row(Process { executable: path.clone(), ..Process::default() });
        let frame = made.frame(Some(path), &["cache_init"]);
        let node = made.node(capture::NodeId::ROOT, frame);
        made.alloc(thread, 0x1000, 64, node);
        made.end(process, thread, Ended::Exited(0));
        let module = &mut made.tables.modules[0];
        if let Ok(metadata) = std::fs::metadata(path) {
            use std::os::unix::fs::MetadataExt;
            (module.device, module.inode) = (metadata.dev(), metadata.ino() + u64::from(!is_recorded));
            module.modified_ns = (metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec()).cast_unsigned();
        }
        let loaded = leaks(&made, &Suppressions { of_programs: true, ..Suppressions::default() });
        let suppressed = loaded.suppressed.unwrap();
        assert_eq!((suppressed.uses.len(), suppressed.unread.len()), (rules, unread), "{path} {is_recorded}");
        assert_eq!(suppressed.total.bytes, 64 * rules as i64, "{path}");
    }
}
