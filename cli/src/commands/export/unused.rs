//! Refuses options that would have no effect on the export, so that nobody believes they had.

use super::Arguments;
use super::target::Target;
use crate::exit::Failure;
use viewer::Format;
use viewer::query::{Lens, Part, Query};

/// Fails if there is such an option.
pub(super) fn refuse(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { capture, format, by, min, limit, redact, stacks, question, .. } = arguments;
    let (name, is_copy) = (format.name(), *format == Target::Copy);
    let Query { part, filter, heap, tracepoint } = question.query();
    let lens = stacks.lens();
    let refusals = [
        (
            *redact && !is_copy,
            "only a copy of the capture can be redacted: --format memprof. It exports to all other formats, too."
                .to_owned(),
        ),
        (
            (min.is_some() || limit.is_some()) && !format.is_cut(),
            format!("--min and --limit are for drawings: {name} holds everything"),
        ),
        (
            (part != Part::Whole || !filter.is_empty()) && format.holds_events(),
            format!("{name} holds every event of a capture: it takes no part of it, and no choice of blocks"),
        ),
        (
            lens != Lens::default() && format.holds_events(),
            format!("{name} holds every event of a capture: it takes no choice of stacks, and no other look at them"),
        ),
        (
            lens.changes_stacks() && *format == Target::Document(Format::SymbolOrder),
            format!("{name} is of functions as they were linked: of the options about stacks it takes --filter only"),
        ),
        (
            by.is_some() && !format.takes_metric(),
            format!("--by changes nothing in {name}: leave it out, or use one of {}", with_metric()),
        ),
        (
            heap.is_some() && is_copy,
            "a copy of the capture has all heaps: leave --heap out, and give it where the copy is shown"
                .to_owned(),
        ),
        (
            tracepoint.is_some() && !format.takes_tracepoint(*by),
            match format {
                Target::Document(one) if one.holds_one_metric() => {
                    format!("--tracepoint changes nothing in {name} without --by traced: give both")
                }
                _ => format!("--tracepoint changes nothing in {name}: leave it out, or use pprof or csv"),
            },
        ),
        (
            capture.short_names && is_copy,
            "a copy of the capture has whole names: leave --short-names out, and give it where the copy is shown"
                .to_owned(),
        ),
    ];
    match refusals.into_iter().find(|(is_refused, _)| *is_refused) {
        Some((_, why)) => Err(Failure::usage(anyhow::Error::msg(why))),
        None => Ok(()),
    }
}

/// The formats that take a metric.
fn with_metric() -> String {
    let formats = Format::ALL.into_iter().filter(|format| format.takes_metric());
    formats.map(Format::name).collect::<Vec<_>>().join(", ")
}
