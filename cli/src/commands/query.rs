//! `query`: SQL queries on a capture.

use super::opened_capture::{self, Capture};
use crate::exit::{Failure, Outcome};
use analysis::query::Query;
use clap::Args;
use engine::Recorded;
use export::sql::{self, Form};

/// Query a capture in SQL
#[derive(Args, Debug)]
#[command(after_help = "\
Tables:
  info, processes, threads, modules, functions, frames, frame_functions, stacks,
  costs, blocks; see docs/query.md

Examples:
  sysprof-memprof query app.memprof \\
      'select count(*), sum(size) from blocks where size > 4096'
  sysprof-memprof query app.memprof --csv \\
      \"select size, count(*) from blocks where end = 'leaked' group by size\"")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// SQL statement
    #[arg(value_name = "SQL")]
    statement: String,
    /// Write one JSON document per row
    #[arg(long, group = "form")]
    json: bool,
    /// Write CSV
    #[arg(long, group = "form")]
    csv: bool,
}

/// Prints the answer.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Arguments { capture, statement, .. } = arguments;
    let form = match arguments {
        Arguments { json: true, .. } => Form::Json,
        Arguments { csv: true, .. } => Form::Csv,
        _ => Form::Text,
    };
    let loaded = capture.ask(&Query::default())?;
    let events = Recorded::new(&capture.file);
    let mut wrong = None;
    let code = opened_capture::print(|out, _| match sql::query(out, &loaded, &events, statement, form) {
        Err(sql::Error::View(error)) => Err(error),
        Err(error) => {
            wrong = Some(error);
            Ok(())
        }
        Ok(()) => Ok(()),
    })?;
    wrong.map_or(Ok(code), |error| Err(Failure::usage(error)))
}
