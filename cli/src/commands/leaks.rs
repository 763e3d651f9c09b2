//! `leaks`: what was still allocated at the end.

use super::formatting::Formatting;
use super::lens::LensArguments;
use super::opened_capture::Capture;
use super::selection::Selection;
use super::suppression::SuppressionArguments;
use crate::exit::Outcome;
use clap::Args;
use report::views;

/// Show what was still allocated at the end, by stack
///
/// A block that was never freed is not necessarily lost: the program may have kept a pointer to it until the end.
/// What libc, the loader and libstdc++ keep by design is left out, as is what the program lists in
/// `__lsan_default_suppressions`; what each rule has hidden is listed at the end.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof leaks app.memprof
  sysprof-memprof leaks app.memprof --unreachable
  sysprof-memprof leaks app.memprof --suppressions app.supp --older-than 1s
  sysprof-memprof leaks app.memprof --filter 'module:libparse*' --json")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Only blocks that were unreachable when their process was scanned, see `scan` and `run --scan-at-exit`
    #[arg(long, conflicts_with_all = ["at", "from", "to", "process", "heap", "thread", "size", "module", "during", "older_than"])]
    unreachable: bool,
    #[command(flatten)]
    formatting: Formatting,
    #[command(flatten)]
    stacks: LensArguments,
    #[command(flatten)]
    suppressions: SuppressionArguments,
    #[command(flatten)]
    selection: Selection,
}

/// Prints the leaks.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let suppressions = arguments.suppressions.read()?;
    let (capture, lens) = (&arguments.capture, arguments.stacks.lens());
    let loaded = match arguments.unreachable {
        true => capture.unreachable(&lens, &suppressions)?,
        false => capture.leaks(&arguments.selection.query(), &lens, &suppressions)?,
    };
    let formatting = &arguments.formatting;
    formatting.print(&loaded, &views::leaks(&loaded, formatting.limit(), formatting.format().readers()))
}
