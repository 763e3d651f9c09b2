//! `timeline`: the heap over time, drawn with block characters.
//!
//! ```text
//!  4.00 MiB ┤     ▂▄▆█
//!  2.00 MiB ┤  ▃▆██████▅
//!       0 B ┤▂████████████▃▃▃
//!           └────────────────
//!            0          1.20 s
//!        CPU│▁▁▂▂███████▁▁
//! ```

use super::escape::escape;
use super::estimate;
use super::headline::{span, warning_lines};
use super::line::print;
use super::style::{Role, Style};
use analysis::format::{bytes, count, counted, duration, percent};
use analysis::{Amount, Profile, Span, Spread, Timeline, Track, resident};
use capture::{CounterKind, Ended};
use engine::Loaded;
use std::io::{self, Write};

/// Rows of the drawing.
const HEIGHT: usize = 12;

/// Columns of the drawing without a terminal.
const WIDTH: usize = 72;

/// Columns of the scale.
const SCALE: usize = 12;

/// Columns of the drawing for this terminal, and so the most steps that the timeline should have.
pub fn timeline_steps(style: &Style) -> usize {
    style.width.map_or(WIDTH, |width| width.saturating_sub(SCALE)).clamp(16, 200)
}

/// Writes the drawing, and the numbers that it cannot show.
///
/// # Errors
/// Those of the writer.
pub fn timeline(out: &mut dyn Write, loaded: &Loaded, timeline: &Timeline, style: &Style) -> io::Result<()> {
    let profile = &loaded.profile;
    let file = escape(&loaded.source.file);
    let title = format!("{file}{}: {}", span(profile.span), peak(profile));
    writeln!(out, "{}", style.paint(Role::Heading, title))?;
    print(out, &warning_lines(loaded), style)?;
    let steps = &timeline.buckets;
    let top = steps.iter().map(|step| step.peak.bytes).max().unwrap_or(0).max(1);
    writeln!(out)?;
    for row in (0..HEIGHT).rev() {
        let scale = if row % 3 == 0 || row + 1 == HEIGHT { mark(top, row) } else { String::new() };
        let scale = style.paint(Role::Detail, format!("{scale:>10} ┤"));
        let line: String = steps.iter().map(|step| block(step.peak.bytes, top, row)).collect();
        writeln!(out, "{scale}{}", style.paint(Role::Value, line.trim_end()))?;
    }
    writeln!(out, "{:>10} └{}", "", "─".repeat(steps.len()))?;
    let (first, last) = (duration(timeline.start), duration(timeline.end_of(steps.len().saturating_sub(1))));
    let gap = steps.len().saturating_sub(first.len() + last.len()).max(1);
    writeln!(out, "{:>12}{}", "", style.paint(Role::Detail, format!("{first}{}{last}", " ".repeat(gap))))?;
    for track in &timeline.beside.tracks {
        strip(out, track, timeline, style)?;
    }
    let Profile { total, total_spread, .. } = profile;
    let calls = |amount, spread, noun| {
        format!("{} of {}", estimate::counted(amount, spread, noun), estimate::bytes(amount, spread))
    };
    let held = steps.last().map_or_else(Default::default, |step| step.held);
    // How far it is from what was held is not followed over time.
    let about = if profile.sampling.is_some() && !held.is_zero() { "about " } else { "" };
    writeln!(
        out,
        "\n{}, {}; {about}{} in {} held at the end{}; {} per step",
        calls(total.allocated, total_spread.allocated, "allocation"),
        calls(total.freed, total_spread.freed, "free"),
        bytes(held.bytes),
        counted(held.blocks, "block"),
        left(profile),
        duration(timeline.width)
    )?;
    of_kernel(out, loaded, timeline)
}

/// What ended processes did not free: it is no longer held, but was never freed.
fn left(profile: &Profile) -> String {
    let ended = profile.processes.iter().filter(|process| process.ended != Ended::Running);
    let (left, spread) = ended.fold((Amount::ZERO, Spread::ZERO), |(left, spread), process| {
        (left + process.cost.live(), spread + process.spread.live())
    });
    if profile.span != Span::Whole || left.is_zero() {
        return String::new();
    }
    format!(", {} left by ended processes", estimate::held(left, spread))
}

/// A one-row drawing of something apart from the heap.
fn strip(out: &mut dyn Write, track: &Track, timeline: &Timeline, style: &Style) -> io::Result<()> {
    let most = track.steps.iter().map(|step| step.blocks).max().unwrap_or(0);
    let top = track.top.unwrap_or(most).max(1);
    let line: String = track.steps.iter().map(|step| eighths(step.blocks, top, 1, 0)).collect();
    let name = escape(&track.name);
    let name = match track.top {
        Some(top) => {
            let sum = track.steps.iter().fold(0_i64, |sum, step| sum.saturating_add(step.blocks));
            let all = top.saturating_mul(i64::try_from(timeline.buckets.len()).unwrap_or(i64::MAX));
            format!("{name}, busy {} of the time", percent(sum, all))
        }
        None => format!("{name}, at most {} per step", count(most)),
    };
    writeln!(out, "{:>12}{}", "", style.paint(Role::Detail, name))?;
    writeln!(out, "{:>12}{}", "", style.paint(Role::Value, line.trim_end()))
}

/// The largest sizes of processes that were read in this time.
fn of_kernel(out: &mut dyn Write, loaded: &Loaded, timeline: &Timeline) -> io::Result<()> {
    let most = |kind| {
        let ends = (0..timeline.buckets.len()).map(|index| timeline.end_of(index));
        resident(&loaded.counters, kind, &loaded.tables.processes, ends).into_iter().max()
    };
    let Some(rss) = most(CounterKind::Rss) else { return Ok(()) };
    // Memory of less than a tenth of a second is in no reading.
    let mut text = format!("largest readings: {} resident (RSS)", bytes(rss));
    if let Some(pss) = most(CounterKind::Pss) {
        text += &format!(", {} proportional (PSS)", bytes(pss));
    }
    if let Some(swap) = most(CounterKind::Swap).filter(|swap| *swap > 0) {
        text += &format!(", {} swapped", bytes(swap));
    }
    writeln!(out, "{text}")
}

fn peak(profile: &Profile) -> String {
    let Profile { peak, total_spread, .. } = profile;
    format!("peak {} after {}", estimate::held(peak.held, total_spread.peak), duration(peak.at.time))
}

/// The label of a row's lower edge, or of the upper edge of the highest row.
fn mark(top: i64, row: usize) -> String {
    let part = if row + 1 == HEIGHT { HEIGHT } else { row };
    bytes((i128::from(top) * part as i128 / HEIGHT as i128) as i64)
}

/// The part of a cell that a number fills.
fn block(value: i64, top: i64, row: usize) -> char {
    eighths(value, top, HEIGHT, row)
}

/// The same for a drawing of this many rows, in eighths.
fn eighths(value: i64, top: i64, height: usize, row: usize) -> char {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    // Anything above zero must be visible: eighths are rounded up.
    let filled = (i128::from(value.max(0)) * (8 * height) as i128 + i128::from(top) - 1) / i128::from(top);
    let here = filled - (8 * row) as i128;
    EIGHTHS[here.clamp(0, 8) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a column is as high as its number, that the smallest number is visible, and that zero is not.
    #[test]
    fn columns_are_as_high_as_their_numbers() {
        let column = |value| (0..HEIGHT).map(|row| block(value, 96, row)).collect::<String>();
        assert_eq!(column(0).trim_end(), "");
        assert_eq!(column(1).trim_end(), "▁");
        assert_eq!(column(12).trim_end(), "█▄");
        assert_eq!(column(96), "█".repeat(12));
        assert_eq!(block(-5, i64::MAX, 0), ' ');
        assert_eq!(block(i64::MAX, i64::MAX, HEIGHT - 1), '█');
        assert_eq!([mark(96, 0), mark(96, 6), mark(96, 11)], ["0 B", "48 B", "96 B"]);
    }
}
