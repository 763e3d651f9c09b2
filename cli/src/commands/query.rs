//! `query`: SQL queries on a capture.

use super::opened_capture::{self, Capture};
use crate::exit::{Failure, Outcome};
use analysis::query::Query;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
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
  sysprof-memprof query app.memprof --format csv \\
      \"select size, count(*) from blocks where end = 'leaked' group by size\"")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// SQL statement
    #[arg(value_name = "SQL")]
    statement: String,
    /// Write one JSON document per row; short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", value_parser = form())]
    format: Option<Form>,
}

/// Prints the answer.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Arguments { capture, statement, .. } = arguments;
    let form = if arguments.json { Form::Json } else { arguments.format.unwrap_or(Form::Text) };
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

fn form() -> impl TypedValueParser<Value = Form> {
    PossibleValuesParser::new(["text", "json", "csv"]).map(|name| match name.as_str() {
        "json" => Form::Json,
        "csv" => Form::Csv,
        _ => Form::Text,
    })
}
