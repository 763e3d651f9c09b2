//! `generate`: files that belong to the command, for those who install or package it.

pub(crate) mod completions;
mod header;
pub(crate) mod man_pages;

use crate::exit::Outcome;
use clap::{Args, Command, Subcommand};

/// Write shell completions, manual pages, or the C header
#[derive(Args, Debug)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  sysprof-memprof generate completions bash
  sysprof-memprof generate man-pages man
  sysprof-memprof generate header > sysprof_memprof.h"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Completions(completions::Arguments),
    ManPages(man_pages::Arguments),
    Header(header::Arguments),
}

/// Writes what was asked for.
pub(crate) fn execute(arguments: &Arguments, definition: Command) -> Outcome {
    match &arguments.what {
        What::Completions(arguments) => completions::execute(arguments, definition),
        What::ManPages(arguments) => man_pages::execute(arguments, definition),
        What::Header(arguments) => header::execute(arguments),
    }
}
