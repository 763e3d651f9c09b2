//! The pages.

use crate::work::{Compare, ListTopic, Topic};

/// What fills the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Page {
    /// What the recording found.
    #[default]
    Overview,
    /// Functions, who calls them, and what they call.
    Functions,
    /// One function: its lines, and the sizes and lifetimes of its blocks.
    Function,
    /// The tree of calls.
    Tree,
    /// The same as a flame graph.
    Flame,
    /// The heap over time.
    Time,
    /// What changed between the two cursors, or from an older capture.
    Diff,
    /// The same as a flame graph in two colours.
    Changes,
    /// What was still allocated at the end.
    Leaks,
    /// What did not last.
    Temporary,
    /// Sizes of blocks.
    Sizes,
    /// How long they live.
    Lifetimes,
    /// Threads and processes.
    Threads,
    /// Source lines.
    Lines,
    /// Marks of the programs, by name.
    Marks,
}

impl Page {
    /// Those that have a tab, in its order, each with its key and its title, short and long.
    pub(crate) const TABS: [(Page, char, &str, &str); 11] = [
        (Page::Overview, '1', "Info", "Overview"),
        (Page::Functions, '2', "Functions", "Functions"),
        (Page::Tree, '3', "Tree", "Call tree"),
        (Page::Flame, '4', "Flame", "Flame graph"),
        (Page::Time, '5', "Time", "Timeline"),
        (Page::Leaks, '6', "Leaks", "Leaks"),
        (Page::Temporary, '7', "Brief", "Temporary"),
        (Page::Sizes, '8', "Sizes", "Sizes"),
        (Page::Lifetimes, '9', "Ages", "Lifetimes"),
        (Page::Threads, '0', "Threads", "Threads"),
        (Page::Lines, 'l', "Lines", "Source lines"),
    ];

    /// The tab that stands for it.
    pub(crate) fn tab(self) -> Page {
        match self {
            Page::Function => Page::Functions,
            Page::Diff | Page::Changes | Page::Marks => Page::Time,
            page => page,
        }
    }

    /// The tab so many after it.
    pub(crate) fn neighbour(self, step: isize) -> Page {
        let place = Self::TABS.iter().position(|(page, ..)| *page == self.tab()).unwrap_or(0);
        let count = Self::TABS.len() as isize;
        Self::TABS[(place as isize + step).rem_euclid(count) as usize].0
    }

    /// The text that it is; none where it is no text.
    pub(crate) fn topic(self, compare: Compare) -> Option<Topic> {
        match self {
            Page::Overview => Some(Topic::Overview),
            Page::Sizes => Some(Topic::Sizes),
            Page::Lifetimes => Some(Topic::Lifetimes),
            Page::Threads => Some(Topic::Threads),
            Page::Diff => Some(Topic::Diff(compare)),
            _ => None,
        }
    }

    /// The rows that it has; none where it has none.
    pub(crate) fn list(self) -> Option<ListTopic> {
        match self {
            Page::Leaks => Some(ListTopic::Leaks),
            Page::Temporary => Some(ListTopic::Temporary),
            Page::Lines => Some(ListTopic::Lines),
            Page::Marks => Some(ListTopic::Marks),
            _ => None,
        }
    }
}
