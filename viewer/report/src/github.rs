//! Results of rules as the lines in which GitHub's runners look for annotations.
//!
//! ```text
//! ::error file=src/cache.c,line=12,title=memprof%3A leaked::1.50 KiB, limit 0 B%0A1.00 KiB  remember (cache.c:12) < main
//! ```
//!
//! An annotation stands at the innermost line of the first stack that is in the repository.

use crate::text::{Style, check_case, check_result, culprits};
use analysis::meaningful;
use engine::check::{Outcome, Report, Verdict};
use std::io::{self, Write};
use std::path::Path;

/// Writes a line for each rule that is not kept, and for each warning. `root` is the folder of the repository.
///
/// # Errors
/// Those of the writer.
pub fn check(out: &mut dyn Write, report: &Report, root: &Path) -> io::Result<()> {
    for verdict in &report.verdicts {
        let kind = match verdict.outcome() {
            Outcome::Kept => continue,
            Outcome::Untold => "warning",
            Outcome::Broken => "error",
        };
        let place = place(report, verdict, root)
            .map_or(String::new(), |(file, line)| format!("file={},line={line},", property(&file)));
        let title = property(&format!("memprof {}: {}", report.program, check_case(verdict)));
        let style = Style::default();
        let stacks = culprits(report, verdict, &style, 0).map(|(amount, stack)| format!("{amount}  {stack}"));
        let lines: Vec<String> = std::iter::once(check_result(verdict)).chain(stacks).collect();
        writeln!(out, "::{kind} {place}title={title}::{}", data(&lines.join("\n")))?;
    }
    report.warnings.iter().try_for_each(|warning| writeln!(out, "::warning title=memprof::{}", data(warning)))
}

/// A source line of the repository that leads to what is to blame.
fn place(report: &Report, verdict: &Verdict, root: &Path) -> Option<(String, u32)> {
    report.culprits(verdict).find_map(|(loaded, node, _)| {
        meaningful(&loaded.tables, &loaded.names, node).find_map(|(_, step)| {
            let file = Path::new(loaded.tables.string(step.file?));
            let file = if file.is_absolute() { file.strip_prefix(root).ok()? } else { file };
            Some((file.to_str()?.to_owned(), step.line?))
        })
    })
}

/// The text of a message.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A value before the message, where more signs have a meaning.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
