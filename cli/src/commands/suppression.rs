//! Options that select which leaks are left out.

use crate::exit::Failure;
use crate::values;
use anyhow::{Context, anyhow};
use clap::Args;
use engine::Rule;
use engine::suppression::{Suppressions, parse};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest suppression file that is read.
const MOST_BYTES: u64 = 16 << 20;

/// Rules, and the age of blocks.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Suppressions")]
pub(crate) struct SuppressionArguments {
    /// Leave out leaks listed in this file, in `LeakSanitizer` syntax: lines like `leak:cache_init`; may be repeated
    #[arg(long, value_name = "FILE")]
    suppressions: Vec<PathBuf>,
    /// Include what libc keeps by design, and what the program lists in `__lsan_default_suppressions`
    #[arg(long)]
    no_default_suppressions: bool,
    /// Leave out blocks younger than this when their process ended
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    older_than: Option<Duration>,
}

impl SuppressionArguments {
    /// Reads the files.
    pub(super) fn read(&self) -> Result<Suppressions, Failure> {
        let mut rules = Vec::new();
        for file in &self.suppressions {
            rules.extend(read_list(file)?);
        }
        Ok(Suppressions {
            rules,
            of_programs: !self.no_default_suppressions,
            built_in: !self.no_default_suppressions,
            older_than_ns: self.older_than.map(|age| u64::try_from(age.as_nanos()).unwrap_or(u64::MAX)),
        })
    }
}

/// The rules of one file.
pub(super) fn read_list(file: &Path) -> Result<Vec<Rule>, Failure> {
    let shown = file.display().to_string();
    let mut text = String::new();
    let opened = File::open(file).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    let read =
        opened.with_context(|| format!("cannot read the suppressions {shown}")).map_err(Failure::usage)?;
    if read as u64 > MOST_BYTES {
        return Err(Failure::usage(anyhow!("{shown} is too long for a list of suppressions")));
    }
    parse(&text, &shown).map_err(Failure::usage)
}
