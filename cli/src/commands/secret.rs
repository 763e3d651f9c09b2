//! Secrets: random ones, and those in files: never in an option, which every user of the machine can read, and which a shell remembers.

use crate::exit::Failure;
use anyhow::{Context, anyhow};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Longest one: a request has room for it.
const LONGEST: u64 = 4096;

/// The secret in a file, without spaces around it: `what` it is goes into errors, as "token".
pub(super) fn read(path: &Path, what: &str) -> Result<String, Failure> {
    let file = path.display();
    let failed = || format!("cannot read the {what} in {file}");
    let open = || -> std::io::Result<(String, u32)> {
        let file = File::open(path)?;
        let mode = file.metadata()?.mode();
        let mut text = String::new();
        file.take(LONGEST + 1).read_to_string(&mut text)?;
        Ok((text, mode))
    };
    let (text, mode) = open().with_context(failed).map_err(Failure::usage)?;
    let secret = text.trim();
    let refused = match () {
        () if mode & 0o007 != 0 => format!("everybody can read {file}, so it is no secret: chmod o= {file}"),
        () if text.len() as u64 > LONGEST => {
            format!("the {what} in {file} is longer than {LONGEST} characters")
        }
        () if secret.is_empty() => format!("there is no {what} in {file}: it is empty"),
        () if secret.contains(char::is_control) => {
            format!("the {what} in {file} has characters that no header can have")
        }
        () => return Ok(secret.to_owned()),
    };
    Err(Failure::usage(anyhow!(refused)))
}

/// 128 random bits, which nobody can guess and nobody else has.
pub(super) fn random() -> anyhow::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.context("cannot read /dev/urandom")?;
    Ok(bytes)
}
