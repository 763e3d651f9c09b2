//! What is said where there is nothing to show, and of what samples do not cover.

use crate::table::{Value, phrase};
use analysis::{Metric, Span};
use engine::Loaded;

/// What numbers are about, for a sentence that says that there are none.
pub fn subject(loaded: &Loaded) -> &'static str {
    match (&loaded.seen, loaded.profile.span) {
        (Some(_), _) => "this selection",
        (None, Span::Whole) => "this capture",
        (None, _) => "this part of the capture",
    }
}

/// That there is nothing to show, with what would help.
pub(crate) fn nothing(loaded: &Loaded, metric: Metric) -> Value {
    let samples = loaded.tables.summary.as_ref().map_or(0, |summary| summary.cpu.samples);
    if metric == Metric::Cpu && samples > 0 {
        return phrase![
            "Nothing to show: this selection has none of the ",
            Value::counted(samples, "CPU sample"),
            ". These have a thread, a stack and a time, but no size and no heap."
        ];
    }
    let metadata = &loaded.tables.metadata;
    let advice = match metric {
        Metric::Cpu if metadata.aggregate().is_some() => " It is aggregated: record without --aggregate.",
        // Only `run` samples without being told.
        Metric::Cpu if metadata.command.is_empty() => " attach, record and daemon take them with --cpu.",
        _ => "",
    };
    phrase!["Nothing to show: ", subject(loaded), " has no ", metric.what(), ".", advice]
}

/// What samples do not cover: work without samples, and truncated stacks.
pub(crate) fn unsampled(loaded: &Loaded) -> Vec<Value> {
    let Some(cpu) = loaded.tables.summary.as_ref().map(|summary| &summary.cpu) else { return Vec::new() };
    let refused = (!cpu.refused.is_empty()).then(|| Value::name(&cpu.refused));
    let truncated = (cpu.truncated > cpu.samples / 10).then(|| {
        phrase![
            Value::count(cpu.truncated),
            " of ",
            Value::counted(cpu.samples, "sample"),
            " have truncated stacks, below [truncated stack]: --cpu-stack 60K copies the most"
        ]
    });
    refused.into_iter().chain(truncated).collect()
}
