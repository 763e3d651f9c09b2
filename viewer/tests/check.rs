//! Rules against captures whose numbers were worked out by hand.

mod support;

use capture::Ended;
use std::path::Path;
use support::Made;
use viewer::check::{Report, Rules};
use viewer::text::{self, Style};
use viewer::{Naming, junit};

/// Two blocks of 100 bytes by `a`, of which one is freed, then three of 10 by `b`: an event each millisecond, from 2 ms
/// on.
fn made() -> Made {
    let mut made = Made::new();
    let (process, thread) = made.process("app");
    let (a, b) = (made.stack("main > a"), made.stack("main > b"));
    made.alloc(thread, 0x1000, 100, a);
    made.alloc(thread, 0x2000, 100, a);
    made.free(thread, 0x1000);
    for block in 0..3 {
        made.alloc(thread, 0x3000 + block * 16, 10, b);
    }
    made.end(process, thread, Ended::Exited(0));
    made
}

fn check(rules: &str) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.memprof");
    made().write(&file);
    let (rules, _) = Rules::from_toml(rules, &folder.path().join("rules.toml")).unwrap();
    let mut report = rules.check(&file, Naming::Stored).unwrap();
    report.file = "app.memprof".to_owned();
    report
}

fn text_of(report: &Report) -> String {
    let mut out = Vec::new();
    text::check(&mut out, report, &Style::default()).unwrap();
    String::from_utf8(out).unwrap()
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
ok    peak         200 B, at most 200 B
FAIL  leaked       130 B, at most 129 B
ok    leaked       30 B, at most 30 B: b
FAIL  allocations  3, at most 2: b
FAIL  growth       30 B, at most 29 B: after the free
ok    growth       200 B, at most 1.00 KiB
";
    assert_eq!(text_of(&report), expected);
    assert!(!report.is_kept());
}

/// Check that a capture is within any tolerance of itself, and that the tolerance is rounded down.
#[test]
fn baselines_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.memprof");
    made().write(&file);
    let baseline = format!(
        "baseline = \"{}\"\ntolerance = \"19%\"\n[[rule]]\nfilter = \"a\"\ntolerance = \"50%\"",
        file.display()
    );
    let report = check(&baseline);
    assert!(report.is_kept() && report.verdicts.len() == 8, "{report:#?}");
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
    assert!(
        text_of(&report).contains("200 B, at most 238 B (200 B before, and 19 %)"),
        "{}",
        text_of(&report)
    );
    let error = Rules::from_toml("baseline = \"gone.memprof\"", Path::new("rules.toml")).unwrap().0;
    assert!(error.check(&file, Naming::Stored).unwrap_err().to_string().contains("gone.memprof"));
}

/// Check that differences which rounding would hide are spelt out, and that XML is escaped.
#[test]
fn results_can_be_read() {
    let report = check(
        "[[rule]]\nname = \"a <b> & \\\"c\\\"\\u0001\"\nmax-leaked = 129\n[[rule]]\nmax-peak = \"1M\"\n",
    );
    let mut out = Vec::new();
    junit::check(&mut out, &report).unwrap();
    let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="2" failures="1">
  <testsuite name="sysprof-memprof check" tests="2" failures="1" errors="0">
    <testcase classname="app.memprof" name="leaked of a &lt;b&gt; &amp; &quot;c&quot;�">
      <failure message="leaked: 130 B, at most 129 B"/>
    </testcase>
    <testcase classname="app.memprof" name="peak"/>
  </testsuite>
</testsuites>
"#;
    assert_eq!(String::from_utf8(out).unwrap(), expected);

    let mut report = check("max-peak = 1");
    (report.verdicts[0].actual, report.verdicts[0].limit) = ((1 << 20) + 1, 1 << 20);
    let expected = "FAIL  peak  1.00 MiB (1,048,577 bytes), at most 1.00 MiB (1,048,576 bytes)\n";
    assert_eq!(text_of(&report), expected);
}
