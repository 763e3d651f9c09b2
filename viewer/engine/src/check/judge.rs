//! Whether a capture complies with its rules.

use super::baseline::{Before, Earlier};
use super::culprits::Culprits;
use super::measure::Measure;
use super::rule::{Rules, Section};
use super::sum::Sum;
use super::sums::{Source, Sums};
use super::verdict::{Outcome, Report, Verdict};
use crate::analyzer::Analyzer;
use crate::error::Error;
use crate::symbolize::Naming;
use analysis::query::Part;
use analysis::{Share, file_name, process_name};
use capture::Tables;
use std::path::Path;

impl Rules {
    /// Fails if there is a baseline that cannot be read.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open_baseline(&self) -> Result<(), Error> {
        let Some(baseline) = &self.baseline else { return Ok(()) };
        match Before::open(self, &baseline.file, Naming::Stored)? {
            Before::Capture(_) => Analyzer::open(&baseline.file).map(drop),
            Before::Numbers(_) => Ok(()),
        }
    }

    /// Checks a capture.
    ///
    /// # Errors
    /// Those of the capture and of the baseline, and those of moments that one of them does not have.
    pub fn check(&self, file: &Path, naming: Naming) -> Result<Report, Error> {
        let mut sums = Sums::new(self, file, "the capture", naming.clone());
        let mut report = Report { file: file.display().to_string(), ..Report::default() };
        for section in &self.sections {
            for (measure, limit) in section.limits.iter() {
                let sum = sums.of(section, &Source::of(section, measure))?;
                let mut verdict = sum.verdict(section, measure, limit, measure.error(&sum.spread));
                if verdict.outcome() == Outcome::Broken {
                    verdict.culprits = Culprits::of(&mut sums, section, measure)?;
                }
                report.verdicts.push(verdict);
            }
        }
        let mut of_baseline = Vec::new();
        if let Some(baseline) = &self.baseline {
            let mut before = Before::open(self, &baseline.file, naming)?;
            let everything = Section { tolerance: Some(baseline.tolerance), ..Section::default() };
            for section in std::iter::once(&everything).chain(self.compared()) {
                let tolerance = section.tolerance.unwrap_or_default();
                for (measure, earlier) in before.numbers(section)? {
                    let sum = sums.of(section, &Source::of(section, measure))?;
                    let mut verdict = compare(section, measure, &sum, earlier, tolerance);
                    if verdict.outcome() == Outcome::Broken {
                        verdict.culprits = match &before {
                            Before::Capture(before) => Culprits::since(before, &mut sums, section, measure)?,
                            Before::Numbers(_) => Culprits::of(&mut sums, section, measure)?,
                        };
                    }
                    report.verdicts.push(verdict);
                }
            }
            if let Before::Capture(before) = &before {
                of_baseline = before.warnings();
            }
        }
        report.warnings = sums.warnings().into_iter().chain(of_baseline).collect();
        let whole = sums.place(&Source::all(&Part::Whole))?;
        report.program = program(&sums.loaded(whole).tables);
        report.loaded = sums.into_loaded().collect();
        Ok(report)
    }
}

/// What was recorded: the name of the command, or of the process that was attached to.
fn program(tables: &Tables) -> String {
    let command = tables.metadata.command.first().map(|command| file_name(command).to_owned());
    command.or_else(|| tables.processes.first().map(process_name)).unwrap_or_default()
}

/// Judges a number by an earlier one.
fn compare(section: &Section, measure: Measure, now: &Sum, before: Earlier, tolerance: Share) -> Verdict {
    let Earlier { number, error, doubt } = before;
    let tolerated = tolerance.as_percent() / 100.0;
    // The tolerated part is rounded down: 5 % of 10 allocations is 0.
    let limit = number.saturating_add((tolerated * number as f64).floor() as i64);
    // The limit is an estimate as well if the baseline is sampled.
    let of_limit = (1.0 + tolerated) * error as f64;
    let error = of_limit.hypot(measure.error(&now.spread) as f64).ceil() as i64;
    let verdict = now.verdict(section, measure, limit, error);
    // Lost frees of the baseline would raise the limit.
    let doubt = verdict.doubt.or(doubt);
    Verdict { baseline: Some((number, tolerance)), doubt, ..verdict }
}
