//! What keys and the mouse do to the model.

mod choose;
mod mouse;
mod moves;
mod scans;
mod typed;

use crate::catalogue;
use crate::draw::copy;
use crate::keys::{Command, command};
use crate::model::{Cursor, Model, Page, Prompt, Purpose};
use crate::work::{Answer, Place, Request};
use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use std::path::PathBuf;

/// What happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// The mouse was used.
    Mouse(MouseEvent),
    /// Text was pasted.
    Paste(String),
    /// The screen has another size.
    Resize(Rect),
    /// The worker has answered.
    Answer(Box<(Request, Answer)>),
    /// There is something to tell.
    Notice(String),
}

/// Something to do outside the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Put a text into the terminal's clipboard.
    Copy(String),
    /// Write a text to a new file.
    Write(PathBuf, String),
    /// Open an editor.
    Edit(Place),
    /// Leave.
    Quit,
}

/// Handles an event.
pub(crate) fn update(model: &mut Model, event: Event) -> Option<Effect> {
    let effect = match event {
        Event::Key(key) => {
            model.notice = None;
            pressed(model, key)
        }
        Event::Mouse(event) => {
            mouse::used(model, event);
            None
        }
        Event::Paste(text) => {
            typed::paste(model, &text);
            None
        }
        Event::Resize(screen) => {
            model.screen = screen;
            None
        }
        Event::Answer(answered) => {
            let (request, answer) = *answered;
            model.take(request, answer);
            None
        }
        Event::Notice(text) => {
            model.notice = Some(text);
            None
        }
    };
    model.settle();
    effect
}

fn pressed(model: &mut Model, key: KeyEvent) -> Option<Effect> {
    if model.prompt.is_some() {
        return typed::pressed(model, key);
    }
    if key.code == KeyCode::Esc {
        model.help = None;
    }
    let command = command(key)?;
    if model.help.is_some() {
        return in_help(model, command);
    }
    execute(model, command)
}

/// While the help is shown, keys act on it.
fn in_help(model: &mut Model, command: Command) -> Option<Effect> {
    let height = usize::from(model.areas().body.height);
    let length = crate::draw::help_lines();
    let cursor = model.help.get_or_insert_default();
    match command {
        Command::Up => cursor.slide(-1, height, length),
        Command::Down => cursor.slide(1, height, length),
        Command::PageUp => cursor.slide(-(height as isize), height, length),
        Command::PageDown => cursor.slide(height as isize, height, length),
        Command::Quit => return Some(Effect::Quit),
        _ => model.help = None,
    }
    None
}

/// Executes a command.
fn execute(model: &mut Model, command: Command) -> Option<Effect> {
    if scans::refuses(model, command) {
        return None;
    }
    match command {
        Command::Page(page) => go(model, page),
        Command::Tab(step) => go(model, model.page.neighbour(step)),
        Command::Up => moves::step(model, -1),
        Command::Down => moves::step(model, 1),
        Command::PageUp => moves::pages(model, -1),
        Command::PageDown => moves::pages(model, 1),
        Command::Home => moves::home(model),
        Command::End => moves::end(model),
        Command::Left => moves::aside(model, -1),
        Command::Right => moves::aside(model, 1),
        Command::Activate => moves::activate(model),
        Command::Toggle => moves::toggle(model),
        Command::OpenAll => moves::set_all(model, true),
        Command::CloseAll => moves::set_all(model, false),
        Command::Lists | Command::Invert if model.page.is_of_scans() => {
            go(model, model.page.next_of_scans(1));
        }
        Command::Lists if model.page == Page::Functions => moves::next_list(model),
        Command::Invert | Command::Lists if model.page.inverted().is_some() => {
            model.page.inverted().into_iter().for_each(|page| go(model, page));
        }
        Command::Lists => model.page.next_view().into_iter().for_each(|page| go(model, page)),
        Command::Metric(step) => choose::metric(model, step),
        Command::Sort => choose::sort(model),
        Command::Invert if matches!(model.page, Page::Tree | Page::Flame) => {
            model.is_inverted = !model.is_inverted;
        }
        Command::Invert => {}
        Command::Search => model.prompt = Some(Prompt::new(Purpose::Search, String::new())),
        Command::Again => typed::search(model),
        Command::Filter => typed::ask_filter(model),
        Command::Focus => choose::focus(model),
        Command::Transparent => choose::transparent(model),
        Command::MyCode => choose::my_code(model),
        Command::Group => choose::group(model),
        Command::Clear => choose::clear(model),
        Command::Range => choose::range(model),
        Command::Moment if model.page.is_of_scans() => scans::moment(model),
        Command::Moment => choose::moment(model),
        Command::Whole => choose::whole(model),
        Command::Diff => go(model, Page::Diff),
        Command::Details => moves::details(model),
        Command::Mark(step) if model.page.is_of_scans() => scans::step(model, step),
        Command::Mark(step) => choose::mark(model, step),
        Command::ZoomIn => moves::zoom(model, true),
        Command::ZoomOut => moves::zoom(model, false),
        Command::Copy(form) => return Some(Effect::Copy(copy::written(model, form, copy::Into::Clipboard))),
        Command::Write => typed::ask_file(model),
        Command::Edit => return edit(model),
        Command::Back => model.back(),
        Command::Forward => model.forward(),
        Command::Help => model.help = Some(Cursor::default()),
        Command::Quit => return Some(Effect::Quit),
    }
    None
}

/// Turns to a page.
pub(super) fn go(model: &mut Model, page: Page) {
    if model.page != page {
        model.leave();
        model.page = page;
        if page == Page::Scans {
            model.cursor().selected = model.scan().map_or(0, |number| number - 1);
        }
    }
}

fn edit(model: &mut Model) -> Option<Effect> {
    let place = model.place().or_else(|| place_of_function(model));
    if place.is_none() {
        model.notice = Some(catalogue::NO_SOURCE.to_owned());
    }
    place.map(Effect::Edit)
}

/// A place of the selected function: the first that one of its frames has.
fn place_of_function(model: &Model) -> Option<Place> {
    let (label, loaded) = model.function()?;
    let frames = (0..loaded.tables.frames.len()).map(capture::FrameId::from_index);
    let mut steps = frames.flat_map(|frame| loaded.names.steps(frame)).filter(|step| step.label == label);
    steps.find_map(|step| crate::work::place(loaded, step))
}
