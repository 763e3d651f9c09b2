//! `help`: about a command, or a topic that concerns several.

use super::open::hint;
use crate::exit::{Failure, Outcome};
use crate::help::TOPICS;
use anyhow::anyhow;
use clap::{Args, Command};
use std::io::Write;
use std::process::ExitCode;

/// Show the options and examples of a command, or a topic
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof help report
  sysprof-memprof help environment")]
pub(crate) struct Arguments {
    /// A command, such as report or daemon start, or a topic: examples, exit-codes, environment
    #[arg(value_name = "COMMAND|TOPIC")]
    words: Vec<String>,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments, definition: Command) -> Outcome {
    let words = &arguments.words;
    if let [word] = words.as_slice()
        && let Some((_, text)) = TOPICS.iter().find(|(topic, _)| topic == word)
    {
        writeln!(std::io::stdout(), "{text}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut within = &definition;
    for word in words {
        within = within.find_subcommand(word).ok_or_else(|| unknown(word, within))?;
    }
    // What the command itself says of --help.
    let line = ["sysprof-memprof"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    if let Err(help) = definition.clone().try_get_matches_from(line) {
        help.print()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown(word: &str, within: &Command) -> Failure {
    let known = within.get_subcommands().map(Command::get_name);
    let hint = hint(word, known.chain(TOPICS.iter().map(|(topic, _)| *topic)));
    Failure::usage(anyhow!("there is no command or topic {word}.{hint}"))
}
