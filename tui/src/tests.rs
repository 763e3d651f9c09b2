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
use capture::{Area, AreaKind, Ended};
use engine::Naming;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use std::ops::Range;
use std::path::PathBuf;
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

    /// The file of the recording on the screen.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("app.memprof")
    }

    /// Checks that nothing on the screen and in copies acts on a terminal.
    pub(super) fn assert_harmless(&self, keys: &str) {
        let copies = self.effects.iter().filter_map(|effect| match effect {
            Effect::Copy(text) => Some(text.as_str()),
            _ => None,
        });
        let all = copies.collect::<String>() + &self.screen();
        let acts = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
        assert!(!all.contains(acts), "{keys}: {all:?}");
    }

    /// Puts a source file where paths beginning with `/src` are looked for.
    pub(super) fn put_source(&self, name: &str, text: &str) {
        let folder = self.folder.path().join("sources");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
    }

    /// Replaces the recording on the screen by another one.
    pub(super) fn replace(&self, made: &Made) {
        let other = self.folder.path().join("other.memprof");
        made.write(&other);
        std::fs::rename(other, self.file()).unwrap();
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

    /// Uses the mouse at a column and a row, and waits.
    pub(super) fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) {
        self.event(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        self.wait();
    }

    /// The text of the screen, without trailing blanks.
    pub(super) fn screen(&self) -> String {
        text_of(&self.buffer(true))
    }

    /// The screen, with its colours or without.
    pub(super) fn buffer(&self, color: bool) -> Buffer {
        let mut buffer = Buffer::empty(self.model.screen);
        draw(&mut buffer, &self.model, &Theme { color });
        buffer
    }

    /// The name of the selected function; empty if there is none.
    pub(super) fn function(&self) -> String {
        self.model.function_name().unwrap_or_default()
    }

    /// The last text that was copied, to the clipboard or a file.
    pub(super) fn copied(&self) -> &str {
        match self.effects.last() {
            Some(Effect::Copy(text) | Effect::Write(_, text)) => text.trim_end(),
            other => panic!("nothing was copied: {other:?}"),
        }
    }

    /// The place that the editor was opened with last.
    pub(super) fn edited(&self) -> (&str, u32) {
        match self.effects.last() {
            Some(Effect::Edit(place)) => (place.path.to_str().unwrap_or_default(), place.line),
            other => panic!("no editor: {other:?}"),
        }
    }
}

/// A click of the left button.
pub(crate) const CLICK: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

/// The text of a screen, without trailing blanks.
pub(crate) fn text_of(buffer: &Buffer) -> String {
    let line = |y: u16| {
        let cells = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        cells.trim_end().to_owned()
    };
    (0..buffer.area.height).map(line).collect::<Vec<_>>().join("\n") + "\n"
}

/// The memory that a scan searches: the heap, and the variables of a program.
pub(crate) fn areas(made: &mut Made, heap: Range<u64>, variables: Range<u64>) -> [Area; 2] {
    let name = made.string("");
    [(heap, AreaKind::Heap), (variables, AreaKind::Variables)].map(|(Range { start, end }, kind)| Area {
        start,
        end,
        kind,
        tid: 0,
        name,
        base: 0,
    })
}

/// A program whose stacks have allocated one block each, of these sizes.
pub(crate) fn holding(stacks: &[(&str, u64)]) -> Made {
    let (mut made, process, thread) = Made::app();
    for (number, (stack, bytes)) in (1..).zip(stacks) {
        let stack = made.stack(stack);
        made.alloc(thread, 0x1000 * number, *bytes, stack);
    }
    made.end(process, thread, Ended::Exited(0));
    made
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
