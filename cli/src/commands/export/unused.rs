//! Refuses options that would have no effect on the export, so that nobody believes they had.

use super::Arguments;
use super::target::Target;
use crate::exit::Failure;
use analysis::query::{Part, Query};
use engine::lens::Lens;
use export::Format;

/// Fails if there is such an option.
pub(super) fn refuse(arguments: &Arguments, format: Target) -> Result<(), Failure> {
    let Arguments { capture, by, min, limit, redact, lines, stacks, selection, .. } = arguments;
    let (name, is_copy) = (format.name(), format == Target::Copy);
    let is_lines = matches!(format, Target::Events { .. });
    let Query { part, filter, heap } = selection.query();
    let lens = stacks.lens();
    #[cfg(feature = "parquet")]
    if arguments.dataset.is_some() && format != Target::Dataset {
        return Err(Failure::usage(anyhow::anyhow!("--dataset works with --format parquet only")));
    }
    let refusals = [
        (
            *redact && !is_copy,
            "--redact works with --format memprof only. Export the redacted copy to other formats."
                .to_owned(),
        ),
        (
            lines.are_given() && !is_lines,
            "--frames, --samples and --unwind work with --format events and events-json only".to_owned(),
        ),
        (
            lines.unwind && format != Target::Events { is_json: false },
            "--unwind works with --format events only".to_owned(),
        ),
        (
            (min.is_some() || limit.is_some()) && !format.is_cut(),
            format!("--min and --limit are for drawings: {name} holds everything"),
        ),
        (
            (part != Part::Whole || !filter.is_empty()) && format.holds_events(),
            format!(
                "{name} holds every event of a capture: leave out options that select a part of it, or blocks"
            ),
        ),
        (
            lens != Lens::default() && format.holds_events(),
            format!("{name} holds every event of a capture: leave out options that select or change stacks"),
        ),
        (
            by.is_some() && !format.takes_metric(),
            format!("--by changes nothing in {name}: leave it out, or use one of {}", with_metric()),
        ),
        (
            heap.is_some() && is_copy,
            "a copy of the capture has all heaps: leave --heap out, and give it when you view the copy"
                .to_owned(),
        ),
        (heap.is_some() && is_lines, format!("{name} has the events of all heaps: leave --heap out")),
        (
            capture.names.short_names && is_copy,
            "a copy of the capture has whole names: leave --short-names out, and give it when you view the \
             copy"
                .to_owned(),
        ),
    ];
    match refusals.into_iter().find(|(is_refused, _)| *is_refused) {
        Some((_, why)) => Err(Failure::usage(anyhow::Error::msg(why))),
        None => Ok(()),
    }
}

/// Fails if something is chosen of profiles that are sent as they are.
pub(super) fn refuse_choices(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { by, min, limit, redact, lines, stacks, selection, .. } = arguments;
    let chosen = by.is_some() || min.is_some() || limit.is_some() || *redact || lines.are_given();
    let Query { part, filter, heap } = selection.query();
    let is_part = part != Part::Whole || !filter.is_empty() || heap.is_some();
    if !chosen && !is_part && stacks.lens() == Lens::default() {
        return Ok(());
    }
    Err(Failure::usage(anyhow::anyhow!(
        "--push sends the profiles of a folder as they are: leave out options that say what is exported"
    )))
}

/// The formats that take a metric.
fn with_metric() -> String {
    let formats = Format::ALL.into_iter().filter(|format| format.takes_metric());
    formats.map(Format::name).collect::<Vec<_>>().join(", ")
}
