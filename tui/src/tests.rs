//! The whole viewer without a terminal: keys in, screens out, on hand-made captures.

mod anew;
mod cuts;
mod edges;
mod opening;
mod pages;
mod random;
mod scans;
mod stories;

use crate::draw::{Theme, draw};
use crate::model::{Model, Page};
use crate::options::Options;
use crate::support::Made;
use crate::update::{Effect, Event, update};
use crate::work::{Answer, Asked, Request};
use engine::Naming;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use std::sync::Arc;
use tempfile::TempDir;

/// A user in front of a screen.
pub(super) struct User {
    pub(super) model: Model,
    asked: Asked,
    /// All requests, in order.
    pub(super) requests: Vec<Request>,
    /// All effects.
    pub(super) effects: Vec<Effect>,
    folder: TempDir,
}

impl User {
    /// A user of a capture, with a screen of this size.
    pub(super) fn new(made: &Made, width: u16, height: u16) -> Self {
        Self::comparing(made, None, width, height)
    }

    /// As [`Self::new`], with an older capture, too.
    pub(super) fn comparing(made: &Made, baseline: Option<&Made>, width: u16, height: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.memprof");
        made.write(&file);
        let baseline = baseline.map(|made| {
            let file = folder.path().join("old.memprof");
            made.write(&file);
            file
        });
        let path_map = vec![("/src".to_owned(), folder.path().join("sources").display().to_string())];
        let naming = Naming::Stored;
        let options = Options { file, baseline: baseline.clone(), naming, path_map, color: true };
        let mut user = Self {
            model: Model::new("app.memprof".to_owned(), Rect::new(0, 0, width, height)),
            asked: Asked::new(options, Arc::default()),
            requests: Vec::new(),
            effects: Vec::new(),
            folder,
        };
        if baseline.is_some() {
            (user.model.baseline, user.model.page) = (Some("old.memprof".to_owned()), Page::Changes);
        }
        user.wait();
        user
    }

    /// Puts a source file where paths beginning with `/src` are looked for.
    pub(super) fn put_source(&self, name: &str, text: &str) {
        let folder = self.folder.path().join("sources");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
    }

    /// Replaces the recording on the screen by another one.
    pub(super) fn replace(&self, made: &Made) {
        let file = self.folder.path().join("app.memprof");
        let other = self.folder.path().join("other.memprof");
        made.write(&other);
        std::fs::rename(other, file).unwrap();
    }

    /// Answers all requests of the model.
    pub(super) fn wait(&mut self) {
        for _ in 0..20 {
            let Some(request) = self.model.wanted() else { return };
            let answer = self.asked.answer(&request);
            let answer = self.without_folder(answer);
            self.requests.push(request.clone());
            update(&mut self.model, Event::Answer(Box::new((request, answer))));
        }
        panic!("the model never has enough: {:?}", self.model.wanted());
    }

    /// Removes the folder from texts, since it differs each time.
    fn without_folder(&self, answer: Answer) -> Answer {
        let Answer::Text(document) = answer else { return answer };
        let folder = format!("{}/", self.folder.path().display());
        let mut document = document.to_vec();
        for (_, text) in document.iter_mut().flatten() {
            *text = text.replace(&folder, "");
        }
        Answer::Text(document.into())
    }

    /// Sends an event, and waits for nothing.
    pub(super) fn event(&mut self, event: Event) {
        self.effects.extend(update(&mut self.model, event));
    }

    /// Presses keys, each a letter or a name as in `<Enter>`, and waits after each.
    pub(super) fn press(&mut self, keys: &str) -> &mut Self {
        for code in codes(keys) {
            self.event(Event::Key(KeyEvent::from(code)));
            self.wait();
        }
        self
    }

    /// The text of the screen, without trailing blanks.
    pub(super) fn screen(&self) -> String {
        let buffer = self.buffer();
        let line = |y: u16| {
            let cells = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
            cells.trim_end().to_owned()
        };
        (0..buffer.area.height).map(line).collect::<Vec<_>>().join("\n") + "\n"
    }

    /// The screen with its colours.
    pub(super) fn buffer(&self) -> Buffer {
        let mut buffer = Buffer::empty(self.model.screen);
        draw(&mut buffer, &self.model, &Theme { color: true });
        buffer
    }
}

/// The keys that a text stands for.
pub(crate) fn codes(keys: &str) -> Vec<KeyCode> {
    let mut codes = Vec::new();
    let mut rest = keys;
    while let Some(letter) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let code = named.and_then(|(name, after)| Some((code(name)?, after)));
        let (code, after) = code.unwrap_or((KeyCode::Char(letter), &rest[letter.len_utf8()..]));
        codes.push(code);
        rest = after;
    }
    codes
}

fn code(name: &str) -> Option<KeyCode> {
    Some(match name {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "Back" => KeyCode::Backspace,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "PgUp" => KeyCode::PageUp,
        "PgDn" => KeyCode::PageDown,
        _ => return None,
    })
}
