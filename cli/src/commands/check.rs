//! `check`: whether a capture keeps to rules, for build servers.

use super::opened_capture::{self, Capture};
use super::rules;
use super::suppression::SuppressionArguments;
use crate::exit::{self, Failure, Outcome};
use crate::{message, values};
use analysis::Share;
use analysis::query::Expression;
use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use engine::check::{Baseline, Limits, Measure, Numbers, Rules, Section};
use report::outline::{self, Form};
use report::{github, json, junit, text};
use std::fs;
use std::path::{Path, PathBuf};
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
  sysprof-memprof check app.memprof --max-peak 512M
  # Nothing leaks, and nothing fails
  sysprof-memprof check app.memprof --max-leaked 0 --max-failed 0
  sysprof-memprof check app.memprof --max-allocations 1000 --filter 'render*'
  sysprof-memprof check new.memprof --baseline old.memprof --tolerance 5%
  sysprof-memprof check app.memprof --save-baseline baseline.json
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
    /// Maximum number of invalid frees, see `errors`
    #[arg(long, value_name = "N", conflicts_with = "filter")]
    max_invalid_frees: Option<u64>,
    /// Maximum number of failed allocations, see `errors`
    #[arg(long, value_name = "N", conflicts_with = "filter")]
    max_failed: Option<u64>,
    /// Earlier capture, or its numbers from --save-baseline: its peak, leaked bytes, allocations and temporary
    /// allocations must not be exceeded
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the numbers for --baseline to this small file, replacing it, and check nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["baseline", "format", "json"])]
    save_baseline: Option<PathBuf>,
    /// Share by which the numbers of --baseline may be exceeded
    #[arg(long, value_name = "SHARE", requires = "baseline")]
    tolerance: Option<Share>,
    /// TOML file with rules
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "json")]
    format: Format,
    /// Write JSON; short for --format json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    suppressions: SuppressionArguments,
}

/// How a result is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A line per rule, and the stacks to blame
    Text,
    /// One JSON document
    Json,
    /// `JUnit` XML, for build servers
    Junit,
    /// Annotations for GitHub's runners
    Github,
    /// A table for a comment
    Markdown,
    /// The same as a page
    Html,
}

/// Checks and prints.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let rules = arguments.rules()?;
    if let Some(file) = &arguments.save_baseline {
        return save(&rules, arguments, file);
    }
    rules::require(&rules)?;
    let report = rules.check(&arguments.capture.file, arguments.capture.naming()).map_err(Failure::usage)?;
    let format = if arguments.json { Format::Json } else { arguments.format };
    if matches!(format, Format::Json | Format::Junit) {
        report.warnings.iter().for_each(|warning| message::warning(warning));
    }
    let printed = opened_capture::print(|out, style| {
        match format {
            Format::Text => text::check(out, &report, style)?,
            Format::Json => json::check(out, &report)?,
            Format::Junit => junit::check(out, &report)?,
            Format::Github => github::check(out, &report, &repository())?,
            Format::Markdown => outline::check(&report).write(out, Form::Markdown)?,
            Format::Html => outline::check(&report).write(out, Form::Html)?,
        }
        Ok(())
    });
    printed.map(drop).or_else(Failure::unless_unread)?;
    Ok(ExitCode::from(exit::of_rules(report.outcome())))
}

/// Writes the numbers that later recordings are compared with.
fn save(rules: &Rules, arguments: &Arguments, file: &Path) -> Outcome {
    let numbers = Numbers::of(rules, &arguments.capture.file, arguments.capture.naming());
    let mut text = Vec::new();
    numbers.map_err(Failure::usage)?.write(&mut text)?;
    let written = fs::write(file, text).with_context(|| format!("cannot write {}", file.display()));
    written.map_err(Failure::usage)?;
    message::plain(&format!("Wrote {}", file.display()));
    Ok(ExitCode::SUCCESS)
}

/// The folder to which GitHub's paths are relative.
fn repository() -> PathBuf {
    let workspace = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
    workspace.or_else(|| std::env::current_dir().ok()).unwrap_or_default()
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
