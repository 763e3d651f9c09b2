//! A file without a command: a capture is shown, a program recorded. The file's contents decide, never its name.

use super::view;
use crate::exit::Failure;
use analysis::query::nearest;
use anyhow::anyhow;
use capture::Sniff;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What people type who know other profilers, or the name of a view, and which command that is here.
pub(crate) const OTHER_WORDS: &[(&str, &str)] = &[
    ("completions", "generate completions"),
    ("cpu", "report --cpu"),
    ("double-frees", "errors"),
    ("dump", "export --format events"),
    ("events", "export --format events"),
    ("failed", "errors"),
    ("flamegraph", "export --format flamegraph"),
    ("functions", "report --functions"),
    ("header", "generate header"),
    ("install-agent", "agent install"),
    ("invalid-frees", "errors"),
    ("lifetimes", "blocks --by lifetime"),
    ("lines", "report --lines"),
    ("live", "top"),
    ("man-pages", "generate man-pages"),
    ("mappings", "blocks --by mapping"),
    ("modules", "blocks --by module"),
    ("peak", "report"),
    ("preload-path", "agent path"),
    ("push", "export FOLDER --push https://HOST"),
    ("reallocs", "blocks --by realloc"),
    ("resident", "pages --by allocation"),
    ("sizes", "blocks --by size"),
    ("sql", "query"),
    ("start", "daemon start"),
    ("stats", "info"),
    ("stop", "daemon stop"),
    ("summary", "info"),
    ("temporary", "blocks --by temporary"),
    ("threads", "blocks --by thread"),
    ("tree", "report --tree"),
    ("uninstall-agent", "agent uninstall"),
];

/// The command that suits the first word, a file, with the remaining words as its arguments.
pub(crate) fn command_line(words: Vec<OsString>, commands: &[String]) -> Result<Vec<OsString>, Failure> {
    let Some(first) = words.first() else { return Err(Failure::usage(anyhow!("there is nothing to open"))) };
    let path = PathBuf::from(first);
    let start = match start_of(&path) {
        Ok(start) => start,
        Err(error) => return Err(unclear(&path, &no_command(first, &error, commands))),
    };
    let (command, file) = match capture::sniff(&start) {
        // Captures of other versions go to a command as well: the reader explains what is wrong.
        Sniff::Capture(_) if words.len() == 1 && view::is_possible() => ("view", path),
        Sniff::Capture(_) | Sniff::OtherCapture(_) | Sniff::ByteSwapped => ("report", path),
        // A bare name that is a file here must not be looked up in PATH.
        Sniff::Elf | Sniff::Script if path.components().count() == 1 => ("run", Path::new(".").join(path)),
        Sniff::Elf | Sniff::Script => ("run", path),
        other => return Err(unclear(&path, &format!("it is {other}."))),
    };
    let mut line: Vec<OsString> = ["sysprof-memprof", command, "--"].map(OsString::from).into();
    line.push(file.into_os_string());
    line.extend(words.into_iter().skip(1));
    Ok(line)
}

fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(capture::SNIFF_LENGTH as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// Why a word is neither a command nor a file, and which commands are like it.
fn no_command(word: &OsStr, error: &io::Error, commands: &[String]) -> String {
    let hint = hint(word.to_str().unwrap_or_default(), commands.iter().map(String::as_str));
    format!("it is not a command, and as a file: {error}.{hint}")
}

/// What this word was meant to be, as a sentence, if anything that is known is like it.
pub(super) fn hint<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let other = OTHER_WORDS.iter().find(|(other, _)| *other == word);
    let meant = other.map_or_else(|| nearest(word, known).join(" or "), |(_, command)| (*command).to_owned());
    if meant.is_empty() { meant } else { format!(" Did you mean {meant}?") }
}

fn unclear(path: &Path, why: &str) -> Failure {
    let path = path.display();
    Failure::usage(anyhow!(
        "cannot tell what to do with {path}: {why}\n  To record a program:    sysprof-memprof run -- {path}\n  \
         To look at a capture:   sysprof-memprof report {path}\n  To see all commands:    sysprof-memprof help"
    ))
}
