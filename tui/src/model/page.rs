//! The pages.

use crate::work::{Compare, ListTopic, Topic};
use analysis::lifetimes::Side;
use report::views::VIEWS;

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
    /// The tree of calls as a flame graph.
    Flame,
    /// The heap over time.
    Time,
    /// What changed between the two cursors, or from an older capture.
    Diff,
    /// The changes as a flame graph in two colours.
    Changes,
    /// What was still allocated at the end.
    Leaks,
    /// Temporary allocations.
    Temporary,
    /// A view of single blocks, by its name.
    View(&'static str),
    /// Who frees whose blocks, by the allocating stack.
    Frees,
    /// The same by the freeing stack.
    FreesInverted,
    /// Whose blocks lie on which pages of memory.
    Pages,
    /// Source lines.
    Lines,
    /// Marks of the programs, by name.
    Marks,
    /// What kept what when a process was scanned, as a tree.
    Retained,
    /// The same by call path.
    RetainedStacks,
    /// By root.
    RetainedRoots,
    /// By class of C++.
    RetainedClasses,
    /// What is no longer reachable.
    Unreachable,
    /// The capture's scans.
    Scans,
}

impl Page {
    /// The pages with a tab, in order, each with its key and its title, short and long.
    pub(crate) const TABS: [(Page, char, &str, &str); 12] = [
        (Page::Overview, '1', "Info", "Overview"),
        (Page::Functions, '2', "Func", "Functions"),
        (Page::Tree, '3', "Tree", "Call tree"),
        (Page::Flame, '4', "Flame", "Flame graph"),
        (Page::Time, '5', "Time", "Timeline"),
        (Page::Leaks, '6', "Leak", "Leaks"),
        (Page::Temporary, '7', "Temp", "Temporary"),
        (Page::View("sizes"), '8', "Size", "Sizes"),
        (Page::View("lifetimes"), '9', "Age", "Lifetimes"),
        (Page::View("threads"), '0', "Thread", "Threads"),
        (Page::Lines, 'l', "Line", "Source lines"),
        (Page::Retained, 'K', "Retained", "Retained"),
    ];

    /// The pages about a scan, in the order of Tab, each with its title.
    pub(crate) const OF_SCANS: [(Page, &str); 6] = [
        (Page::Retained, "tree"),
        (Page::RetainedStacks, "stacks"),
        (Page::RetainedRoots, "roots"),
        (Page::RetainedClasses, "classes"),
        (Page::Unreachable, "unreachable"),
        (Page::Scans, "scans"),
    ];

    /// The tab that the page belongs to.
    pub(crate) fn tab(self) -> Page {
        match self {
            Page::Function => Page::Functions,
            Page::Diff | Page::Changes | Page::Marks => Page::Time,
            Page::Frees | Page::FreesInverted => Page::View("threads"),
            page if page.is_of_scans() => Page::Retained,
            page if Self::TABS.iter().any(|(tab, ..)| *tab == page) => page,
            Page::Pages | Page::View(_) => Page::View("sizes"),
            page => page,
        }
    }

    /// The tab `step` places further.
    pub(crate) fn neighbour(self, step: isize) -> Page {
        let place = Self::TABS.iter().position(|(page, ..)| *page == self.tab()).unwrap_or(0);
        let count = Self::TABS.len() as isize;
        Self::TABS[(place as isize + step).rem_euclid(count) as usize].0
    }

    /// True for the pages about a scan of a process.
    pub(crate) fn is_of_scans(self) -> bool {
        Self::OF_SCANS.iter().any(|(page, _)| *page == self)
    }

    /// The page `step` places further among those about a scan.
    pub(crate) fn next_of_scans(self, step: isize) -> Page {
        let place = Self::OF_SCANS.iter().position(|(page, _)| *page == self).unwrap_or(0);
        let count = Self::OF_SCANS.len() as isize;
        Self::OF_SCANS[(place as isize + step).rem_euclid(count) as usize].0
    }

    /// The next view of single blocks, if this is one.
    pub(crate) fn next_view(self) -> Option<Page> {
        let Page::View(id) = self else { return None };
        let place = VIEWS.iter().position(|view| view.id == id)?;
        Some(Page::View(VIEWS[(place + 1) % VIEWS.len()].id))
    }

    /// The page that shows the same from the other side, if any.
    pub(crate) fn inverted(self) -> Option<Page> {
        match self {
            Page::Frees => Some(Page::FreesInverted),
            Page::FreesInverted => Some(Page::Frees),
            _ => None,
        }
    }

    /// The text on the page, if it is one.
    pub(crate) fn topic(self, compare: Compare) -> Option<Topic> {
        match self {
            Page::Overview => Some(Topic::Overview),
            Page::View(id) => Some(Topic::View(id)),
            Page::Pages => Some(Topic::Pages),
            Page::Diff => Some(Topic::Diff(compare)),
            _ => None,
        }
    }

    /// The list on the page, if it is one.
    pub(crate) fn list(self) -> Option<ListTopic> {
        match self {
            Page::Leaks => Some(ListTopic::Leaks),
            Page::Temporary => Some(ListTopic::Temporary),
            Page::Frees => Some(ListTopic::Frees(Side::Allocations)),
            Page::FreesInverted => Some(ListTopic::Frees(Side::Frees)),
            Page::Lines => Some(ListTopic::Lines),
            Page::Marks => Some(ListTopic::Marks),
            Page::Scans => Some(ListTopic::Scans),
            _ => None,
        }
    }
}
