//! The command line: its definition, and which function executes which command.

#[cfg(feature = "sql")]
use crate::commands::query;
use crate::commands::{
    agent, attach, blocks, check, daemon, detach, diff, doctor, errors, export, frees, generate, help,
    history, html, import, info, leaks, mark, open, pages, ps, record, report, retained, run, scan, serve,
    snapshot, timeline, top, view,
};
use crate::exit::{Failure, Outcome};
use crate::help as topics;
use crate::version;
use anstyle::{AnsiColor, Style};
use clap::builder::Styles;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

const HEADING: Style = AnsiColor::Green.on_default().bold();
const LITERAL: Style = AnsiColor::Cyan.on_default().bold();

/// What the user wants.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::Arguments),
    Record(record::Arguments),
    Ps(ps::Arguments),
    Attach(attach::Arguments),
    Detach(detach::Arguments),
    Top(top::Arguments),
    Mark(mark::Arguments),
    Scan(scan::Arguments),
    Snapshot(snapshot::Arguments),
    Daemon(daemon::Arguments),
    View(view::Arguments),
    Report(report::Arguments),
    Diff(diff::Arguments),
    Leaks(leaks::Arguments),
    Timeline(timeline::Arguments),
    Html(html::Arguments),
    Serve(serve::Arguments),
    Blocks(blocks::Arguments),
    Frees(frees::Arguments),
    Retained(retained::Arguments),
    Pages(pages::Arguments),
    History(history::Arguments),
    Errors(errors::Arguments),
    Check(check::Arguments),
    Info(info::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    #[cfg(feature = "sql")]
    Query(query::Arguments),
    Doctor(doctor::Arguments),
    Agent(agent::Arguments),
    Generate(generate::Arguments),
    Help(help::Arguments),
    /// A file without a command: a capture is shown, a program recorded.
    #[command(external_subcommand)]
    Open(Vec<OsString>),
}

/// Memory profiler for native Linux programs: who allocates, and who holds memory
#[derive(Debug, Parser)]
#[command(
    name = "sysprof-memprof",
    arg_required_else_help = true,
    disable_help_subcommand = true,
    override_usage = "sysprof-memprof <COMMAND|CAPTURE|PROGRAM> [OPTIONS|ARGUMENTS]",
    max_term_width = 110,
    styles = Styles::styled().header(HEADING).usage(HEADING).literal(LITERAL),
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// Parses the command line of this process. Help and errors are written here; the error is the exit code for them.
pub(crate) fn parse() -> Result<Command, ExitCode> {
    parse_words(std::env::args_os()).map_err(|error| {
        // If the output is closed, nobody needs the help.
        let _ = error.print();
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(crate::exit::USAGE))
    })
}

/// Parses a command line whose first word is the program's name.
fn parse_words(words: impl IntoIterator<Item = OsString>) -> Result<Command, clap::Error> {
    let matches = definition().try_get_matches_from(words)?;
    CommandLine::from_arg_matches(&matches).map(|line| line.command)
}

/// Executes the command.
pub(crate) fn execute(command: Command) -> Outcome {
    match command {
        Command::Run(arguments) => apart(run::execute, arguments),
        Command::Record(arguments) => apart(record::execute, arguments),
        Command::Ps(arguments) => apart(ps::execute, &arguments),
        Command::Attach(arguments) => apart(attach::execute, &arguments),
        Command::Detach(arguments) => apart(detach::execute, &arguments),
        Command::Daemon(arguments) => apart(daemon::execute, arguments),
        Command::Top(arguments) => apart(top::execute, &arguments),
        Command::Mark(arguments) => apart(mark::execute, &arguments),
        Command::Scan(arguments) => apart(scan::execute, &arguments),
        Command::Snapshot(arguments) => apart(snapshot::execute, &arguments),
        Command::View(arguments) => apart(view::execute, &arguments),
        Command::Report(arguments) => apart(report::execute, &arguments),
        Command::Diff(arguments) => apart(diff::execute, &arguments),
        Command::Leaks(arguments) => apart(leaks::execute, &arguments),
        Command::Timeline(arguments) => apart(timeline::execute, &arguments),
        Command::Html(arguments) => apart(html::execute, &arguments),
        Command::Serve(arguments) => apart(serve::execute, &arguments),
        Command::Blocks(arguments) => apart(blocks::execute, &arguments),
        Command::Frees(arguments) => apart(frees::execute, &arguments),
        Command::Retained(arguments) => apart(retained::execute, &arguments),
        Command::Pages(arguments) => apart(pages::execute, &arguments),
        Command::Errors(arguments) => apart(errors::execute, &arguments),
        Command::History(arguments) => apart(history::execute, &arguments),
        Command::Check(arguments) => apart(check::execute, &arguments),
        Command::Import(arguments) => apart(import::execute, &arguments),
        Command::Info(arguments) => apart(info::execute, &arguments),
        Command::Export(arguments) => apart(export::execute, &arguments),
        #[cfg(feature = "sql")]
        Command::Query(arguments) => apart(query::execute, &arguments),
        Command::Doctor(arguments) => apart(doctor::execute, &arguments),
        Command::Agent(arguments) => apart(agent::execute, &arguments),
        Command::Generate(arguments) => generate::execute(&arguments, definition()),
        Command::Help(arguments) => help::execute(&arguments, definition()),
        // The only remaining error is extra words after a capture.
        Command::Open(words) => {
            let commands: Vec<_> =
                definition().get_subcommands().map(|one| one.get_name().to_owned()).collect();
            execute(parse_words(open::command_line(words, &commands)?).map_err(Failure::usage)?)
        }
    }
}

/// Runs a command in a stack frame of its own. Inlined into [`execute`], the variables of all commands would share
/// one frame.
#[inline(never)]
fn apart<A>(command: fn(A) -> Outcome, arguments: A) -> Outcome {
    command(arguments)
}

/// The definition, for parsing and for completions.
fn definition() -> clap::Command {
    let command = CommandLine::command().version(version::text());
    let template = topics::template(&command, HEADING, LITERAL);
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that clap finds no fault in the definition.
    #[test]
    fn definition_is_sound() {
        definition().debug_assert();
    }

    /// Check that terminals of 80 columns do not wrap examples and tables.
    #[test]
    fn text_below_options_fits_80_columns() {
        let definition = definition();
        let texts = definition.get_subcommands().filter_map(clap::Command::get_after_help);
        for text in texts.map(ToString::to_string).chain([topics::topics()]) {
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }

    /// Check that the list of commands has each of them once, under a heading, and takes two screens of 24 lines of 80
    /// columns, whether long help was asked for or short.
    #[test]
    fn every_command_stands_under_a_heading() {
        let grouped = topics::GROUPS.iter().flat_map(|(_, commands)| *commands).copied();
        let mut grouped: Vec<&str> = grouped.chain(["help"]).collect();
        let mut command = definition();
        let help = command.render_help().to_string();
        assert_eq!(command.render_long_help().to_string(), help);
        assert!(help.lines().count() <= 48 && help.lines().all(|line| line.chars().count() <= 80), "{help}");
        let mut commands: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        commands.sort_unstable();
        assert_eq!(grouped, commands);
    }

    /// Check that the examples name only commands that exist.
    #[test]
    fn examples_name_only_commands_that_exist() {
        let commands: Vec<_> =
            definition().get_subcommands().map(|command| command.get_name().to_string()).collect();
        for line in topics::topics().lines().filter_map(|line| line.trim().strip_prefix("sysprof-memprof ")) {
            let word = line.split_whitespace().next().unwrap();
            let is_file = word.contains('/') || word.contains('.');
            assert!(is_file || commands.iter().any(|command| command == word), "{word}");
        }
    }

    /// Check that a word which is no command is answered with words that are one, with options that this has.
    #[test]
    fn other_words_lead_to_commands() {
        let definition = definition();
        for (word, instead) in open::OTHER_WORDS {
            assert!(definition.find_subcommand(word).is_none(), "{word}");
            let line = format!("sysprof-memprof {instead} --help");
            let error = parse_words(line.split(' ').map(OsString::from)).unwrap_err();
            assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{instead}: {error}");
        }
    }

    /// Check that each command has a page under the name that `man` looks for, with its options and its own usage
    /// line.
    #[test]
    fn every_command_has_a_page() {
        let pages = generate::man_pages::pages(definition()).unwrap();
        let (first, _) = &pages[0];
        assert_eq!(first, "sysprof-memprof.1");
        for command in definition().get_subcommands() {
            let name = format!("sysprof-memprof-{}.1", command.get_name());
            let page = pages.iter().find(|(page, _)| *page == name).unwrap_or_else(|| panic!("{name}"));
            let text = String::from_utf8(page.1.clone()).unwrap();
            let shown = command.get_arguments().filter(|option| !option.is_hide_set());
            for option in shown.filter_map(|option| option.get_long()) {
                let option = format!("\\-\\-{}", option.replace('-', "\\-"));
                assert!(text.contains(&option), "{name} has {option}: {text}");
            }
            for section in [".TH", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS"] {
                assert!(text.contains(section), "{name} has {section}: {text}");
            }
            for within in command.get_subcommands() {
                let name = format!("sysprof-memprof-{}-{}.1", command.get_name(), within.get_name());
                assert!(pages.iter().any(|(page, _)| *page == name), "{name}");
            }
        }
    }
}
