//! Results of rules as the XML that test runners write and build servers read.
//!
//! The only standard is the convention of Ant's `junitreport` task: a suite of cases, some with a `failure`, or an
//! `error` where the result is unknown.

use crate::text::{Style, check_case, check_result, culprits};
use engine::check::{Outcome, Report, Verdict};
use std::io::{self, Write};

/// Writes one suite with one case per rule, of a class called as the program; the stacks to blame are the body of a
/// failure, and warnings the `system-err` of the suite.
///
/// # Errors
/// Those of the writer.
pub fn check(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let number = |outcome| report.verdicts.iter().filter(|verdict| verdict.outcome() == outcome).count();
    let (failures, errors) = (number(Outcome::Broken), number(Outcome::Untold));
    let tests = report.verdicts.len();
    let program = escape(&report.program);
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites tests="{tests}" failures="{failures}" errors="{errors}">"#)?;
    writeln!(
        out,
        r#"  <testsuite name="sysprof-memprof check" tests="{tests}" failures="{failures}" errors="{errors}">"#
    )?;
    for verdict in &report.verdicts {
        let name = escape(&check_case(verdict));
        let element = match verdict.outcome() {
            Outcome::Kept => {
                writeln!(out, r#"    <testcase classname="{program}" name="{name}"/>"#)?;
                continue;
            }
            Outcome::Untold => "error",
            Outcome::Broken => "failure",
        };
        let message = escape(&format!("{}: {}", verdict.measure.name(), check_result(verdict)));
        writeln!(out, r#"    <testcase classname="{program}" name="{name}">"#)?;
        writeln!(out, r#"      <{element} message="{message}">{}</{element}>"#, body(report, verdict))?;
        writeln!(out, "    </testcase>")?;
    }
    if !report.warnings.is_empty() {
        writeln!(out, "    <system-err>{}</system-err>", escape(&report.warnings.join("\n")))?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

/// What is shown of a case besides its message: the capture, and the stacks to blame, a line each.
fn body(report: &Report, verdict: &Verdict) -> String {
    let style = Style::default();
    let stacks = culprits(report, verdict, &style, 0).map(|(amount, stack)| format!("{amount}  {stack}"));
    let lines: Vec<String> = std::iter::once(report.file.clone()).chain(stacks).collect();
    lines.iter().map(|line| escape(line)).collect::<Vec<_>>().join("\n")
}

/// Text that XML 1.0 allows: characters it forbids are replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push(' '),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}
