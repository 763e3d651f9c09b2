//! `run --check`: checks rules after the target has ended.

use super::{opened_capture, rules};
use crate::exit::{self, Failure, Outcome};
use crate::log::debug;
use crate::message;
use crate::terminal;
use anstream::{AutoStream, ColorChoice};
use collector::Finished;
use engine::Naming;
use engine::check::Rules;
use report::text::{self, Style};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Rules that are checked after a recording.
#[derive(Debug)]
pub(super) struct RulesCheck {
    rules: Rules,
    /// Where to find names that the capture lacks.
    naming: Naming,
    /// Remove the capture if all rules are kept: the user did not ask for it by name.
    removes: bool,
}

impl RulesCheck {
    /// Reads the rules, before anything is started.
    pub(super) fn new(file: &Path, naming: Naming, has_output: bool) -> Result<Self, Failure> {
        let rules = rules::read(file)?;
        rules::require(&rules)?;
        Ok(Self { rules, naming, removes: !has_output })
    }

    /// Checks the capture and reports the result on standard error, since standard output is the target's. The
    /// target's failure takes precedence over a broken rule; either way the capture is kept.
    pub(super) fn apply(&self, finished: &Finished, code: u8, quiet: bool) -> Outcome {
        let report = match self.rules.check(&finished.path, self.naming.clone()) {
            Ok(report) => report,
            Err(error) if code == 0 => return Err(Failure::usage(error)),
            Err(error) => {
                Failure::usage(error).report();
                return Ok(ExitCode::from(code));
            }
        };
        let outcome = exit::of_rules(report.outcome());
        let is_fine = code == 0 && outcome == 0;
        if is_fine && self.removes {
            let removed = fs::remove_file(&finished.path);
            debug!("all rules hold, removing {}: {removed:?}", finished.path.display());
        } else {
            opened_capture::after_recording(finished, quiet);
        }
        if !quiet || outcome != 0 {
            let stderr = io::stderr();
            let color = AutoStream::choice(&stderr) != ColorChoice::Never;
            let style = Style { color, width: terminal::width(&stderr) };
            let mut text = Vec::new();
            text::check(&mut text, &report, &style)?;
            // Standard error may be closed.
            let _ = stderr.lock().write_all(&text);
        }
        if quiet && !is_fine {
            message::plain(&format!("Wrote {}", finished.path.display()));
        }
        Ok(ExitCode::from(if code == 0 { outcome } else { code }))
    }
}
