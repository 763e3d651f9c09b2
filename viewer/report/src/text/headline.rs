//! The line above a report, and the warnings about its numbers.

use super::cpu::CpuUnit;
use super::escape::escape;
use super::estimate;
use super::line::{Line, print};
use super::style::{Role, Style};
use analysis::format::{count, counted, counted as plain, duration, listed};
use analysis::{Amount, Instant, Metric, Profile, Span};
use capture::Lost;
use engine::suppression::Left;
use engine::{Loaded, Seen};
use std::io::{self, Write};

/// `app.memprof: 12.3 MiB in 4 blocks, held at the peak after 1.20 s`, and warnings.
pub(super) fn headline(
    out: &mut dyn Write,
    loaded: &Loaded,
    metric: Metric,
    style: &Style,
) -> io::Result<()> {
    print(out, &lines(loaded, metric), style)
}

/// The same as lines.
pub(super) fn lines(loaded: &Loaded, metric: Metric) -> Vec<Line> {
    let profile = &loaded.profile;
    let (amount, spread) = (metric.of(&profile.total), metric.of(&profile.total_spread));
    let size = estimate::bytes(amount, spread);
    let counted = |noun| estimate::counted(amount, spread, noun);
    let numbers = match metric {
        Metric::Peak => format!("{size} in {}, held {}", counted("block"), when_held(profile)),
        Metric::Leaked | Metric::Live => {
            let left = match loaded.reach {
                Some(_) => "unreachable when memory was scanned".to_owned(),
                None if is_held(profile, amount) => "still held when the recording ended".to_owned(),
                None => format!("still allocated {}", when_left(profile.span)),
            };
            format!("{size} in {}, {left}", counted("block"))
        }
        Metric::Bytes => format!("{size} in {}", counted("allocation")),
        Metric::Allocations => format!("{} of {size}", counted("allocation")),
        Metric::Temporary => format!("{} of {size}", counted("temporary allocation")),
        Metric::Frees => format!("{} of {size}", counted("free")),
        Metric::Cpu => format!("{}, {}", plain(amount.blocks, "CPU sample"), cpu_time(loaded, amount)),
    };
    let mut lines = vec![vec![(Role::Heading, format!("{}: {numbers}", scope(loaded)))]];
    lines.extend(loaded.seen.as_ref().and_then(|seen| hidden(loaded, seen, metric)));
    if metric == Metric::Leaked && loaded.seen.is_none() && loaded.suppressed.is_none() {
        lines.extend(suppressed(loaded));
    }
    lines.extend(warning_lines(loaded));
    if metric == Metric::Cpu {
        lines.extend(unsampled_lines(loaded));
    }
    lines
}

/// How much of what was left `leaks` suppresses, so that its number is the same.
fn suppressed(loaded: &Loaded) -> Option<Line> {
    if loaded.profile.span != Span::Whole || loaded.reach.is_some() {
        return None;
    }
    let (hidden, spread) = Left::of(loaded).suppressed;
    let text = || format!("  including {} that leaks suppresses", estimate::held(hidden, spread));
    (!hidden.is_zero()).then(|| vec![(Role::Detail, text())])
}

/// Writes what the samples do not cover, and what to do about it.
pub(super) fn unsampled(out: &mut dyn Write, loaded: &Loaded, style: &Style) -> io::Result<()> {
    print(out, &unsampled_lines(loaded), style)
}

fn unsampled_lines(loaded: &Loaded) -> Vec<Line> {
    unsampled_texts(loaded).into_iter().map(warning).collect()
}

pub(super) fn warning(text: String) -> Line {
    vec![(Role::Warning, format!("warning: {text}"))]
}

/// What samples do not cover, a line each: work without samples, and truncated stacks.
pub fn unsampled_texts(loaded: &Loaded) -> Vec<String> {
    let Some(cpu) = loaded.tables.summary.as_ref().map(|summary| &summary.cpu) else { return Vec::new() };
    let mut texts = Vec::new();
    if !cpu.refused.is_empty() {
        texts.push(escape(&cpu.refused).into_owned());
    }
    if cpu.truncated > cpu.samples / 10 {
        texts.push(format!(
            "{} of {} have truncated stacks, below [truncated stack]: --cpu-stack 60K copies the most",
            count(cpu.truncated),
            plain(cpu.samples, "sample")
        ));
    }
    texts
}

/// What the numbers are about: the file, the heap if it is one of the program's own, and the part of the time.
pub fn scope(loaded: &Loaded) -> String {
    let heap = loaded.heap_name().map_or(String::new(), |heap| format!(", heap {}", escape(heap)));
    format!("{}{heap}{}", escape(&loaded.source.file), span(loaded.profile.span))
}

/// The part of the capture that the numbers are about, unless it is the whole.
pub(super) fn span(span: Span) -> String {
    match span {
        Span::Whole => String::new(),
        Span::At(at) => format!(" at {}", duration(at.time)),
        Span::Range { from, to } => format!(" from {} to {}", duration(from.time), duration(to.time)),
    }
}

fn when_held(profile: &Profile) -> String {
    match profile.span {
        Span::At(_) => "then".to_owned(),
        Span::Whole => format!("at the peak after {}", duration(profile.peak.at.time)),
        Span::Range { .. } => format!("at the peak of this range, after {}", duration(profile.peak.at.time)),
    }
}

/// True when processes that still run hold all of what was left.
fn is_held(profile: &Profile, left: Amount) -> bool {
    profile.span == Span::Whole && !left.is_zero() && profile.still_running() == left
}

fn when_left(span: Span) -> &'static str {
    match span {
        Span::Whole => "at exit",
        Span::At(_) => "then",
        Span::Range { .. } => "at the end of this range, which allocated them",
    }
}

/// Why the end of blocks is uncertain.
pub(super) fn interruption(gaps: u64, pauses: u64) -> &'static str {
    match (gaps, pauses) {
        (_, 0) => "a gap",
        (0, _) => "a pause",
        _ => "a gap or a pause",
    }
}

fn cpu_time(loaded: &Loaded, amount: Amount) -> String {
    CpuUnit::of(loaded).of_weight(amount.bytes)
}

/// What a filter, or the selection of functions, leaves out.
fn hidden(loaded: &Loaded, seen: &Seen, metric: Metric) -> Option<Line> {
    let (amount, spread) = (metric.of(&seen.hidden), metric.of(&seen.hidden_spread));
    let sized =
        |noun| format!("{} in {}", estimate::bytes(amount, spread), estimate::counted(amount, spread, noun));
    let numbers = match metric {
        Metric::Cpu => format!("{}, {}", plain(amount.blocks, "sample"), cpu_time(loaded, amount)),
        Metric::Bytes | Metric::Allocations | Metric::Temporary => sized("allocation"),
        Metric::Frees => sized("free"),
        Metric::Peak | Metric::Leaked | Metric::Live => sized("block"),
    };
    let text = match &seen.filter {
        Some(filter) => format!("  only: {}; not shown: {numbers}", escape(filter)),
        None if amount.is_zero() => return None,
        None => format!("  not shown: {numbers}"),
    };
    Some(vec![(Role::Detail, text)])
}

/// Writes one line saying that numbers are estimates, if so, then one for each reason why they may be too low.
pub(super) fn warnings(out: &mut dyn Write, loaded: &Loaded, style: &Style) -> io::Result<()> {
    print(out, &warning_lines(loaded), style)
}

/// The same as lines.
pub(super) fn warning_lines(loaded: &Loaded) -> Vec<Line> {
    let notes = estimate::note(loaded).into_iter().chain(snapshot_note(loaded));
    notes.chain(warning_texts(loaded).into_iter().map(warning)).collect()
}

/// What numbers are about, for a sentence that says that there are none.
pub fn subject(loaded: &Loaded) -> &'static str {
    match (&loaded.seen, loaded.profile.span) {
        (Some(_), _) => "this selection",
        (None, Span::Whole) => "this capture",
        (None, _) => "this part of the capture",
    }
}

/// Writes one line when there is nothing to show, with what would help.
pub(super) fn nothing(out: &mut dyn Write, loaded: &Loaded, metric: Metric) -> io::Result<()> {
    let samples = loaded.tables.summary.as_ref().map_or(0, |summary| summary.cpu.samples);
    if metric == Metric::Cpu && samples > 0 {
        return writeln!(
            out,
            "Nothing to show: this selection has none of the {}. These have a thread, a stack and a time, but no size \
             and no heap.",
            plain(samples, "CPU sample")
        );
    }
    let metadata = &loaded.tables.metadata;
    let advice = match metric {
        Metric::Cpu if metadata.aggregate().is_some() => " It is aggregated: record without --aggregate.",
        // Only `run` samples without being told.
        Metric::Cpu if metadata.command.is_empty() => " attach, record and daemon take them with --cpu.",
        _ => "",
    };
    writeln!(out, "Nothing to show: {} has no {}.{advice}", subject(loaded), metric.what())
}

/// Which snapshots of an aggregated capture are shown.
pub(super) fn snapshot_note(loaded: &Loaded) -> Option<Line> {
    loaded.tables.metadata.aggregate()?;
    let text = match loaded.profile.span {
        Span::Whole => return None,
        Span::At(at) if at.position == 0 => {
            "  aggregated: no snapshot at or before that moment; this is the start of the recording"
        }
        Span::At(_) => "  aggregated: this is the last snapshot at or before that moment",
        Span::Range { .. } => {
            "  aggregated: these are the last snapshots at or before those moments; 'still allocated' is the growth of each \
             stack between them"
        }
    };
    Some(vec![(Role::Detail, text.to_owned())])
}

/// A note that a moment is after the end of the recording, whose final state is shown instead. None if both are
/// displayed as the same time, since people copy the end from there.
pub(super) fn after_end(at: Instant, end: u64) -> Option<String> {
    let (asked, ended) = (duration(at.time), duration(end));
    (at.time > end && asked != ended)
        .then(|| format!("{asked} is after the end of the recording: this is its end, after {ended}"))
}

/// The same for the part that is shown.
fn part_after_end(loaded: &Loaded) -> Option<String> {
    let end = loaded.ended()?;
    match loaded.profile.span {
        Span::Whole => None,
        Span::At(at) => after_end(at, end),
        Span::Range { from, .. } if from.time > end => {
            Some(format!("this range begins after the end of the recording, {}", duration(end)))
        }
        Span::Range { to, .. } => {
            let part = format!("this range extends beyond the end of the recording, {}", duration(end));
            after_end(to, end).map(|_| part)
        }
    }
}

/// What documents without room for more say of their numbers: the filter, whether they are estimates, and the warnings.
pub fn caveats(loaded: &Loaded) -> Vec<String> {
    let filter = loaded.seen.as_ref().and_then(|seen| seen.filter.as_ref());
    let filter = filter.map(|filter| format!("only: {}", escape(filter)));
    filter.into_iter().chain(estimate::sampled(loaded)).chain(warning_texts(loaded)).collect()
}

/// Why numbers may be too low, as far as events are missing.
pub(super) fn counted_losses(lost: &[Lost]) -> Vec<String> {
    let mut warnings = Vec::new();
    for lost in lost.iter().filter(|lost| lost.events > 0) {
        let advice =
            if lost.advice.is_empty() { String::new() } else { format!("; {}", escape(&lost.advice)) };
        warnings.push(format!("{} lost ({}){advice}", counted(lost.events, "event"), escape(&lost.reason)));
    }
    warnings
}

/// Most processes that a remark names; the JSON of `info` has all.
const MOST_NAMED: usize = 10;

/// The remarks of the recording, and the processes that were still running when it ended.
pub(super) fn remark_texts(loaded: &Loaded) -> Vec<String> {
    let Some(summary) = &loaded.tables.summary else { return Vec::new() };
    let unrecorded = &summary.unrecorded;
    let ran_on = (!unrecorded.is_empty())
        .then(|| format!("still running when the recording ended: {}", listed(unrecorded, MOST_NAMED)));
    summary.remarks.iter().cloned().chain(ran_on).collect()
}

/// A moment for people.
pub(super) fn span_at(at: Instant) -> String {
    duration(at.time)
}

/// Names in options that match nothing, a sentence each.
pub(super) fn unmatched_texts(seen: Option<&Seen>) -> impl Iterator<Item = String> {
    let unmatched = seen.into_iter().flat_map(|seen| &seen.unmatched);
    unmatched.map(|unmatched| escape(&unmatched.to_string()).into_owned())
}

/// What the reader of a view is warned of, a sentence each.
pub fn warning_texts(loaded: &Loaded) -> Vec<String> {
    let profile = &loaded.profile;
    let anomalies = profile.anomalies();
    let mut warnings: Vec<String> = unmatched_texts(loaded.seen.as_ref()).collect();
    warnings.extend(part_after_end(loaded));
    if let Some(cut) = &loaded.source.cut {
        warnings
            .push(format!("the file is incomplete ({}); numbers cover the part before that", escape(cut)));
    }
    warnings.extend(counted_losses(loaded.lost()));
    if anomalies.conflicts > 0 {
        let blocks = counted(anomalies.conflicts, "block");
        warnings.push(format!(
            "{blocks} without a recorded free, whose addresses were allocated again: freed by a function that is not \
             recorded, or two threads' events are in an ambiguous order. So it cannot be told which blocks are leaked \
             and which frees invalid; query calls them 'displaced'"
        ));
    }
    if profile.stray_events > 0 {
        let events = counted(profile.stray_events, "event");
        warnings.push(format!("{events} from unknown threads or ended processes not counted"));
    }
    if profile.stray_samples > 0 {
        let samples = counted(profile.stray_samples, "sample");
        warnings.push(format!("{samples} from unknown processes not counted"));
    }
    if let Some(cpu) = loaded.tables.summary.as_ref().map(|summary| &summary.cpu).filter(|cpu| cpu.lost > 0) {
        let samples = counted(cpu.lost, "CPU sample");
        warnings.push(format!(
            "{samples} lost: the kernel's buffer was full; use a lower --frequency or a smaller --cpu-stack"
        ));
    }
    if loaded.source.unknown_chunks > 0 {
        let chunks = counted(loaded.source.unknown_chunks, "chunk");
        warnings.push(format!("{chunks} from a newer version skipped"));
    }
    warnings
}
