//! `check`: whether a capture keeps to rules, for build servers.

use super::opened_capture::{self, Capture};
use super::rules;
use super::suppression::SuppressionArguments;
use crate::exit::{self, Failure, Outcome};
use crate::{message, values};
use analysis::Share;
use analysis::query::Expression;
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use engine::check::{Baseline, Limits, Measure, Rules, Section};
use report::{json, junit, text};
use std::path::PathBuf;
use std::process::ExitCode;

/// Check a capture against rules
///
/// The exit code is 0 if all rules are kept, 1 if not, and 2 if the capture cannot tell. It cannot tell if a sampled
/// number is within two standard errors of its limit; if one that depends on frees exceeds it, or may, and addresses of
/// blocks were allocated again without a recorded free; or if no number exceeds its limit, but events were lost, the
/// file is incomplete, blocks may or may not be leaked, or a filter matches nothing.
///
/// Rules come from options, from a TOML file, or both. docs/tasks/gate-a-build.md describes the file and has examples
/// for build servers. `run --check RULES` records and checks in one step.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof check app.memprof --max-peak 512M --max-leaked 0
  sysprof-memprof check app.memprof --max-allocations 1000 --filter 'render*'
  sysprof-memprof check new.memprof --baseline old.memprof --tolerance 5%
  sysprof-memprof check app.memprof --rules memprof.toml --format junit > x.xml")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Maximum bytes held at the peak
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    max_peak: Option<usize>,
    /// Maximum bytes still allocated at the end
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    max_leaked: Option<usize>,
    /// Maximum bytes unreachable when processes were scanned, see `scan` and `run --scan-at-exit`
    #[arg(long, value_name = "SIZE", value_parser = values::size, conflicts_with = "older_than")]
    max_unreachable: Option<usize>,
    /// Maximum number of allocations
    #[arg(long, value_name = "N")]
    max_allocations: Option<u64>,
    /// Maximum bytes of all allocations
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    max_bytes: Option<usize>,
    /// Maximum number of temporary allocations
    #[arg(long, value_name = "N")]
    max_temporary: Option<u64>,
    /// Only stacks that match, for the six limits above
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<Expression>,
    /// Maximum number of invalid frees, see `invalid-frees`
    #[arg(long, value_name = "N", conflicts_with = "filter")]
    max_invalid_frees: Option<u64>,
    /// Maximum number of failed allocations, see `failed`
    #[arg(long, value_name = "N", conflicts_with = "filter")]
    max_failed: Option<u64>,
    /// Earlier capture, whose peak, leaked bytes, allocations and temporary allocations must not be exceeded
    #[arg(long, value_name = "CAPTURE")]
    baseline: Option<PathBuf>,
    /// Share by which the numbers of --baseline may be exceeded
    #[arg(long, value_name = "SHARE", requires = "baseline")]
    tolerance: Option<Share>,
    /// TOML file with rules
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    #[command(flatten)]
    suppressions: SuppressionArguments,
}

/// How a result is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A line per rule
    Text,
    /// One JSON document
    Json,
    /// `JUnit` XML, for build servers
    Junit,
}

/// Checks and prints.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let rules = arguments.rules()?;
    rules::require(&rules)?;
    let report = rules.check(&arguments.capture.file, arguments.capture.naming()).map_err(Failure::usage)?;
    if !matches!(arguments.format, Format::Text) {
        report.warnings.iter().for_each(|warning| message::warning(warning));
    }
    let printed = opened_capture::print(|out, style| {
        match arguments.format {
            Format::Text => text::check(out, &report, style)?,
            Format::Json => json::check(out, &report)?,
            Format::Junit => junit::check(out, &report)?,
        }
        Ok(())
    });
    printed.map(drop).or_else(Failure::unless_unread)?;
    Ok(ExitCode::from(exit::of_rules(report.outcome())))
}

impl Arguments {
    fn rules(&self) -> Result<Rules, Failure> {
        let suppressions = self.suppressions.read()?;
        let mut rules = match &self.rules {
            Some(file) => rules::read(file)?,
            None => Rules { suppressions: suppressions.clone(), ..Rules::default() },
        };
        if self.rules.is_some() {
            rules.suppressions.add(suppressions);
        }
        let mut limits = Limits::default();
        limits.set(Measure::Peak, self.max_peak.map(|size| size as u64));
        limits.set(Measure::Leaked, self.max_leaked.map(|size| size as u64));
        limits.set(Measure::Unreachable, self.max_unreachable.map(|size| size as u64));
        limits.set(Measure::Allocations, self.max_allocations);
        limits.set(Measure::Bytes, self.max_bytes.map(|size| size as u64));
        limits.set(Measure::Temporary, self.max_temporary);
        limits.set(Measure::InvalidFrees, self.max_invalid_frees);
        limits.set(Measure::Failed, self.max_failed);
        if limits.is_empty() && self.filter.is_some() {
            return Err(Failure::usage(anyhow!(
                "--filter needs one of the limits that it is for, such as --max-leaked"
            )));
        }
        rules.sections.push(Section { filter: self.filter.clone(), limits, ..Section::default() });
        if let Some(file) = &self.baseline {
            let tolerance = self.tolerance.unwrap_or_default();
            rules.baseline = Some(Baseline { file: file.clone(), tolerance });
        }
        Ok(rules)
    }
}
