//! What a capture is compared with: an earlier capture, or the numbers of one in a small file for a repository.
//!
//! ```json
//! {
//!   "schema": 1,
//!   "document": "baseline",
//!   "rules": [
//!     { "name": null, "filter": null, "numbers": { "peak": 2097152, "leaked": 0, "allocations": 120, "temporary": 3 } }
//!   ]
//! }
//! ```

use super::measure::Measure;
use super::rule::{Baseline, Rules, Section};
use super::sum::Sum;
use super::sums::{Source, Sums};
use crate::error::Error;
use crate::symbolize::Naming;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// The version of the file.
const SCHEMA: u32 = 1;

/// Longest file of numbers that is read.
const MOST_BYTES: u64 = 1 << 20;

/// An earlier number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Earlier {
    pub(super) number: i64,
    /// Its standard error.
    pub(super) error: i64,
    /// Why the true number may be another one.
    pub(super) doubt: Option<String>,
}

impl Earlier {
    fn of(sum: &Sum, measure: Measure) -> Self {
        let raised = || sum.contradiction(measure).map(|doubt| format!("{doubt} in the baseline"));
        Self {
            number: sum.number(measure),
            error: measure.error(&sum.spread),
            doubt: sum.missing("the baseline").or_else(raised),
        }
    }
}

/// The numbers of an earlier recording, for files in repositories.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Numbers {
    schema: u32,
    document: String,
    rules: Vec<NumbersOfRule>,
}

/// Those of the stacks of one rule.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct NumbersOfRule {
    name: Option<String>,
    filter: Option<String>,
    numbers: BTreeMap<String, i64>,
    /// Standard errors, by number; those of exact numbers are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    stderr: BTreeMap<String, i64>,
    /// Why numbers may be other than the truth.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    doubt: BTreeMap<String, String>,
}

impl NumbersOfRule {
    fn is_of(&self, section: &Section) -> bool {
        let filter = section.filter.as_ref().map(ToString::to_string);
        self.name == section.name && self.filter == filter
    }
}

impl Numbers {
    /// The numbers that later recordings are compared with under these rules.
    ///
    /// # Errors
    /// Those of the capture; and two rules with the same name and filter, which nobody could tell apart.
    pub fn of(rules: &Rules, file: &Path, naming: Naming) -> Result<Self, Error> {
        let mut sums = Sums::new(rules, file, "the baseline", naming);
        let mut numbers = Self { schema: SCHEMA, document: "baseline".to_owned(), rules: Vec::new() };
        for section in std::iter::once(&Section::default()).chain(rules.compared()) {
            if numbers.rules.iter().any(|known| known.is_of(section)) {
                let name = section.name.clone().unwrap_or_default();
                return Err(Error::Baseline(format!(
                    "two rules are called `{name}`: give each its own name"
                )));
            }
            let sum = sums.of(section, &Source::all(&section.part))?;
            let filter = section.filter.as_ref().map(ToString::to_string);
            let mut rule = NumbersOfRule { name: section.name.clone(), filter, ..NumbersOfRule::default() };
            for measure in Baseline::MEASURES {
                let (name, Earlier { number, error, doubt }) = (measure.name(), Earlier::of(&sum, measure));
                rule.numbers.insert(name.to_owned(), number);
                rule.stderr.extend((error > 0).then(|| (name.to_owned(), error)));
                rule.doubt.extend(doubt.map(|doubt| (name.to_owned(), doubt)));
            }
            numbers.rules.push(rule);
        }
        Ok(numbers)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    fn read(text: &str, file: &Path) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Baseline(format!("{}: {why}", file.display()));
        let numbers: Self = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
        match (numbers.document.as_str(), numbers.schema) {
            ("baseline", SCHEMA) => Ok(numbers),
            ("baseline", _) => Err(wrong("this baseline is from a newer version")),
            _ => Err(wrong("this is not a baseline: check --save-baseline writes one")),
        }
    }

    fn earlier(&self, section: &Section, measure: Measure) -> Option<Earlier> {
        let (rule, measure) = (self.rules.iter().find(|rule| rule.is_of(section))?, measure.name());
        Some(Earlier {
            number: *rule.numbers.get(measure)?,
            error: rule.stderr.get(measure).copied().unwrap_or(0),
            doubt: rule.doubt.get(measure).cloned(),
        })
    }
}

/// An open baseline.
pub(super) enum Before<'a> {
    Capture(Sums<'a>),
    Numbers(Numbers),
}

impl<'a> Before<'a> {
    /// Opens it: a file of numbers is text that begins with a brace.
    pub(super) fn open(rules: &'a Rules, file: &'a Path, naming: Naming) -> Result<Self, Error> {
        let mut text = Vec::new();
        let unreadable = |error: io::Error| Error::Baseline(format!("{}: {error}", file.display()));
        let mut opened = File::open(file).map_err(unreadable)?.take(MOST_BYTES);
        opened.by_ref().take(1).read_to_end(&mut text).map_err(unreadable)?;
        if text != b"{" {
            return Ok(Self::Capture(Sums::new(rules, file, "the baseline", naming)));
        }
        opened.read_to_end(&mut text).map_err(unreadable)?;
        Ok(Self::Numbers(Numbers::read(&String::from_utf8_lossy(&text), file)?))
    }

    /// The numbers of a section.
    pub(super) fn numbers(&mut self, section: &Section) -> Result<Vec<(Measure, Earlier)>, Error> {
        let all = Baseline::MEASURES.into_iter();
        match self {
            Self::Numbers(numbers) => {
                let earlier = |measure| numbers.earlier(section, measure).map(|earlier| (measure, earlier));
                let lacks = || {
                    let filter = section.filter.as_ref().map(ToString::to_string);
                    let rule = section.name.clone().or(filter).unwrap_or_default();
                    Error::Baseline(format!("the baseline has no numbers of the rule `{rule}`: save it anew"))
                };
                all.map(earlier).collect::<Option<_>>().ok_or_else(lacks)
            }
            Self::Capture(sums) => {
                let sum = sums.of(section, &Source::all(&section.part))?;
                Ok(all.map(|measure| (measure, Earlier::of(&sum, measure))).collect())
            }
        }
    }
}
