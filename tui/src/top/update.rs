//! What keys do.

use super::model::Model;
use engine::live::{By, Order};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What the user wants from the recording side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Sort rows in this order.
    Sort(Order),
    /// Show rows of this kind.
    By(By),
    /// Measure growth from now on.
    Reset,
    /// Leave.
    Leave,
}

/// Handles a key; returns a wish if the recording side must act.
pub(super) fn press(model: &mut Model, key: KeyEvent) -> Option<Command> {
    let place = model.selected_place();
    let page = model.height().max(1);
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Some(Command::Leave),
        KeyCode::Char('q') => return Some(Command::Leave),
        KeyCode::Char('s') => {
            model.order = model.order.next();
            // Following a row down the list would hide what is at its top now.
            model.select(0);
            return Some(Command::Sort(model.order));
        }
        KeyCode::Char('f') => {
            model.by = model.by.next();
            model.select(0);
            return Some(Command::By(model.by));
        }
        KeyCode::Char('r') => return Some(Command::Reset),
        KeyCode::Char(' ') => model.is_paused = !model.is_paused,
        KeyCode::Enter => {
            let node = model.stacks().get(place).map(|row| row.node);
            model.open = if model.open == node { None } else { node };
            model.select(place);
        }
        KeyCode::Esc => {
            model.open = None;
            model.select(place);
        }
        KeyCode::Up | KeyCode::Char('k') => model.select(place.saturating_sub(1)),
        KeyCode::Down | KeyCode::Char('j') => model.select(place.saturating_add(1)),
        KeyCode::PageUp => model.select(place.saturating_sub(page)),
        KeyCode::PageDown => model.select(place.saturating_add(page)),
        KeyCode::Home => model.select(0),
        KeyCode::End => model.select(usize::MAX),
        _ => {}
    }
    None
}
