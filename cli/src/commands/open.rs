//! A file without a command: a capture is shown, a program recorded. Its content decides, never its name.

use super::{report, run};
use crate::exit::{Failure, Outcome};
use anyhow::anyhow;
use capture::Sniff;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Opens the first word, a file, with the others as its arguments.
pub(crate) fn execute(words: Vec<OsString>) -> Outcome {
    let Some(first) = words.first() else { return Err(Failure::usage(anyhow!("there is nothing to open"))) };
    let path = PathBuf::from(first);
    let start = match start_of(&path) {
        Ok(start) => start,
        Err(error) => return Err(unclear(&path, &format!("it is no command, and as a file: {error}"))),
    };
    match capture::sniff(&start) {
        // An error of the reader says what there is to say about other versions.
        Sniff::Capture(_) | Sniff::NewerCapture(_) | Sniff::ByteSwapped => {
            report::execute(&report::Arguments::of_file(path))
        }
        Sniff::Elf | Sniff::Script => {
            let mut command = words;
            // A bare name that is a file here must not be looked up in PATH.
            if let Some(program) = command.first_mut()
                && !program.to_string_lossy().contains('/')
            {
                *program = Path::new(".").join(&path).into_os_string();
            }
            match run::Arguments::of_command(command) {
                Some(arguments) => run::execute(arguments),
                None => Err(unclear(&path, "its arguments cannot be told from ours")),
            }
        }
        other => Err(unclear(&path, &format!("it is {other}"))),
    }
}

fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(capture::SNIFF_LENGTH as u64).read_to_end(&mut start)?;
    Ok(start)
}

fn unclear(path: &Path, why: &str) -> Failure {
    let path = path.display();
    Failure::usage(anyhow!(
        "cannot tell what to do with {path}: {why}.\n  To record a program:    sysprof-memprof run -- {path}\n  \
         To look at a capture:   sysprof-memprof report {path}\n  To see all commands:    sysprof-memprof --help"
    ))
}
