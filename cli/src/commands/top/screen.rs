//! `top` on a terminal: this thread reads and counts, another one draws.

use super::super::supervise::is_interrupted;
use super::pace::Pace;
use super::subject::Subject;
use super::{Arguments, SHORTEST, TURN};
use crate::exit::{FAILED, Failure};
use anstream::{AutoStream, ColorChoice};
use collector::attach::launch::Signals;
use engine::live::{By, Order, Reading};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use std::{io, thread};
use tui::{Command, Top};

/// Rows passed to the drawing thread: more than anybody looks through.
const ROWS: usize = 200;

/// Shows readings until the user leaves; true if the process has ended instead.
pub(super) fn show(arguments: &Arguments, subject: &mut Subject, signals: &Signals) -> Result<bool, Failure> {
    let (wishes, wished) = channel();
    let (to_screen, readings) = channel();
    let rows = arguments.rows();
    let pace = Pace::new(arguments.delay.max(SHORTEST));
    let options = Top {
        title: format!("top {}", subject.pid()),
        rows,
        color: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        readings,
        wishes,
    };
    thread::scope(|scope| {
        let screen = scope.spawn(|| tui::top(options, || is_interrupted(signals)));
        let read = read(subject, rows, pace, &wished, to_screen);
        let shown = screen.join().unwrap_or_else(|_| Err(io::Error::other("drawing has crashed")));
        shown.map_err(|error| Failure::new(FAILED, error))?;
        read
    })
}

/// Reads until the user wants to leave; true if the process has ended. Dropping `readings` at the end tells the
/// drawing thread.
fn read(
    subject: &mut Subject,
    (mut by, mut order): (By, Order),
    pace: Pace,
    wishes: &Receiver<Command>,
    readings: Sender<Reading>,
) -> Result<bool, Failure> {
    // The first numbers come soon, however long the user's delay.
    let mut due = Instant::now() + TURN.min(pace.after(Duration::ZERO));
    // Updates for newly found names are limited to a share of the time, too.
    let mut names_due = Instant::now();
    let names_pace = Pace::new(Duration::ZERO);
    loop {
        let mut is_wished = true;
        match wishes.recv_timeout(due.saturating_duration_since(Instant::now()).min(TURN)) {
            Ok(Command::Leave) | Err(RecvTimeoutError::Disconnected) => return Ok(false),
            Ok(Command::Sort(wished)) => order = wished,
            Ok(Command::By(wished)) => by = wished,
            Ok(Command::Reset) => subject.reset(),
            Err(RecvTimeoutError::Timeout) => is_wished = false,
        }
        subject.refresh()?;
        if subject.is_over() {
            return Ok(true);
        }
        let reading = if Instant::now() >= due {
            let begun = Instant::now();
            let reading = subject.quick_reading((by, order), ROWS);
            due = Instant::now() + pace.after(begun.elapsed());
            reading
        } else if is_wished || subject.is_naming() && Instant::now() >= names_due {
            let begun = Instant::now();
            let reading = subject.same_reading((by, order), ROWS);
            names_due = Instant::now() + names_pace.after(begun.elapsed());
            reading
        } else {
            continue;
        };
        if readings.send(reading).is_err() {
            return Ok(false);
        }
    }
}
