//! Documents in the columns of a terminal.
//!
//! ```text
//! app.memprof: 427 B in 6 allocations                                     title, warnings
//!   never freed: 70 B in 1 block                                          notes
//!
//!      bytes      blocks  allocated by                                    columns, heading
//!      307 B           4  make (m.c:14) < main                            row
//!      200 B           2    freed by release (r.c:17) < drop < main       row below it
//! 1 more stack not shown (--limit)
//! ```

use super::escape::columns;
use super::extent::{Extent, Shown};
use super::frames::frames;
use super::headline;
use super::line::{Line, print};
use super::style::{Role, Style};
use super::words::words;
use crate::table::{Document, Row, Table, Title, Value};
use engine::Loaded;
use std::io::{self, Write};

/// Width from which minor columns are shown.
const WIDE: usize = 100;
/// Blanks between columns.
const GAP: usize = 2;
/// Blanks before the name of a row below a row.
const INDENT: usize = 2;
/// Room for a number, which is never cut.
const MAX: usize = usize::MAX;

/// Writes a document.
///
/// # Errors
/// Those of the writer.
pub fn document(
    out: &mut dyn Write,
    loaded: &Loaded,
    document: &Document,
    extent: Extent,
    style: &Style,
) -> io::Result<()> {
    print(out, &document_lines(loaded, document, extent, style), style)
}

/// The lines of a document.
pub fn document_lines(loaded: &Loaded, document: &Document, extent: Extent, style: &Style) -> Vec<Line> {
    let mut lines = title(loaded, document);
    lines.extend(notes(loaded, &document.notes));
    for table in document.for_people() {
        if !table.is_spaced {
            lines.push(Line::new());
        }
        lines.extend(table.title.map(|title| vec![(Role::Heading, title.to_owned())]));
        lines.extend(notes(loaded, &table.notes));
        lines.extend(table_lines(loaded, table, extent, style));
    }
    lines
}

/// The lines of a table, its headings first.
pub fn table_lines(loaded: &Loaded, table: &Table, extent: Extent, style: &Style) -> Vec<Line> {
    Columns { loaded, table, extent, style }.lines()
}

/// The title of a document, and what to know before trusting it.
pub(crate) fn title(loaded: &Loaded, document: &Document) -> Vec<Line> {
    let mut lines = match &document.title {
        Title::Amount(metric) => headline::lines(loaded, *metric),
        Title::Words(value) => {
            let text = format!("{}: {}", headline::scope(loaded), words(loaded, value, MAX));
            let title = std::iter::once(vec![(Role::Heading, text)]);
            title.chain(headline::warning_lines(loaded)).collect()
        }
    };
    lines.extend(document.warnings.iter().map(|warning| headline::warning(words(loaded, warning, MAX))));
    lines
}

fn notes(loaded: &Loaded, notes: &[Value]) -> impl Iterator<Item = Line> {
    notes.iter().map(|note| vec![(Role::Detail, format!("  {}", words(loaded, note, usize::MAX)))])
}

/// A table, and what it is laid out for.
struct Columns<'a> {
    loaded: &'a Loaded,
    table: &'a Table,
    extent: Extent,
    style: &'a Style,
}

/// A line with its numbers in words.
struct Laid<'a> {
    cells: Vec<String>,
    shown: Shown<'a>,
}

impl Columns<'_> {
    fn lines(&self) -> Vec<Line> {
        let places: Vec<usize> = self.places().collect();
        let rows = self.rows(&places);
        let titles =
            places.iter().map(|&place| self.table.columns[place].title.as_deref().unwrap_or_default());
        let titles: Vec<String> = titles.map(str::to_owned).collect();
        let width = |at: usize| {
            let cells = rows.iter().filter_map(|row| row.cells.get(at)).map(|cell| columns(cell));
            cells.chain([columns(&titles[at]), self.table.columns[places[at]].width]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..places.len()).map(width).collect();
        let header = padded(&titles, &widths).concat() + self.table.heading;
        let header = vec![(Role::Detail, header.trim_end().to_owned())];
        let mut lines =
            if places.is_empty() && self.table.heading.is_empty() { vec![] } else { vec![header] };
        for row in &rows {
            if self.table.is_spaced && row.shown.level() == 0 {
                lines.push(Line::new());
            }
            match &row.shown {
                Shown::Row(Row { name: Value::Frames(node), .. }, _) => {
                    lines.extend(frames(self.loaded, *node, self.style));
                }
                _ => lines.push(self.line(row, &widths)),
            }
        }
        lines
    }

    /// The places of the columns that are shown.
    fn places(&self) -> impl Iterator<Item = usize> {
        let is_wide = self.style.width.is_none_or(|width| width >= WIDE);
        let columns = self.table.columns.iter().enumerate();
        let shown =
            columns.filter(move |(_, column)| column.title.is_some() && (is_wide || !column.is_minor));
        shown.map(|(place, _)| place)
    }

    fn rows(&self, places: &[usize]) -> Vec<Laid<'_>> {
        let cell =
            |value: Option<&Value>| value.map_or(String::new(), |value| words(self.loaded, value, MAX));
        let laid = |shown| {
            let cells = match &shown {
                Shown::Row(row, _) => places.iter().map(|&place| cell(row.cells.get(place))).collect(),
                Shown::Rest(_, 0) => Vec::new(),
                Shown::Rest(..) => vec![String::new(); places.len()],
            };
            Laid { cells, shown }
        };
        self.extent.of(self.table).into_iter().map(laid).collect()
    }

    fn line(&self, row: &Laid<'_>, widths: &[usize]) -> Line {
        let used: usize = widths.iter().map(|width| width + GAP).sum();
        let (role, indent, name) = match &row.shown {
            Shown::Row(row, level) => {
                let role = match (level, self.table.is_spaced) {
                    (0, false) => Role::Function,
                    (0, true) => Role::Heading,
                    (_, false) => Role::Detail,
                    (_, true) => Role::Plain,
                };
                let indent = INDENT * level;
                (role, indent, words(self.loaded, &row.name, self.style.room(used + indent)))
            }
            Shown::Rest(text, level) => (Role::Detail, INDENT * level, text.clone()),
        };
        let mut numbers = padded(&row.cells, widths);
        let first = if numbers.is_empty() { String::new() } else { numbers.remove(0) };
        let mut others = numbers.concat() + &" ".repeat(indent);
        if name.is_empty() {
            others.truncate(others.trim_end().len());
        }
        vec![(Role::Value, first), (Role::Plain, others), (role, name)]
    }
}

/// Cells of these widths, aligned to the right.
fn padded(cells: &[String], widths: &[usize]) -> Vec<String> {
    let cells = cells.iter().zip(widths);
    cells.map(|(cell, width)| format!("{}{cell}{:GAP$}", " ".repeat(width - columns(cell)), "")).collect()
}
