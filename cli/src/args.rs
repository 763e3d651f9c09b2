//! The command line.

#[cfg(feature = "sql")]
use crate::commands::query;
use crate::commands::{
    attach, check, completions, daemon, detach, diff, doctor, dump, export, failed, frees, header, history,
    html, import, info, install_agent, interactive, invalid_frees, leaks, lifetimes, lines, man_pages, mark,
    pages, preload_path, ps, push, reallocs, record, report, resident, retained, run, scan, serve, sizes,
    snapshot, temporary, threads, timeline, top,
};
use anstyle::{AnsiColor, Style};
use clap::builder::Styles;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

const HEADING: Style = AnsiColor::Green.on_default().bold();
const LITERAL: Style = AnsiColor::Cyan.on_default().bold();

const EXAMPLES: &str = "\
Examples:
  # Record a program and everything it starts
  sysprof-memprof run -- ./app --flag
  sysprof-memprof ./app
  sysprof-memprof run -o app.memprof -- ./app
  # Browse the capture in the terminal
  sysprof-memprof view app.memprof
  sysprof-memprof app.memprof
  # Who held the memory at the peak
  sysprof-memprof report app.memprof
  # What was still allocated at the end
  sysprof-memprof leaks app.memprof
  # What changed since a moment
  sysprof-memprof diff app.memprof --from 10s
  # The heap over time
  sysprof-memprof timeline app.memprof
  # A page for a browser; serve shows every range of time in detail
  sysprof-memprof html app.memprof
  sysprof-memprof serve app.memprof
  # Convert for other programs: go tool pprof, KCachegrind, browsers
  sysprof-memprof export --format pprof -o app.pb.gz app.memprof
  # Fail if anything leaks
  sysprof-memprof check app.memprof --max-leaked 0

  # List services that have the agent preloaded
  sysprof-memprof ps
  # Watch who holds and who allocates memory now
  sysprof-memprof top 4711
  # Record a process for a minute, or all of a name until ^C
  sysprof-memprof attach 4711 --duration 60s
  sysprof-memprof attach nginx
  # Name a moment of the recording, for report --at and diff
  sysprof-memprof mark 4711 before
  # Save what was recorded so far, and go on
  sysprof-memprof snapshot 4711 before

  # Record programs that are started by hand
  sysprof-memprof record --listen /tmp/memprof.sock -o all.memprof
  LD_PRELOAD=$(sysprof-memprof preload-path) \\
      SYSPROF_MEMPROF_SOCKET=/tmp/memprof.sock ./service

Without a command, a program is run and a capture is viewed, or reported if the
output is not a terminal.

Exit codes:
  of run: the target's own, or 128+N if signal N killed it
  0       success
  1       something failed; `check` or `run --check` found a rule broken, or
          `diff` found stacks that grew by more than --fail-over
  2       the capture cannot tell what `check`, `run --check` or
          `diff --fail-over` ask; wrong usage, a file that is not a capture,
          a program that cannot be recorded, an output that cannot be written
  3       the target succeeded, but its recording failed
  126     the target cannot be executed
  127     the target was not found

Environment:
  SYSPROF_MEMPROF_SOCKET       where a program with the agent preloaded finds
                               its recording: a path, or @name
  SYSPROF_MEMPROF_KEY          key with which a program of another user joins;
                               run sets it
  SYSPROF_MEMPROF_SAMPLE       for run and record: as --sample
  SYSPROF_MEMPROF_PAUSED       for run and record: 1 is --paused
  SYSPROF_MEMPROF_FREE_STACKS  for run and record: 1 is --free-stacks
  SYSPROF_MEMPROF_FOLLOW       for run: 0 is --no-follow
  SYSPROF_MEMPROF_MAX_DEPTH    for run and record: as --max-depth
  SYSPROF_MEMPROF_ON_FULL      for run and record: as --on-full
  SYSPROF_MEMPROF_RING_SIZE    for run and record: as --ring-size
  SYSPROF_MEMPROF_DISABLE      1 keeps a program with the agent preloaded from
                               being recorded
  SYSPROF_MEMPROF_INSIDE       0 leaves an allocator inside a program
                               unpatched, and unrecorded
  SYSPROF_MEMPROF_DIR          private folder for agent and doorbell, instead
                               of those under run, tmp and cache
  SYSPROF_MEMPROF_LOG          debug writes internal messages to standard error
  DEBUGINFOD_URLS              servers to ask for debug files when looking up
                               names
  XDG_CACHE_HOME               where indices of large captures and names are
                               kept, instead of ~/.cache
  VISUAL, EDITOR               editor in which view opens source lines
  COLUMNS                      width to cut lines to, instead of the terminal's;
                               without a terminal nothing is cut
  NO_COLOR                     no colours; they are used on terminals only";

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
    Start(daemon::Start),
    Stop(daemon::Stop),
    View(interactive::Arguments),
    Report(report::Arguments),
    Diff(diff::Arguments),
    Leaks(leaks::Arguments),
    Timeline(timeline::Arguments),
    Html(html::Arguments),
    Serve(serve::Arguments),
    Temporary(temporary::Arguments),
    Threads(threads::Arguments),
    Frees(frees::Arguments),
    Sizes(sizes::Arguments),
    Lifetimes(lifetimes::Arguments),
    Reallocs(reallocs::Arguments),
    Retained(retained::Arguments),
    Pages(pages::Arguments),
    Resident(resident::Arguments),
    Lines(lines::Arguments),
    History(history::Arguments),
    InvalidFrees(invalid_frees::Arguments),
    Failed(failed::Arguments),
    Check(check::Arguments),
    Info(info::Arguments),
    Dump(dump::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    Push(push::Arguments),
    #[cfg(feature = "sql")]
    Query(query::Arguments),
    Doctor(doctor::Arguments),
    Header(header::Arguments),
    PreloadPath(preload_path::Arguments),
    InstallAgent(install_agent::Install),
    UninstallAgent(install_agent::Uninstall),
    Completions(completions::Arguments),
    ManPages(man_pages::Arguments),
    /// A file without a command: a capture is shown, a program recorded.
    #[command(external_subcommand)]
    Open(Vec<OsString>),
}

/// Memory profiler for native Linux programs: records every allocation with its full stack, and shows who holds the
/// memory.
#[derive(Debug, Parser)]
#[command(
    name = "sysprof-memprof",
    arg_required_else_help = true,
    override_usage = "sysprof-memprof <COMMAND> [OPTIONS]\n       sysprof-memprof <CAPTURE>\n       sysprof-memprof <PROGRAM> [ARGUMENTS]",
    after_help = "See 'sysprof-memprof --help' for examples, exit codes and environment variables.",
    after_long_help = EXAMPLES,
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
pub(crate) fn parse_words(words: impl IntoIterator<Item = OsString>) -> Result<Command, clap::Error> {
    let matches = definition().try_get_matches_from(words)?;
    CommandLine::from_arg_matches(&matches).map(|line| line.command)
}

/// The definition, for parsing and for completions.
pub(crate) fn definition() -> clap::Command {
    CommandLine::command().version(version())
}

/// The versions that decide whether two parts work together.
fn version() -> &'static str {
    let text = format!(
        "{} (capture format {}, agent protocol {})",
        env!("CARGO_PKG_VERSION"),
        capture::VERSION,
        collector::PROTOCOL_VERSION
    );
    // Clap keeps a reference for as long as the program runs.
    Box::leak(text.into_boxed_str())
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
        for command in definition().get_subcommands().chain([&definition()]) {
            let texts = [command.get_after_help(), command.get_after_long_help()];
            for text in texts.into_iter().flatten().map(ToString::to_string) {
                for line in text.lines() {
                    assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
                }
            }
        }
    }

    /// Check that the examples name only commands that exist.
    #[test]
    fn examples_name_only_commands_that_exist() {
        let commands: Vec<_> =
            definition().get_subcommands().map(|command| command.get_name().to_string()).collect();
        for line in EXAMPLES.lines().filter_map(|line| line.trim().strip_prefix("sysprof-memprof ")) {
            let word = line.split_whitespace().next().unwrap();
            let is_file = word.contains('/') || word.contains('.');
            assert!(is_file || commands.iter().any(|command| command == word), "{word}");
        }
    }
}
