//! Rules against captures whose numbers were worked out by hand.

use crate::shown;
use crate::support::Made;
use capture::{Action, Ended, Lost, MarkKind, NodeId, Summary};
use engine::Naming;
use engine::check::{Numbers, Outcome, Report, Rules};
use report::outline::{self, Form};
use report::text::{self, Style};
use report::{github, junit};
use std::path::Path;

/// Two blocks of 100 bytes by `a`, of which one is freed, then three of 10 by `b`: an event each millisecond, from 2 ms
/// on.
fn made() -> Made {
    made_with(0)
}

/// The same with another block by `b`, unless it is empty.
fn made_with(size: u64) -> Made {
    let (mut made, process, thread, [a, b]) = Made::app_with(["main > a", "main > b"]);
    made.alloc(thread, 0x1000, 100, a);
    made.alloc(thread, 0x2000, 100, a);
    made.free(thread, 0x1000);
    for block in 0..3 {
        made.alloc(thread, 0x3000 + block * 16, 10, b);
    }
    if size > 0 {
        made.alloc(thread, 0x9000, size, b);
    }
    made.end(process, thread, Ended::Exited(0));
    made
}

fn check(rules: &str) -> Report {
    check_made(&made(), rules)
}

fn check_made(made: &Made, rules: &str) -> Report {
    check_file(&made.saved("app.memprof"), rules)
}

fn check_file(file: &Path, rules: &str) -> Report {
    let (rules, _) = Rules::from_toml(rules, Path::new("rules.toml")).unwrap();
    let mut report = rules.check(file, Naming::Stored).unwrap();
    report.file = "app.memprof".to_owned();
    report
}

/// The report as text, and the outcome.
fn judged(made: &Made, rules: &str) -> (String, Outcome) {
    let report = check_made(made, rules);
    (text_of(&report), report.outcome())
}

fn text_of(report: &Report) -> String {
    shown::written(|out| text::check(out, report, &Style::default()))
}

/// Check limits of the whole, of some stacks, and of growth between two moments.
#[test]
fn rules_are_checked() {
    let report = check(
        r#"
        max-peak = 200
        max-leaked = 129
        [[rule]]
        filter = "b"
        max-leaked = 30
        max-allocations = 2
        [[rule]]
        name = "after the free"
        from = "4ms"
        max-growth = 29
        [[rule]]
        from = "start"
        to = "3ms"
        max-growth = "1K"
        "#,
    );
    let expected = "\
ok    peak         200 B, limit 200 B
FAIL  leaked       130 B, limit 129 B
           100 B  a (a.c:11) < main
            30 B  b (b.c:11) < main
ok    leaked       30 B, limit 30 B: b
FAIL  allocations  3, limit 2: b
               3  b (b.c:11) < main
FAIL  growth       30 B, limit 29 B: after the free
            30 B  b (b.c:11) < main
ok    growth       200 B, limit 1.00 KiB
";
    assert_eq!(text_of(&report), expected);
    assert_eq!(report.outcome(), Outcome::Broken);
}

/// Check limits of the blocks that are allocated in the regions of a name: the most that they hold at once, not when all
/// blocks do; what is left of them, and how many there are.
#[test]
fn regions_have_rules() {
    let (mut made, process, thread, [a, b]) = Made::app_with(["main > a", "main > b"]);
    made.alloc(thread, 0x1000, 1000, a);
    made.mark(thread, MarkKind::Begin, "load");
    made.alloc(thread, 0x2000, 100, a);
    made.alloc(thread, 0x3000, 40, b);
    made.free(thread, 0x2000);
    made.alloc(thread, 0x4000, 7, b);
    made.mark(thread, MarkKind::End, "load");
    made.mark(thread, MarkKind::Instant, "loaded");
    made.alloc(thread, 0x5000, 5000, a);
    made.free(thread, 0x4000);
    made.end(process, thread, Ended::Exited(0));
    let rule = |more: &str| format!("[[rule]]\nduring = \"load\"\n{more}\n");
    let rules = [
        "max-peak = 139",
        "filter = \"b\"\nmax-peak = 47",
        "to = \"loaded\"\nmax-growth = 46",
        "max-leaked = 40",
        "max-allocations = 3\nmax-bytes = 147",
    ];
    let report = check_made(&made, &rules.map(rule).concat());
    let expected = "\
FAIL  peak         140 B, limit 139 B
           100 B  a (a.c:11) < main
            40 B  b (b.c:11) < main
ok    peak         47 B, limit 47 B: b
FAIL  growth       47 B, limit 46 B
            47 B  b (b.c:11) < main
ok    leaked       40 B, limit 40 B
ok    allocations  3, limit 3
ok    bytes        147 B, limit 147 B
";
    assert_eq!(text_of(&report), expected);
}

/// Check that a capture is within any tolerance of itself, and that the tolerance is rounded down.
#[test]
fn baselines_are_compared() {
    let file = made().saved("old.memprof");
    let baseline = format!(
        "baseline = \"{}\"\ntolerance = \"19%\"\n[[rule]]\nfilter = \"a\"\ntolerance = \"50%\"",
        file.display()
    );
    let report = check(&baseline);
    assert!(report.outcome() == Outcome::Kept && report.verdicts.len() == 8, "{report:#?}");
    let limits: Vec<(&str, i64, i64)> = report
        .verdicts
        .iter()
        .map(|verdict| (verdict.measure.name(), verdict.actual, verdict.limit))
        .collect();
    assert_eq!(
        limits[..4],
        [("peak", 200, 238), ("leaked", 130, 154), ("allocations", 5, 5), ("temporary", 0, 0)]
    );
    assert_eq!(limits[4..6], [("peak", 200, 300), ("leaked", 100, 150)]);
    assert!(text_of(&report).contains("200 B, limit 238 B (baseline 200 B + 19 %)"), "{}", text_of(&report));
    let error = Rules::from_toml("baseline = \"gone.memprof\"", Path::new("rules.toml")).unwrap().0;
    assert!(error.check(&file, Naming::Stored).unwrap_err().to_string().contains("gone.memprof"));
}

/// Check that the numbers of a baseline in a file of its own judge as the capture does that they are from, that stacks which
/// have grown are blamed only where both have stacks, and that files which are no baselines, or lack a rule, are refused.
#[test]
fn saved_baselines_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    made().write(&path("old.memprof"));
    made_with(1000).write(&path("new.memprof"));
    let rules = |baseline: &str, more: &str| {
        let text =
            format!("baseline = \"{baseline}\"\n[[rule]]\nfilter = \"b\"\ntolerance = \"50%\"\n{more}");
        Rules::from_toml(&text, &path("rules.toml")).unwrap().0
    };
    let numbers = Numbers::of(&rules("old.json", ""), &path("old.memprof"), Naming::Stored).unwrap();
    let mut text = Vec::new();
    numbers.write(&mut text).unwrap();
    std::fs::write(path("old.json"), &text).unwrap();
    let judged = |baseline: &str| {
        let report = rules(baseline, "").check(&path("new.memprof"), Naming::Stored).unwrap();
        let verdicts = report.verdicts.iter();
        let numbers: Vec<_> = verdicts
            .map(|verdict| (verdict.actual, verdict.limit, verdict.baseline, verdict.outcome()))
            .collect();
        (numbers, text_of(&report))
    };
    let ((of_capture, stacks), (of_file, other_stacks)) = (judged("old.memprof"), judged("old.json"));
    assert_eq!(of_capture, of_file);
    assert_eq!(of_capture.iter().filter(|(.., outcome)| *outcome == Outcome::Broken).count(), 5);
    assert!(stacks.contains("+1000 B  b (b.c:11) < main\n"), "{stacks}");
    assert!(other_stacks.contains(" 1.01 KiB  b (b.c:11) < main\n"), "{other_stacks}");
    let refused = |baseline: &str, more: &str| {
        let error = rules(baseline, more).check(&path("new.memprof"), Naming::Stored).unwrap_err();
        error.to_string()
    };
    let more = "[[rule]]\nname = \"new\"\ntolerance = \"1%\"";
    assert_eq!(refused("old.json", more), "the baseline has no numbers of the rule `new`: save it anew");
    std::fs::write(path("other.json"), "{\"schema\": 1, \"document\": \"check\", \"rules\": []}").unwrap();
    assert!(refused("other.json", "").contains("this is not a baseline"));
    assert!(refused("gone.json", "").contains("gone.json"));
    let twice = rules("old.json", "[[rule]]\nfilter = \"b\"\ntolerance = \"1%\"");
    assert!(Numbers::of(&twice, &path("old.memprof"), Naming::Stored).is_err());
}

/// Check the annotations of a build server, whose special signs are escaped, and the table for a comment.
#[test]
fn results_can_be_annotated() {
    let report = check("[[rule]]\nname = \"50%, or: a|b\"\nmax-leaked = 129\n[[rule]]\nmax-peak = \"1M\"\n");
    let annotated = |root: &str| shown::written(|out| github::check(out, &report, Path::new(root)));
    let message = "title=memprof app%3A leaked of 50%25%2C or%3A a|b::130 B, limit 129 B%0A100 B  a (a.c:11) < main%0A30 B  b (b.c:11) < main\n";
    assert_eq!(annotated("/src"), format!("::error file=a.c,line=11,{message}"));
    assert_eq!(annotated("/elsewhere"), format!("::error {message}"));
    let expected = "\
app: 1 broken, 0 undecided, 1 kept

|  | result | rule, and stacks to blame |
|---:|---:|:---|
| FAIL | 130 B, limit 129 B | *leaked of 50%, or: a\\|b* |
|  | 100 B | &nbsp;&nbsp;`a (a.c:11) < main` |
|  | 30 B | &nbsp;&nbsp;`b (b.c:11) < main` |
| ok | 200 B, limit 1.00 MiB | *peak* |
";
    assert_eq!(outline::check(&report).to_text(Form::Markdown), expected);
}

/// Check that differences which rounding would hide are spelt out, and that XML is escaped.
#[test]
fn results_can_be_read() {
    let report = check(
        "[[rule]]\nname = \"a <b> & \\\"c\\\"\\u0001\"\nmax-leaked = 129\n[[rule]]\nmax-peak = \"1M\"\n",
    );
    let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="2" failures="1" errors="0">
  <testsuite name="sysprof-memprof check" tests="2" failures="1" errors="0">
    <testcase classname="app" name="leaked of a &lt;b&gt; &amp; &quot;c&quot;�">
      <failure message="leaked: 130 B, limit 129 B">app.memprof
100 B  a (a.c:11) &lt; main
30 B  b (b.c:11) &lt; main</failure>
    </testcase>
    <testcase classname="app" name="peak"/>
  </testsuite>
</testsuites>
"#;
    assert_eq!(shown::written(|out| junit::check(out, &report)), expected);

    let mut report = check("max-peak = 1");
    (report.verdicts[0].actual, report.verdicts[0].limit) = ((1 << 20) + 1, 1 << 20);
    let expected = "FAIL  peak  1.00 MiB (1,048,577 bytes), limit 1.00 MiB (1,048,576 bytes)\n           200 B  a (a.c:11) < main\n";
    assert_eq!(text_of(&report), expected);
}

/// Check that what a capture lacks makes a limit that seems kept untold, and leaves one that is broken broken.
#[test]
fn incomplete_captures_are_not_judged() {
    let mut made = made();
    let lost = Lost { reason: "ring_full".to_owned(), events: 12, advice: String::new() };
    made.tables.summary = Some(Summary { lost: vec![lost], ..Summary::default() });
    let file = made.saved("app.memprof");
    let judged = |rules: &str| check_file(&file, rules);
    let report = judged("max-peak = 199\nmax-leaked = 130");
    let expected = "\
FAIL  peak    200 B, limit 199 B
           200 B  a (a.c:11) < main
?     leaked  130 B, limit 130 B; undecided: the capture lost 12 events
";
    assert!(text_of(&report).ends_with(expected), "{}", text_of(&report));
    assert_eq!(report.outcome(), Outcome::Broken);
    let report = judged("max-leaked = 130");
    assert_eq!((report.outcome(), report.outcome().is_kept()), (Outcome::Untold, None));
    let xml = shown::written(|out| junit::check(out, &report));
    assert!(xml.contains(r#"tests="1" failures="0" errors="1""#) && xml.contains("<error message="), "{xml}");
    let document = shown::parsed(|out| report::json::check(out, &report));
    assert!(document["kept"].is_null() && document["rules"][0]["kept"].is_null(), "{document}");

    made.tables.summary = None;
    std::fs::remove_file(&*file).unwrap();
    made.write(&file);
    let whole = std::fs::read(&*file).unwrap();
    assert_eq!(judged("max-leaked = 130").outcome(), Outcome::Kept);
    std::fs::write(&*file, &whole[..whole.len() - 20]).unwrap();
    assert_eq!(judged("max-peak = \"1M\"").outcome(), Outcome::Untold);
    assert_eq!(judged("max-peak = 1").outcome(), Outcome::Broken);
}

/// Check that a filter which selects no stack of the whole capture cannot be judged, and that one which selects none of
/// a part, or asks for other than functions, can.
#[test]
fn filters_that_select_nothing_are_not_judged() {
    let doubt =
        "its filter matches no stack of the capture (the capture has no function `mian`; the nearest: main)";
    let of = |filter: &str, part: &str| {
        check(&format!("[[rule]]\nfilter = \"{filter}\"\n{part}\nmax-allocations = 10"))
    };
    let report = of("mian", "");
    assert_eq!(report.outcome(), Outcome::Untold);
    assert_eq!(text_of(&report), format!("?     allocations  0, limit 10; undecided: {doubt}: mian\n"));
    let document = shown::parsed(|out| report::json::check(out, &report));
    assert_eq!(document["rules"][0]["doubt"], doubt);
    let of_part = of("a and b", "from = \"4ms\"");
    assert_eq!(of_part.verdicts[0].doubt.as_deref(), Some("its filter matches no stack of the capture"));
    for (filter, part) in [("a", ""), ("a", "from = \"4ms\""), ("a and b or main", "")] {
        assert_eq!(of(filter, part).outcome(), Outcome::Kept, "{filter} {part}");
    }
}

/// Check that a filter for functions which selects nothing cannot be judged where nobody has looked for their names.
#[test]
fn filters_without_names_are_not_judged() {
    let mut made = made();
    made.tables.symbols.clear();
    let file = made.saved("app.memprof");
    for (filter, expected) in
        [("a", Outcome::Untold), ("file:a.c", Outcome::Untold), ("module:app", Outcome::Kept)]
    {
        let rules = format!("[[rule]]\nfilter = \"{filter}\"\nmax-allocations = 10");
        let report = check_file(&file, &rules);
        assert_eq!(report.outcome(), expected, "{}", text_of(&report));
    }
}

/// Check that blocks which may be leaked or not count against a limit, as far as it cannot be told.
#[test]
fn uncertain_blocks_are_not_judged() {
    let (mut made, process, thread, [stack]) = Made::app_with(["main > a"]);
    made.alloc(thread, 0x1000, 100, stack);
    made.event(thread, Action::GapBegin);
    made.event(thread, Action::GapEnd { allocations: 1, frees: 1 });
    made.end(process, thread, Ended::Exited(0));
    let file = made.saved("app.memprof");
    for (limit, expected) in [(99, Outcome::Untold), (100, Outcome::Kept)] {
        let report = check_file(&file, &format!("max-leaked = {limit}"));
        assert_eq!(report.outcome(), expected, "{}", text_of(&report));
    }
}

/// Check that a sampled number is judged from two standard errors below or above its limit on.
#[test]
fn estimates_near_their_limit_are_not_judged() {
    let mut made = made();
    made.tables.metadata.sample_interval = 1000;
    let file = made.saved("app.memprof");
    let judged = |limit: i64| check_file(&file, &format!("max-bytes = {limit}"));
    let actual = judged(0).verdicts[0].actual;
    for (limit, expected) in [
        (0, Outcome::Broken),
        (actual - 1, Outcome::Untold),
        (actual, Outcome::Untold),
        (10 * actual, Outcome::Kept),
    ] {
        assert_eq!(judged(limit).outcome(), expected, "{limit}: {}", text_of(&judged(limit)));
    }
}

/// Check that a sampled baseline has errors, too: what differs by chance from it is neither more nor as much.
#[test]
fn baselines_have_errors() {
    let folder = tempfile::tempdir().unwrap();
    let sampled = |blocks: u64, interval: u64| {
        let file = folder.path().join(format!("{blocks}-{interval}.memprof"));
        let (mut made, process, thread, [a]) = Made::app_with(["main > a"]);
        made.tables.metadata.sample_interval = interval;
        (0..blocks).for_each(|block| made.alloc(thread, 0x1000 * (block + 1), 100, a));
        made.end(process, thread, Ended::Exited(0));
        made.write(&file);
        file
    };
    // Of a hundred samples the error is a tenth, and that of a difference more: 14 %.
    let baseline = sampled(100, 64 << 10);
    let rules = format!("baseline = \"{}\"", baseline.display());
    let (rules, _) = Rules::from_toml(&rules, &folder.path().join("rules.toml")).unwrap();
    for (blocks, expected) in
        [(60, Outcome::Kept), (78, Outcome::Untold), (125, Outcome::Untold), (140, Outcome::Broken)]
    {
        let report = rules.check(&sampled(blocks, (64 << 10) + 1), Naming::Stored).unwrap();
        assert_eq!(report.outcome(), expected, "{blocks}: {}", text_of(&report));
    }
    // Nor does an exact number say more than what it is compared with.
    let exact = rules.check(&sampled(65_800, 0), Naming::Stored).unwrap();
    assert_eq!(exact.outcome(), Outcome::Untold, "{}", text_of(&exact));
}

/// Check that growth which frees of blocks from before have made less has their errors, too, and that blocks which came and went
/// in the range add nothing.
#[test]
fn growth_has_the_errors_of_all_that_differs() {
    let (mut made, process, thread, [a]) = Made::app_with(["main > a"]);
    made.tables.metadata.sample_interval = 64 << 10;
    let blocks = |made: &mut Made, from: u64, to: u64| {
        (from..to).for_each(|block| made.alloc(thread, 0x1000 * (block + 1), 100, a));
    };
    blocks(&mut made, 0, 50);
    made.time = 1_000_000_000;
    (0..50).for_each(|block| made.free(thread, 0x1000 * (block + 1)));
    blocks(&mut made, 100, 150);
    made.time = 2_000_000_000;
    for block in 200..300 {
        made.alloc(thread, 0x1000 * (block + 1), 100, a);
        made.free(thread, 0x1000 * (block + 1));
    }
    made.time = 3_000_000_000;
    made.end(process, thread, Ended::Exited(0));
    let file = made.saved("app.memprof");
    // Of each of a hundred samples that differ, the error is about the interval.
    let error = 10 * (64 << 10);
    for (from, limit, expected) in [
        ("900ms", error * 22 / 10, Outcome::Kept),
        ("900ms", error * 18 / 10, Outcome::Untold),
        ("1900ms", 0, Outcome::Kept),
    ] {
        let rules = format!("[[rule]]\nfrom = \"{from}\"\nmax-growth = {limit}");
        let report = check_file(&file, &rules);
        assert_eq!(
            (report.verdicts[0].actual, report.outcome()),
            (0, expected),
            "{from}: {}",
            text_of(&report)
        );
    }
}

/// Check that blocks which are left out since they were young leave no error behind, where all of a stack's are and where some are.
#[test]
fn young_blocks_leave_no_error() {
    let (mut made, process, thread, [a, b]) = Made::app_with(["main > a", "main > b"]);
    made.tables.metadata.sample_interval = 64 << 10;
    // Certain to be recorded, so exact.
    made.alloc(thread, 0x1000_0000, 20 << 20, a);
    made.time = 1_000_000_000;
    for block in 0..30 {
        made.alloc(thread, 0x1000 * (block + 1), 100, if block % 2 == 0 { a } else { b });
    }
    made.end(process, thread, Ended::Exited(0));
    let file = made.saved("app.memprof");
    let rules = |limit: u64, age: &str| check_file(&file, &format!("max-leaked = {limit}\n{age}"));
    let report = rules(20 << 20, "older-than = \"500ms\"");
    assert_eq!((report.verdicts[0].actual, report.outcome()), (20 << 20, Outcome::Kept), "{report:?}");
    assert_eq!(rules(21 << 20, "").outcome(), Outcome::Broken);
    assert_eq!(rules(22 << 20, "").outcome(), Outcome::Untold);
}

/// Check that what processes held that went on is said to be no leak yet, where leaks count.
#[test]
fn processes_that_go_on_are_told_of() {
    let mut made = made();
    let (child, thread) = made.process("daemon");
    made.alloc(thread, 0x1000, 5000, NodeId::ROOT);
    made.end(child, thread, Ended::Running);
    let file = made.saved("app.memprof");
    let said = |rules: &str| text_of(&check_file(&file, rules));
    let warning = "warning: 4.88 KiB in the capture is in processes still running: not leaked yet\n";
    let text = said("max-leaked = 0");
    assert!(text.starts_with(warning) && text.contains("FAIL  leaked"), "{text}");
    assert!(!said("max-peak = \"1M\"").contains("warning"));
}

/// Check that frees of what was no live block are limited, and that it cannot be told of captures in which they may be unseen that there
/// are none.
#[test]
fn invalid_frees_are_limited() {
    let judged = |made: &Made, limit: u64| judged(made, &format!("max-invalid-frees = {limit}"));
    let good = made();
    assert_eq!(judged(&good, 0), ("ok    invalid-frees  0, limit 0\n".to_owned(), Outcome::Kept));
    let (mut twice, process, thread, [stack]) = Made::app_with(["main"]);
    twice.alloc(thread, 0x1000, 10, stack);
    twice.free(thread, 0x1000);
    twice.free(thread, 0x1000);
    twice.end(process, thread, Ended::Exited(0));
    assert_eq!(
        judged(&twice, 0),
        ("FAIL  invalid-frees  1, limit 0\n               1  main (m.c:14)\n".to_owned(), Outcome::Broken)
    );
    assert_eq!(judged(&twice, 1).1, Outcome::Kept);
    let mut attached = good;
    attached.tables.processes[0].attached = true;
    let untold = "?     invalid-frees  0, limit 0; undecided: 1 process started before the recording\n";
    assert_eq!(judged(&attached, 0), (untold.to_owned(), Outcome::Untold));
    let (text, outcome) = judged(&crate::support::fixtures::sampled(), 0);
    assert!(text.contains("undecided: the capture is sampled"), "{text}");
    assert_eq!(outcome, Outcome::Untold);
}

/// Check that where blocks were allocated again without a recorded free, nothing that depends on frees is found to be broken, nor that
/// there is no invalid free; and that the rest is judged as usual.
#[test]
fn contradictions_break_no_rule() {
    let (mut made, process, thread, [stack]) = Made::app_with(["main"]);
    made.alloc(thread, 0x1000, 10, stack);
    made.alloc(thread, 0x1000, 20, stack);
    made.free(thread, 0x2000);
    made.end(process, thread, Ended::Exited(0));
    let why = "no free is recorded of 1 block whose address was allocated again";
    let doubt = format!("; undecided: {why}");
    let doubt = doubt.as_str();
    let main = "  main (m.c:14)\n";
    for (rule, expected, outcome) in [
        ("max-invalid-frees = 0", format!("?     invalid-frees  1, limit 0{doubt}\n"), Outcome::Untold),
        ("max-invalid-frees = 1", format!("?     invalid-frees  1, limit 1{doubt}\n"), Outcome::Untold),
        ("max-leaked = 0", format!("?     leaked  20 B, limit 0 B{doubt}\n"), Outcome::Untold),
        ("max-leaked = 20", "ok    leaked  20 B, limit 20 B\n".to_owned(), Outcome::Kept),
        ("max-peak = 10", format!("?     peak  20 B, limit 10 B{doubt}\n"), Outcome::Untold),
        ("max-bytes = 20", format!("FAIL  bytes  30 B, limit 20 B\n            30 B{main}"), Outcome::Broken),
        (
            "max-allocations = 1",
            format!("FAIL  allocations  2, limit 1\n               2{main}"),
            Outcome::Broken,
        ),
    ] {
        assert_eq!(judged(&made, rule), (expected, outcome), "{rule}");
    }
    let loaded = made.loaded("app.memprof");
    assert!(shown::leaks(&loaded, 10, &Style::default()).contains("cannot be told which blocks are leaked"));
}

/// Check that calls which returned no memory are limited, and that it cannot be told of recordings that do not tell of them.
#[test]
fn failed_calls_are_limited() {
    let judged = |made: &Made, limit: u64| judged(made, &format!("max-failed = {limit}"));
    let silent = made();
    let untold = "?     failed  0, limit 0; undecided: the capture does not record them\n";
    assert_eq!(judged(&silent, 0), (untold.to_owned(), Outcome::Untold));
    let mut good = made();
    good.tables.metadata.options.push((capture::FAILED_CALLS.to_owned(), "true".to_owned()));
    assert_eq!(judged(&good, 0), ("ok    failed  0, limit 0\n".to_owned(), Outcome::Kept));
    let (mut bad, process, thread, [stack]) = Made::app_with(["main"]);
    bad.tables.metadata.options = good.tables.metadata.options.clone();
    for error in [12, 22] {
        bad.event(thread, Action::AllocFailed { size: 1 << 40, factors: None, alignment: 0, error, stack });
    }
    bad.end(process, thread, Ended::Exited(0));
    assert_eq!(
        judged(&bad, 1),
        ("FAIL  failed  2, limit 1\n               2  main (m.c:14)\n".to_owned(), Outcome::Broken)
    );
    assert_eq!(judged(&bad, 2).1, Outcome::Kept);
}
