//! The line that shows the progress of a recording.

use crate::terminal;
use analysis::format::{bytes, count, counted};
use collector::Progress as State;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Time between two updates.
pub(crate) const PERIOD: Duration = Duration::from_millis(500);

/// Columns assumed if the terminal's size is unknown.
const ASSUMED_WIDTH: usize = 80;

/// Draws the line on standard error, if that is a terminal in ordinary use.
#[derive(Debug)]
pub(crate) struct Progress {
    /// `None` if no line is wanted.
    last: Option<(Instant, u64)>,
    drawn: bool,
}

impl Progress {
    /// A line, unless `quiet` or nobody could see it.
    pub(crate) fn new(quiet: bool) -> Progress {
        let wanted = !quiet && stderr().is_terminal();
        Progress { last: wanted.then(|| (Instant::now(), 0)), drawn: false }
    }

    /// True if the line will be drawn, so that live bytes have to be counted.
    pub(crate) fn is_wanted(&self) -> bool {
        self.last.is_some()
    }

    /// Redraws the line when it is due, with the state at that time.
    pub(crate) fn show(&mut self, state: impl FnOnce() -> State) {
        let Some((when, events)) = self.last else { return };
        let passed = when.elapsed();
        if passed < PERIOD {
            return;
        }
        let state = state();
        self.last = Some((Instant::now(), state.events));
        if !terminal::progress_is_welcome() {
            return;
        }
        let rate = state.events.saturating_sub(events) as f64 / passed.as_secs_f64();
        let line: String =
            line(&state, rate).chars().take(terminal::width(stderr()).unwrap_or(ASSUMED_WIDTH) - 1).collect();
        // The cursor returns to the start of the line, so that the target's output overwrites it.
        let _ = write!(stderr().lock(), "\r{line}\x1b[K\r");
        self.drawn = true;
    }

    /// Removes the line.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) && terminal::progress_is_welcome() {
            let _ = write!(stderr().lock(), "\r\x1b[K");
        }
    }
}

/// The text of the line.
fn line(state: &State, rate: f64) -> String {
    let processes = match state.processes {
        0 | 1 => String::new(),
        processes => format!(", {}", counted(processes, "process")),
    };
    format!(
        "[recording] {} events/s, {} live, {} lost{processes}",
        count(rate.round() as i64),
        bytes(state.live_bytes.cast_signed()),
        count(state.lost),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check the text of the line, in suitable units.
    #[test]
    fn line_has_rate_live_bytes_and_loss() {
        let state = State { events: 0, live_bytes: 3 << 20, lost: 0, bytes: 0, processes: 1, threads: 1 };
        assert_eq!(line(&state, 1_234_567.0), "[recording] 1,234,567 events/s, 3.00 MiB live, 0 lost");
        let state = State { live_bytes: 999, lost: 12, processes: 3, ..state };
        assert_eq!(line(&state, 12.0), "[recording] 12 events/s, 999 B live, 12 lost, 3 processes");
    }
}
