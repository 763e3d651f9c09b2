//! Results of rules as the XML that test runners write and build servers read.
//!
//! The only standard is the convention of Ant's `junitreport` task: a suite of cases, some with a `failure`, or an
//! `error` where the result is unknown.

use crate::text::{check_result, check_title};
use engine::check::{Outcome, Report};
use std::io::{self, Write};

/// Writes one suite with one case per rule; warnings are its `system-err`.
///
/// # Errors
/// Those of the writer.
pub fn check(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let number = |outcome| report.verdicts.iter().filter(|verdict| verdict.outcome() == outcome).count();
    let (failures, errors) = (number(Outcome::Broken), number(Outcome::Untold));
    let tests = report.verdicts.len();
    let file = escape(&report.file);
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites tests="{tests}" failures="{failures}" errors="{errors}">"#)?;
    writeln!(
        out,
        r#"  <testsuite name="sysprof-memprof check" tests="{tests}" failures="{failures}" errors="{errors}">"#
    )?;
    for verdict in &report.verdicts {
        let measure = verdict.measure.name();
        let against = if verdict.baseline.is_some() { " against the baseline" } else { "" };
        let title = check_title(verdict).map_or(String::new(), |title| format!(" of {title}"));
        let name = escape(&format!("{measure}{against}{title}"));
        let element = match verdict.outcome() {
            Outcome::Kept => {
                writeln!(out, r#"    <testcase classname="{file}" name="{name}"/>"#)?;
                continue;
            }
            Outcome::Untold => "error",
            Outcome::Broken => "failure",
        };
        let message = escape(&format!("{measure}: {}", check_result(verdict)));
        writeln!(out, r#"    <testcase classname="{file}" name="{name}">"#)?;
        writeln!(out, r#"      <{element} message="{message}"/>"#)?;
        writeln!(out, "    </testcase>")?;
    }
    if !report.warnings.is_empty() {
        writeln!(out, "    <system-err>{}</system-err>", escape(&report.warnings.join("\n")))?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
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
