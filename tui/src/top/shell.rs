//! Connects terminal and model.

use super::draw::draw;
use super::model::Model;
use super::update::{Command, press};
use crate::draw::Theme;
use crate::shell::terminal::{Screen, wait};
use engine::live::{By, Order, Reading};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::layout::Rect;
use report::text::escape;
use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

/// Longest wait for a key before looking for readings.
const TURN: Duration = Duration::from_millis(50);

/// What to show, and how.
pub struct Top {
    /// The window's title.
    pub title: String,
    /// What rows stand for, and their order.
    pub rows: (By, Order),
    /// Use colours.
    pub color: bool,
    /// Readings to show, each as soon as it arrives. The channel closes when the process has ended.
    pub readings: Receiver<Reading>,
    /// Where the user's wishes go.
    pub wishes: Sender<Command>,
}

/// Shows readings until the user leaves, there are no more, or `is_interrupted` returns true; it is called often. The
/// last wish is then to leave.
///
/// # Errors
/// Those of the terminal.
pub fn top(options: Top, is_interrupted: impl Fn() -> bool) -> io::Result<()> {
    let Top { title, rows, color, readings, wishes } = options;
    let shown = show((&escape(&title), rows, Theme { color }), &readings, &wishes, is_interrupted);
    // If the process is gone, so is the receiver.
    let _ = wishes.send(Command::Leave);
    shown
}

fn show(
    (title, rows, theme): (&str, (By, Order), Theme),
    readings: &Receiver<Reading>,
    wishes: &Sender<Command>,
    is_interrupted: impl Fn() -> bool,
) -> io::Result<()> {
    let mut screen = Screen::open(title)?;
    let mut model = Model::new(screen.area()?, rows);
    let mut has_changed = true;
    while !is_interrupted() {
        match readings.try_recv() {
            Ok(reading) => {
                model.take(reading);
                has_changed = true;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => break,
        }
        if std::mem::take(&mut has_changed) {
            screen.draw(|buffer| draw(buffer, &model, &theme))?;
        }
        if !wait(TURN)? {
            continue;
        }
        has_changed = true;
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match press(&mut model, key) {
                Some(Command::Leave) => break,
                // If the process is gone, so is the receiver.
                Some(wish) => drop(wishes.send(wish)),
                None => {}
            },
            Event::Resize(width, height) => {
                model.screen = Rect::new(0, 0, width, height);
                model.select(model.selected_place());
            }
            _ => {}
        }
    }
    Ok(())
}
