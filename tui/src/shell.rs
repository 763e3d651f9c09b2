//! Connects terminal and model: reads events, asks the worker, draws, and performs effects.

mod clipboard;
pub(crate) mod terminal;

use crate::catalogue;
use crate::draw::{Theme, draw};
use crate::editor;
use crate::model::{Model, Page};
use crate::options::Options;
use crate::update::{Effect, Event, update};
use crate::work::{Place, Worker};
use engine::Sources;
use ratatui::crossterm::event::{self, Event as Input, KeyEventKind};
use ratatui::layout::Rect;
use report::text::escape;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use terminal::Screen;

/// How often to look for answers while the worker works.
const WORKING: Duration = Duration::from_millis(10);

/// The longest wait for a key while nothing else can happen.
const IDLE: Duration = Duration::from_secs(60);

/// Shows a capture until the user leaves.
///
/// # Errors
/// Those of the terminal. An unreadable capture is reported on the screen.
pub fn run(options: Options) -> io::Result<()> {
    let theme = Theme { color: options.color };
    let name = escape(&options.file.display().to_string()).into_owned();
    let baseline = options.baseline.as_ref().map(|file| escape(&file.display().to_string()).into_owned());
    let sources = Sources::new(options.path_map.clone());
    let mut worker = Worker::start(options)?;
    let mut screen = Screen::open(&name)?;
    let mut model = Model::new(name, screen.area()?);
    if baseline.is_some() {
        (model.baseline, model.page) = (baseline, Page::Changes);
    }
    let mut has_changed = true;
    loop {
        if let Some(request) = model.wanted() {
            worker.ask(request);
        }
        while let Some((request, answer)) = worker.answer() {
            update(&mut model, Event::Answer(Box::new((request, answer))));
            if let Some(request) = model.wanted() {
                worker.ask(request);
            }
            has_changed = true;
        }
        let is_late = worker.is_late(Instant::now());
        has_changed |= std::mem::replace(&mut model.is_busy, is_late) != is_late;
        if std::mem::take(&mut has_changed) {
            screen.draw(|buffer| draw(buffer, &model, &theme))?;
        }
        let wait = if worker.is_busy() { WORKING } else { IDLE };
        if !terminal::wait(wait)? {
            continue;
        }
        // Takes in all pending events before drawing, so that a held key never runs ahead of the screen.
        while terminal::wait(Duration::ZERO)? {
            has_changed = true;
            let effect = read(event::read()?).and_then(|event| update(&mut model, event));
            match effect {
                None => {}
                Some(Effect::Quit) => return Ok(()),
                Some(effect) => {
                    let notice = perform(&mut screen, &sources, effect);
                    update(&mut model, Event::Notice(notice));
                }
            }
        }
    }
}

fn read(input: Input) -> Option<Event> {
    match input {
        Input::Key(key) if key.kind != KeyEventKind::Release => Some(Event::Key(key)),
        Input::Mouse(mouse) => Some(Event::Mouse(mouse)),
        Input::Paste(text) => Some(Event::Paste(text)),
        Input::Resize(width, height) => Some(Event::Resize(Rect::new(0, 0, width, height))),
        _ => None,
    }
}

/// Performs an effect, and says what became of it.
fn perform(screen: &mut Screen, sources: &Sources, effect: Effect) -> String {
    match effect {
        Effect::Quit => String::new(),
        Effect::Copy(text) => match clipboard::copy(&text) {
            Ok(()) => catalogue::copied(&text),
            Err(error) => catalogue::cannot_copy(&error),
        },
        Effect::Write(path, text) => match write(&path, &text) {
            Ok(()) => catalogue::wrote(&text, &path.display().to_string()),
            Err(error) => catalogue::cannot_write(&path.display().to_string(), &error),
        },
        Effect::Edit(place) => {
            let path = sources.here(&place.path.to_string_lossy());
            edit(screen, &Place { path, ..place })
        }
    }
}

/// Writes a new file, readable by its owner only.
fn write(path: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

fn edit(screen: &mut Screen, place: &Place) -> String {
    let shown = place.path.display().to_string();
    if !place.path.exists() {
        return catalogue::not_here(&shown);
    }
    let started = Instant::now();
    let ended = screen.lend(|| editor::open(place));
    match ended {
        Ok(status) if status.success() => catalogue::back_from(&shown, started.elapsed().as_secs()),
        Ok(status) => catalogue::editor_ended(&status),
        Err(error) => catalogue::no_editor(&error),
    }
}
