//! Between the terminal and the model.

use super::draw::draw;
use super::model::Model;
use super::update::{Wish, press};
use crate::draw::Theme;
use crate::shell::terminal::Screen;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::layout::Rect;
use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;
use viewer::live::{By, Order, Reading};
use viewer::text::escape;

/// Longest wait for a key before readings are looked for.
const TURN: Duration = Duration::from_millis(50);

/// What to show, and how.
pub struct Top {
    /// What the window is called.
    pub title: String,
    /// What rows are of, and which come first.
    pub rows: (By, Order),
    /// Use colours.
    pub color: bool,
    /// Readings to show, each as soon as it comes. No more of them come when the process has ended.
    pub readings: Receiver<Reading>,
    /// Where the user's wishes go.
    pub wishes: Sender<Wish>,
}

/// Shows readings until the user leaves, there are no more, or the caller `is_interrupted`, which is asked often. Then the last
/// wish is to leave.
///
/// # Errors
/// Those of the terminal.
pub fn top(options: Top, is_interrupted: impl Fn() -> bool) -> io::Result<()> {
    let Top { title, rows, color, readings, wishes } = options;
    let shown = show((&escape(&title), rows, Theme { color }), &readings, &wishes, is_interrupted);
    // Whoever reads is gone already if the process is.
    let _ = wishes.send(Wish::Leave);
    shown
}

fn show(
    (title, rows, theme): (&str, (By, Order), Theme),
    readings: &Receiver<Reading>,
    wishes: &Sender<Wish>,
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
        if !event::poll(TURN)? {
            continue;
        }
        has_changed = true;
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match press(&mut model, key) {
                Some(Wish::Leave) => break,
                // Whoever reads is gone already if the process is.
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
    screen.close()
}
