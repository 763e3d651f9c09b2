//! Messages for the user, all on standard error: standard output belongs to the target or to the report.

use anstyle::{AnsiColor, Style};
use collector::{MORE_FILES, is_too_many_files};
use std::error::Error;
use std::io::Write;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();

/// Reports a failure.
pub(crate) fn error(reason: &anyhow::Error) {
    // A cause that its effect quotes already is not repeated.
    let mut text = reason.to_string();
    for cause in reason.chain().skip(1) {
        if !quotes(&text, cause) {
            text = format!("{text}: {cause}");
        }
    }
    // At any level of the chain.
    let is_out_of_files = reason.chain().filter_map(|cause| cause.downcast_ref()).any(is_too_many_files);
    if is_out_of_files && !text.contains(MORE_FILES) {
        text = format!("{}. {MORE_FILES}", text.trim_end_matches('.'));
    }
    line("error", ERROR, &text);
}

/// Whether a text already says everything that a cause says. Errors about an unwritable capture are reworded with its
/// name.
fn quotes(text: &str, cause: &(dyn Error + 'static)) -> bool {
    let said = match cause.downcast_ref() {
        Some(capture::Error::Io { action, source }) if action == capture::WRITE => source.to_string(),
        _ => cause.to_string(),
    };
    text.contains(&said)
}

/// Warns about something that the user may not expect.
pub(crate) fn warning(text: &str) {
    line("warning", WARNING, text);
}

/// Tells an alarm: a warning, for the journal too.
pub(crate) fn alarm(text: &str) {
    let level = if is_journal() { "<4>" } else { "" };
    let _ = writeln!(
        anstream::stderr().lock(),
        "{level}sysprof-memprof: {WARNING}warning:{WARNING:#} {}",
        printable(text).replace('\n', " ")
    );
}

/// True when standard error is the journal: `systemd.exec(5)`, `JOURNAL_STREAM`.
fn is_journal() -> bool {
    let Ok(named) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(file) = rustix::fs::fstat(std::io::stderr()) else { return false };
    named == format!("{}:{}", file.st_dev, file.st_ino)
}

/// Gives useful information.
pub(crate) fn note(text: &str) {
    line("note", NOTE, text);
}

/// Writes a line without a prefix.
pub(crate) fn plain(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", printable(text));
}

fn line(word: &str, style: Style, text: &str) {
    // If standard error is closed, nobody is left to tell.
    let _ =
        writeln!(anstream::stderr().lock(), "sysprof-memprof: {style}{word}:{style:#} {}", printable(text));
}

/// Replaces control characters in names of files and processes, which could act on the terminal.
fn printable(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() && letter != '\n' { '\u{fffd}' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that names chosen by others cannot act on the terminal.
    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(printable("a\x1b[2Jb\nc\u{9b}d"), "a\u{fffd}[2Jb\nc\u{fffd}d");
    }
}
