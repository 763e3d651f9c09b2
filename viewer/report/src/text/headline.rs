//! The line above a report, and the warnings about its numbers.

use super::cpu::cpu;
use super::escape::escape;
use super::estimate;
use super::line::Line;
use super::style::Role;
use super::words::words;
use crate::table::Value;
use crate::views::{after_end, losses, outside_of_heap, snapshot_note, unsampled};
use analysis::format::{counted, counted as plain, duration};
use analysis::{Amount, Metric, Profile, Span, seems_later};
use engine::suppression::Left;
use engine::{Loaded, Seen};

/// `app.memprof: 12.3 MiB in 4 blocks, held at the peak after 1.20 s`, and warnings.
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
        Metric::Cpu => format!("{}, {}", plain(amount.blocks, "CPU sample"), cpu(loaded, amount.bytes)),
    };
    let mut lines = vec![vec![(Role::Heading, format!("{}: {numbers}", scope(loaded)))]];
    lines.extend(loaded.seen.as_ref().and_then(|seen| hidden(loaded, seen, metric)));
    lines.extend(suppressed_text(loaded, metric).map(|text| vec![(Role::Detail, format!("  {text}"))]));
    lines.extend(warning_lines(loaded));
    if metric == Metric::Cpu {
        lines.extend(unsampled_texts(loaded).into_iter().map(warning));
    }
    lines
}

/// How much of what was left `leaks` suppresses, so that its number is the same; none where that is nothing, or
/// something else is shown.
pub fn suppressed_text(loaded: &Loaded, metric: Metric) -> Option<String> {
    let is_all_left = metric == Metric::Leaked && loaded.seen.is_none() && loaded.suppressed.is_none();
    if !is_all_left || loaded.profile.span != Span::Whole || loaded.reach.is_some() {
        return None;
    }
    let (hidden, spread) = Left::of(loaded).suppressed;
    (!hidden.is_zero()).then(|| format!("including {} that leaks suppresses", estimate::held(hidden, spread)))
}

/// What samples do not cover, a line each.
pub fn unsampled_texts(loaded: &Loaded) -> Vec<String> {
    unsampled(loaded).iter().map(|text| words(loaded, text, usize::MAX)).collect()
}

/// What was mapped apart from the heap, if that is more; a sentence.
pub fn pages_text(loaded: &Loaded) -> Option<String> {
    outside_of_heap(loaded).map(|text| words(loaded, &text, usize::MAX))
}

pub(super) fn warning(text: String) -> Line {
    vec![(Role::Warning, format!("warning: {text}"))]
}

/// What the numbers are about: the file, the heap if it is one of the program's own, and the part of the time.
pub fn scope(loaded: &Loaded) -> String {
    let heap = loaded.heap_name().map_or(String::new(), |heap| format!(", heap {}", escape(heap)));
    let part = match (loaded.profile.others, loaded.profile.span) {
        (0, part) => span(part),
        (_, Span::Whole) => String::new(),
        // These are different times in each.
        (_, Span::At(_)) => " at that moment of each".to_owned(),
        (_, Span::Range { .. }) => " between those moments of each".to_owned(),
    };
    format!("{}{heap}{part}", escape(&loaded.source.file))
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
        _ if profile.others > 0 => "at the peak of each".to_owned(),
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

/// What a filter, or the selection of functions, leaves out.
fn hidden(loaded: &Loaded, seen: &Seen, metric: Metric) -> Option<Line> {
    let (amount, spread) = (metric.of(&seen.hidden), metric.of(&seen.hidden_spread));
    let sized =
        |noun| format!("{} in {}", estimate::bytes(amount, spread), estimate::counted(amount, spread, noun));
    let numbers = match metric {
        Metric::Cpu => format!("{}, {}", plain(amount.blocks, "sample"), cpu(loaded, amount.bytes)),
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

/// One line saying that numbers are estimates, if so, then one for each reason why they may be too low.
pub(super) fn warning_lines(loaded: &Loaded) -> Vec<Line> {
    let snapshot = snapshot_note(loaded).map(|text| vec![(Role::Detail, format!("  {text}"))]);
    let notes = estimate::note(loaded).into_iter().chain(snapshot);
    notes.chain(warning_texts(loaded).into_iter().map(warning)).collect()
}

/// That the part which is shown is after the end of the recording.
fn part_after_end(loaded: &Loaded) -> Option<String> {
    let end = loaded.ended().filter(|_| loaded.profile.others == 0)?;
    let said = |text: Value| words(loaded, &text, usize::MAX);
    match loaded.profile.span {
        Span::Whole => None,
        Span::At(at) => after_end(at, end).map(said),
        Span::Range { from, .. } if from.time > end => {
            Some(format!("this range begins after the end of the recording, {}", duration(end)))
        }
        Span::Range { to, .. } => {
            let part = || format!("this range extends beyond the end of the recording, {}", duration(end));
            seems_later(to.time, end).then(part)
        }
    }
}

/// What documents without room for more say of their numbers: the filter, whether they are estimates, and the warnings.
pub fn caveats(loaded: &Loaded) -> Vec<String> {
    let filter = loaded.seen.as_ref().and_then(|seen| seen.filter.as_ref());
    let filter = filter.map(|filter| format!("only: {}", escape(filter)));
    filter.into_iter().chain(estimate::sampled(loaded)).chain(warning_texts(loaded)).collect()
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
        let file = if profile.others > 0 { "a file" } else { "the file" };
        warnings.push(format!("{file} is incomplete ({}); numbers cover the part before that", escape(cut)));
    }
    warnings.extend(losses(loaded.lost()).map(|loss| words(loaded, &loss, usize::MAX)));
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
