//! The views that are registered, as tables of a page: the rows of the text report, as texts.

use super::texts::cut_at;
use engine::Loaded;
use report::outline::{Outline, outlines};
use report::table::Document;
use report::text::Extent;
use report::views::{Observed, VIEWS, View, all};
use serde::Serialize;
use std::io;

/// Most rows of a table, and below a row. The command line has all of them.
const EXTENT: Extent = Extent { rows: 50, below: 50, has_options: false };

/// Most characters of a name, such as a stack.
const MOST_LETTERS: usize = 500;

/// A view that a page has, or can ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ViewTables {
    id: &'static str,
    by: &'static str,
    about: &'static str,
    /// None if its numbers are not known, or not yet.
    tables: Option<Vec<Outline>>,
}

/// All views, to be asked for.
pub fn registered() -> Vec<ViewTables> {
    VIEWS.into_iter().map(|view| ViewTables::new(view, None)).collect()
}

/// All views of what an observer of each has seen.
pub fn views(loaded: &Loaded, observed: Option<Observed>) -> Vec<ViewTables> {
    let views = all(loaded, observed);
    views.map(|(view, document)| ViewTables::new(view, document.map(|it| tables(loaded, &it)))).collect()
}

/// The tables of one view, as a server sends them.
///
/// # Errors
/// None that a capture could cause.
pub fn view(loaded: &Loaded, document: &Document) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(&tables(loaded, document))?)
}

impl ViewTables {
    fn new(view: &View, tables: Option<Vec<Outline>>) -> Self {
        Self { id: view.id, by: view.by, about: view.about, tables }
    }
}

/// The tables of a document, as far as there is room.
pub(super) fn tables(loaded: &Loaded, document: &Document) -> Vec<Outline> {
    let mut tables = outlines(loaded, document, EXTENT);
    let texts = tables.iter_mut().flat_map(|table| {
        let rows = table.rows.iter_mut().flat_map(|row| row.numbers.iter_mut().chain([&mut row.name]));
        table.title.iter_mut().chain(&mut table.columns).chain(rows)
    });
    texts.for_each(|text| *text = cut_at(text, MOST_LETTERS));
    tables
}
