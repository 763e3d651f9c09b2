//! The views that are registered, as tables of a page: the rows of the text report, as texts.

use super::texts::cut_at;
use engine::Loaded;
use report::outline::{OutlineRow, outlines};
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
    tables: Option<Vec<TableTexts>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct TableTexts {
    title: Vec<String>,
    columns: Vec<String>,
    rows: Vec<RowTexts>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct RowTexts {
    numbers: Vec<String>,
    indent: usize,
    name: String,
    is_generated: bool,
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
    fn new(view: &View, tables: Option<Vec<TableTexts>>) -> Self {
        Self { id: view.id, by: view.by, about: view.about, tables }
    }
}

fn tables(loaded: &Loaded, document: &Document) -> Vec<TableTexts> {
    let short = |texts: Vec<String>| texts.iter().map(|text| cut_at(text, MOST_LETTERS)).collect();
    let row = |OutlineRow { numbers, indent, name, is_generated }| {
        let name = cut_at(&name, MOST_LETTERS);
        RowTexts { numbers: short(numbers), indent, name, is_generated }
    };
    let table = |outline: report::outline::Outline| TableTexts {
        title: short(outline.title),
        columns: short(outline.columns),
        rows: outline.rows.into_iter().map(row).collect(),
    };
    outlines(loaded, document, EXTENT).into_iter().map(table).collect()
}
