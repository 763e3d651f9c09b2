//! Reads the rules for `check` and `run --check`, and reports problems with them.

use super::suppression::read_list;
use crate::exit::Failure;
use anyhow::{Context, anyhow};
use engine::check::Rules;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Longest rules file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a rules file and the suppression lists that it names.
pub(super) fn read(file: &Path) -> Result<Rules, Failure> {
    let shown = file.display();
    let mut text = String::new();
    let opened = File::open(file).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    let length = opened.with_context(|| format!("cannot read the rules {shown}")).map_err(Failure::usage)?;
    if length as u64 > MOST_BYTES {
        return Err(Failure::usage(anyhow!("{shown} is too long for a file of rules")));
    }
    let (mut rules, lists) = Rules::from_toml(&text, file).map_err(Failure::usage)?;
    for list in lists {
        rules.suppressions.rules.extend(read_list(&list)?);
    }
    Ok(rules)
}

/// Fails if there is nothing to check, or the baseline cannot be opened.
pub(super) fn require(rules: &Rules) -> Result<(), Failure> {
    if rules.is_empty() {
        return Err(Failure::usage(anyhow!(
            "no rule given: use --max-peak, --max-leaked or another --max-…, --baseline or --rules"
        )));
    }
    rules.open_baseline().map_err(Failure::usage)
}
