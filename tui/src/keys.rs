//! Which key does what: one table, for the keyboard and for the help.

use crate::model::Page;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use report::outline::Form;

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Page(Page),
    Tab(isize),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Activate,
    Toggle,
    OpenAll,
    CloseAll,
    Lists,
    Metric(isize),
    Sort,
    Invert,
    Search,
    Again,
    Filter,
    Focus,
    Transparent,
    MyCode,
    Group,
    Clear,
    Range,
    Moment,
    Whole,
    Diff,
    Details,
    Mark(isize),
    ZoomIn,
    ZoomOut,
    Copy(Form),
    Write,
    Edit,
    Back,
    Forward,
    Help,
    Quit,
}

/// A key, its command, and both in the words of the help. Without text, the key does the same as the one before it.
type Binding = (KeyCode, Command, &'static str, &'static str);

const fn key(letter: char) -> KeyCode {
    KeyCode::Char(letter)
}

/// All bindings, in the order of the help.
pub(crate) const BINDINGS: &[Binding] = &[
    (key('1'), Command::Page(Page::Overview), "1 … 0, l, K", "go to a page, by the key before its title"),
    (key('2'), Command::Page(Page::Functions), "", ""),
    (key('3'), Command::Page(Page::Tree), "", ""),
    (key('4'), Command::Page(Page::Flame), "", ""),
    (key('5'), Command::Page(Page::Time), "", ""),
    (key('6'), Command::Page(Page::Leaks), "", ""),
    (key('7'), Command::Page(Page::Temporary), "", ""),
    (key('8'), Command::Page(Page::View("sizes")), "", ""),
    (key('9'), Command::Page(Page::View("lifetimes")), "", ""),
    (key('0'), Command::Page(Page::View("threads")), "", ""),
    (key('l'), Command::Page(Page::Lines), "", ""),
    (key('K'), Command::Page(Page::Retained), "", ""),
    (key('>'), Command::Tab(1), "< >", "previous page, next page"),
    (key('<'), Command::Tab(-1), "", ""),
    (KeyCode::Backspace, Command::Back, "Backspace, [", "back"),
    (key('['), Command::Back, "", ""),
    (key(']'), Command::Forward, "]", "forward"),
    (key('m'), Command::Metric(1), "m M", "next measure, previous: peak, leaked, live …"),
    (key('M'), Command::Metric(-1), "", ""),
    (KeyCode::Up, Command::Up, "↑ ↓ PgUp PgDn Home End", "move; also k and j"),
    (key('k'), Command::Up, "", ""),
    (KeyCode::Down, Command::Down, "", ""),
    (key('j'), Command::Down, "", ""),
    (KeyCode::PageUp, Command::PageUp, "", ""),
    (KeyCode::PageDown, Command::PageDown, "", ""),
    (KeyCode::Home, Command::Home, "", ""),
    (KeyCode::End, Command::End, "", ""),
    (KeyCode::Right, Command::Right, "→ ←", "open, close; on the timeline, move the cursor"),
    (KeyCode::Left, Command::Left, "", ""),
    (KeyCode::Enter, Command::Activate, "Enter", "callers and callees of a function; zoom into a flame"),
    (key(' '), Command::Toggle, "Space", "open or close a row; switch cursors of the timeline"),
    (key('o'), Command::OpenAll, "o c", "open all rows, close all"),
    (key('c'), Command::CloseAll, "", ""),
    (KeyCode::Tab, Command::Lists, "Tab", "next list; on 8, 9, 0: next view of single blocks"),
    (key('s'), Command::Sort, "s", "sort by total (retained), self (own) or name"),
    (key('i'), Command::Invert, "i", "invert tree and flame graph; on K: next list"),
    (key('/'), Command::Search, "/ n", "search a name, next match"),
    (key('n'), Command::Again, "", ""),
    (key('f'), Command::Filter, "f", "filter stacks: parse* and not module:libssl*"),
    (key('v'), Command::Details, "v", "lines, sizes and lifetimes of the selected function"),
    (key('F'), Command::Focus, "F", "make the selected function the root"),
    (key('t'), Command::Transparent, "t", "remove the selected function from all stacks"),
    (key('O'), Command::MyCode, "O", "your own code alone, without libraries and interpreters"),
    (key('g'), Command::Group, "g", "group functions by module, namespace, file …"),
    (key('u'), Command::Clear, "u", "clear f, F, t, O and g: show all stacks as they are"),
    (key('r'), Command::Range, "r", "timeline: limit all pages to the range of the cursors"),
    (key('a'), Command::Moment, "a", "timeline: all pages at the cursor's moment; on K: scan's"),
    (key('w'), Command::Whole, "w", "all pages on the whole recording again"),
    (key('d'), Command::Diff, "d", "timeline: what changed from one cursor to the other"),
    (key('D'), Command::Page(Page::Changes), "D", "the same as a flame graph: + orange grew, - blue shrank"),
    (key('.'), Command::Mark(1), ", .", "timeline: previous mark, next; on K: scan"),
    (key(','), Command::Mark(-1), "", ""),
    (key('R'), Command::Page(Page::Marks), "R", "marks by name, with number and durations of regions"),
    (key('x'), Command::Page(Page::Frees), "x", "who frees whose blocks (run --free-stacks); i: inverted"),
    (key('p'), Command::Page(Page::Pages), "p", "whose blocks keep which pages, at the peak or a moment"),
    (key('+'), Command::ZoomIn, "+ -", "zoom in, zoom out"),
    (key('='), Command::ZoomIn, "", ""),
    (key('-'), Command::ZoomOut, "", ""),
    (key('y'), Command::Copy(Form::Text), "y Y", "copy the page as text, as Markdown"),
    (key('Y'), Command::Copy(Form::Markdown), "", ""),
    (key('W'), Command::Write, "W", "write the page to a .txt or .md file, a graph as .svg"),
    (key('e'), Command::Edit, "e", "open the source line in your editor"),
    (key('?'), Command::Help, "?", "this help"),
    (KeyCode::F(1), Command::Help, "", ""),
    (key('q'), Command::Quit, "q", "quit"),
];

/// The command of a key.
pub(crate) fn command(event: KeyEvent) -> Option<Command> {
    match (event.code, event.modifiers) {
        (KeyCode::Char('c'), KeyModifiers::CONTROL) => Some(Command::Quit),
        (KeyCode::Left, KeyModifiers::ALT) => Some(Command::Back),
        (KeyCode::Right, KeyModifiers::ALT) => Some(Command::Forward),
        (_, modifiers) if modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => None,
        (code, _) => BINDINGS.iter().find(|(bound, ..)| *bound == code).map(|(_, command, ..)| *command),
    }
}

/// The keys of the help, for its footer.
pub(crate) const IN_HELP: &str = "↑ ↓ scroll  any other key: back";

/// The keys of `top`.
pub(crate) const OF_TOP: &str = "s sort  f functions  r reset growth  space pause  Enter stack  q quit";

/// The most important keys of a page.
pub(crate) fn hints(page: Page) -> &'static str {
    match page {
        Page::Tree => "→ open  ← close  Enter function  i invert  m metric  / search  f filter  ? help",
        Page::Flame => "↓ ↑ → ← select  Enter zoom  - out  i invert  m metric  / search  y copy  ? help",
        Page::Functions => "Tab lists  Enter go there  v its lines  Backspace back  s sort  m metric  ? help",
        Page::Time => "← → cursor  Space other one  r range  a moment  d diff  + - zoom  , . marks  ? ",
        Page::Function => "↑ ↓ scroll  m metric  f filter  y copy  Backspace back  ? help  q quit",
        Page::Changes => {
            "↓ ↑ → ← select  Enter zoom  - out  d as a table  + orange grew  - blue shrank  ? help"
        }
        Page::Diff => "D as a flame graph  5 timeline  ↑ ↓ scroll  y copy  ? help  q quit",
        Page::View("threads") => {
            "Tab other views  x who frees whose blocks  ↑ ↓ scroll  f filter  y copy  ? help"
        }
        Page::View("sizes") => "Tab other views  p pages of memory  ↑ ↓ scroll  f filter  y copy  ? help",
        Page::View(_) => "Tab other views  ↑ ↓ scroll  f filter  y copy  ? help  q quit",
        Page::Frees => "↑ ↓ select  Enter its function  i who frees  f filter  e editor  y copy  ? help",
        Page::FreesInverted => "↑ ↓ select  Enter its function  i who allocates  f filter  y copy  ? help",
        Page::Pages => "↑ ↓ scroll  5 then a: another moment  y copy  Backspace back  ? help  q quit",
        Page::Leaks | Page::Temporary => "↑ ↓ select  Enter its function  e editor  f filter  y copy  ? help",
        Page::Retained => "→ open  ← close  Tab lists  , . scan  Enter function  s sort  / search  ? help",
        Page::RetainedStacks => "↑ ↓ select  → in the tree  Tab lists  , . scan  Enter its function  ? help",
        Page::Unreachable => {
            "↑ ↓ select  Tab lists  , . scan  Enter its function  e editor  / search  ? help"
        }
        Page::RetainedRoots => "↑ ↓ select  → in the tree  Tab lists  , . scan  / search  y copy  ? help",
        Page::RetainedClasses => "↑ ↓ select  Tab lists  , . scan  / search  y copy  ? help  q quit",
        Page::Scans => "↑ ↓ select  Enter this scan  Tab lists  / search  y copy  ? help  q quit",
        Page::Marks => "↑ ↓ select  Enter what was allocated then  w everything  5 timeline  y copy  ? help",
        Page::Lines => "↑ ↓ select  e editor  m metric  f filter  y copy  ? help  q quit",
        _ => "1 … 0 pages  ↑ ↓ scroll  m metric  f filter  y copy  ? help  q quit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that no key has two meanings, and that each page has its key.
    #[test]
    fn keys_have_one_meaning() {
        for (place, (key, ..)) in BINDINGS.iter().enumerate() {
            assert!(BINDINGS[place + 1..].iter().all(|(other, ..)| other != key), "{key:?}");
        }
        for (page, letter, ..) in Page::TABS {
            assert_eq!(command(KeyEvent::from(key(letter))), Some(Command::Page(page)));
        }
    }
}
