//! Views without options of their own: a command for each.

use super::blocks::BlocksArguments;
use crate::exit::Outcome;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use report::views::{VIEWS, View};

/// A view, and of what.
#[derive(Debug)]
pub(crate) struct Arguments {
    view: &'static View,
    blocks: BlocksArguments,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let Arguments { view, blocks } = arguments;
    let (loaded, document) = blocks.question(view.ask)?;
    blocks.print(&loaded, &document)
}

fn views() -> impl Iterator<Item = &'static View> {
    VIEWS.into_iter().filter(|view| !view.has_options)
}

impl Subcommand for Arguments {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(views().map(|view| {
            // The options come with a description of themselves.
            let command = BlocksArguments::augment_args(Command::new(view.id));
            command.about(view.about).long_about(format!("{}\n\n{}", view.about, view.more))
        }))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        views().any(|view| view.id == name)
    }
}

impl FromArgMatches for Arguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let view = View::named(name).ok_or_else(missing)?;
        Ok(Self { view, blocks: BlocksArguments::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
