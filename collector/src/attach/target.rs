//! What a program is, and why it cannot be recorded.
//!
//! A preloaded agent works only in programs that a dynamic loader of our own architecture, glibc's or on x86-64 also
//! musl's, starts without special privileges. Any other program would silently ignore it, and the capture would stay
//! empty. So this is checked before the program starts:
//!
//! ```text
//!   command ──lookup (PATH)──► file ──#! … #!──► ELF file ──► Target, remarks
//!      │                        │                   │
//!      ▼                        ▼                   ▼
//!   NotFound            NotExecutable, Directory   Static, Setuid, Musl, Bits32, Machine …   (Refusal)
//! ```
//!
//! File contents are not trusted: reads are bounded by the file and by fixed limits.

mod allocator;
mod elf;
mod lookup;
mod refusal;
mod script;

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use elf::Elf;
pub use refusal::Refusal;
use script::FirstBytes;

/// Nested interpreters that Linux follows before it gives up with `ELOOP`.
const MAX_INTERPRETERS: usize = 5;

/// A program that can be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The command's own file, which is executed.
    pub path: PathBuf,
    /// The ELF file that runs: `path`, or the last interpreter of a script.
    pub program: PathBuf,
    /// True for a text without `#!`: the kernel refuses it and, as in shells and `execvp`, `/bin/sh` runs it.
    pub by_shell: bool,
    /// What the user should know about the recording in advance, one sentence each.
    pub remarks: Vec<String>,
}

/// Finds `command` as a shell does and checks that the agent can be loaded into it.
///
/// # Errors
/// When there is no such program, when the agent could not work in it, or when a preloaded library conflicts.
pub fn inspect(command: &Path) -> Result<Target, Refusal> {
    refusal::check_preloaded(&std::env::var_os("LD_PRELOAD").unwrap_or_default())?;
    inspect_in(command, std::env::var_os("PATH").as_deref())
}

/// [`inspect`] with a given value of `PATH`.
fn inspect_in(command: &Path, search: Option<&OsStr>) -> Result<Target, Refusal> {
    let path = lookup::find(command, search)?;
    let mut target = Target { path: path.clone(), program: path, by_shell: false, remarks: Vec::new() };
    for _ in 0..=MAX_INTERPRETERS {
        let mut file = match File::open(&target.program) {
            Ok(file) => file,
            // Mode 0711 and the like: it can run, but we cannot read it.
            Err(source) if source.kind() == std::io::ErrorKind::PermissionDenied => {
                refusal::check_privileges(&target.program)?;
                let file = target.program.display();
                target
                    .remarks
                    .push(format!("{file} cannot be read, so it was not checked before the start."));
                return Ok(target);
            }
            Err(source) => return Err(Refusal::Unreadable { path: target.program, source }),
        };
        match script::first_bytes(&mut file) {
            Ok(FirstBytes::Elf) => {
                refusal::check_privileges(&target.program)?;
                let elf = Elf::read(file, &target.program)?;
                target.remarks.extend(refusal::check_elf(&elf, &target.program)?);
                return Ok(target);
            }
            Ok(FirstBytes::Script(interpreter)) => {
                lookup::check_interpreter(&target.program, &interpreter)?;
                target.program = interpreter;
            }
            Ok(FirstBytes::Text) if target.program == target.path => {
                target.by_shell = true;
                target.program = PathBuf::from(script::SHELL);
            }
            Ok(FirstBytes::Text | FirstBytes::Unknown) => {
                return Err(Refusal::NotAProgram { path: target.program });
            }
            Ok(FirstBytes::Empty) => return Err(Refusal::Empty { path: target.program }),
            Err(source) => return Err(Refusal::Unreadable { path: target.program, source }),
        }
    }
    Err(Refusal::TooManyInterpreters { path: target.path })
}

#[cfg(test)]
mod tests;
