//! The list of commands, and the topics that `help` has beside them.

use anstyle::Style;
use std::fmt::Write;

/// The commands, by what they are for; `help` stands below.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Record a program", &["run", "record"]),
    ("Record services", &["ps", "attach", "detach", "top", "mark", "scan", "snapshot", "daemon"]),
    ("Look at a capture", &["view", "report", "leaks", "timeline", "html", "serve", "info"]),
    ("Look closer", &["blocks", "frees", "history", "retained", "pages", "errors", "query"]),
    ("Compare and convert", &["diff", "check", "export", "import"]),
    ("Set up", &["doctor", "agent", "generate"]),
];

/// What there is help on, beside commands: its word, and the text.
pub(crate) const TOPICS: &[(&str, &str)] =
    &[("examples", EXAMPLES), ("exit-codes", EXIT_CODES), ("environment", ENVIRONMENT)];

/// Where more is told, below the list.
const MORE: &str = "\
More: sysprof-memprof help COMMAND, or help examples, help exit-codes,
help environment. -V prints the version.
";

/// The template of the help of the command as a whole, with its commands under headings: two screens.
pub(crate) fn template(command: &clap::Command, heading: Style, literal: Style) -> String {
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{heading}{title}:{heading:#}");
        for name in *names {
            let about =
                command.find_subcommand(name).and_then(|one| one.get_about()).cloned().unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<WIDTH$}{literal:#}  {about}");
        }
    }
    let _ = write!(text, "\n{MORE}");
    text
}

/// The longest name of a command.
const WIDTH: usize = "retained".len();

/// The topics in one text, for the manual page.
pub(crate) fn topics() -> String {
    TOPICS.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n\n")
}

/// What to type for what, first of all.
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
  LD_PRELOAD=$(sysprof-memprof agent path) \\
      SYSPROF_MEMPROF_SOCKET=/tmp/memprof.sock ./service

Without a command, a program is run and a capture is viewed, or reported if the
output is not a terminal.";

/// What the exit codes mean.
const EXIT_CODES: &str = "\
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
  127     the target was not found";

/// Variables that are read.
const ENVIRONMENT: &str = "\
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
