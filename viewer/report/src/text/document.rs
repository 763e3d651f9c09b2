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
use super::stack_line::not_shown;
use super::style::{Role, Style};
use super::words::words;
use crate::table::{Column, Document, Layout, Row, Table, Title, Value};
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
    lines.extend(document.for_people().flat_map(|table| titled(loaded, table, extent, style)));
    // Nothing stands above the first table of a document without a title.
    let first = usize::from(lines.first().is_some_and(Vec::is_empty));
    lines.split_off(first)
}

/// Writes tables below others, those with a row.
pub(super) fn write_tables(
    out: &mut dyn Write,
    loaded: &Loaded,
    tables: &[Table],
    style: &Style,
) -> io::Result<()> {
    let shown = tables.iter().filter(|table| !table.rows.is_empty());
    let extent = Extent::of_command(usize::MAX);
    let lines: Vec<Line> = shown.flat_map(|table| titled(loaded, table, extent, style)).collect();
    print(out, &lines, style)
}

/// The lines of a table below its title.
fn titled(loaded: &Loaded, table: &Table, extent: Extent, style: &Style) -> Vec<Line> {
    let mut lines = Vec::new();
    if table.layout != Layout::Paragraphs {
        lines.push(Line::new());
    }
    lines.extend(table.title.map(|title| vec![(Role::Heading, title.to_owned())]));
    lines.extend(notes(loaded, &table.notes));
    lines.extend(table_lines(loaded, table, extent, style));
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
            let text = [headline::scope(loaded), words(loaded, value, MAX)];
            let text = text.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ");
            let title = std::iter::once(vec![(Role::Heading, text)]);
            title.chain(headline::warning_lines(loaded)).collect()
        }
        Title::None => headline::warning_lines(loaded),
        Title::Alone(value) => vec![vec![(Role::Heading, words(loaded, value, MAX))]],
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
    /// True if its first number has become more.
    has_grown: bool,
}

impl Columns<'_> {
    fn lines(&self) -> Vec<Line> {
        let places: Vec<usize> = self.places().collect();
        let rows = self.rows(&places);
        let shown: Vec<&Column> = places.iter().map(|&place| &self.table.columns[place]).collect();
        let titles: Vec<String> =
            shown.iter().map(|column| column.title.as_deref().unwrap_or_default().to_owned()).collect();
        let width = |at: usize| {
            let cells = rows.iter().filter_map(|row| row.cells.get(at)).map(|cell| columns(cell));
            cells.chain([columns(&titles[at]), shown[at].width]).max().unwrap_or(0)
        };
        let widths: Vec<(usize, bool)> = (0..places.len()).map(|at| (width(at), shown[at].is_left)).collect();
        let header = padded(&titles, &widths).concat() + self.table.heading;
        let header = vec![(Role::Detail, header.trim_end().to_owned())];
        let is_headed =
            self.table.layout != Layout::Facts && !(places.is_empty() && self.table.heading.is_empty());
        let mut lines = if is_headed { vec![header] } else { vec![] };
        for row in &rows {
            if self.table.layout == Layout::Paragraphs && row.shown.level() == 0 {
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
                Shown::Row(Row { name: Value::Rest(..), cells, .. }, _) if cells.is_empty() => Vec::new(),
                Shown::Row(row, _) => places.iter().map(|&place| cell(row.cells.get(place))).collect(),
                Shown::Rest(_, 0) => Vec::new(),
                Shown::Rest(..) => vec![String::new(); places.len()],
            };
            let first = places.first();
            let has_grown = match &shown {
                Shown::Row(row, _) => {
                    first.and_then(|&place| row.cells.get(place)).is_some_and(Value::has_grown)
                }
                Shown::Rest(..) => false,
            };
            Laid { cells, shown, has_grown }
        };
        self.extent.of(self.table).into_iter().map(laid).collect()
    }

    fn line(&self, row: &Laid<'_>, widths: &[(usize, bool)]) -> Line {
        let used: usize = widths.iter().map(|(width, _)| width + GAP).sum();
        let (role, indent, name) = match &row.shown {
            Shown::Row(Row { name: Value::Rest(number, noun, option), .. }, level) => {
                let option = if self.extent.has_options { option } else { "" };
                (Role::Detail, INDENT * level, not_shown(*number, noun, option))
            }
            Shown::Row(row, level) => {
                let role = match (level, self.table.layout) {
                    (0, Layout::Rows) => Role::Function,
                    (0, Layout::Paragraphs) => Role::Heading,
                    (_, Layout::Rows) => Role::Detail,
                    (_, Layout::Paragraphs) | (_, Layout::Facts) => Role::Plain,
                };
                let indent = INDENT * level;
                // Facts are sentences, which are never cut.
                let is_fact = self.table.layout == Layout::Facts;
                let room = if is_fact { MAX } else { self.style.room(used + indent) };
                (role, indent, words(self.loaded, &row.name, room))
            }
            Shown::Rest(text, level) => (Role::Detail, INDENT * level, text.clone()),
        };
        let mut numbers = padded(&row.cells, widths);
        let first = if numbers.is_empty() { String::new() } else { numbers.remove(0) };
        let mut others = numbers.concat() + &" ".repeat(indent);
        if name.is_empty() {
            others.truncate(others.trim_end().len());
        }
        let role_of_first = match (self.table.layout, self.table.title) {
            (Layout::Facts, None) => Role::Heading,
            (Layout::Facts, _) => Role::Plain,
            _ if row.has_grown => Role::Warning,
            _ => Role::Value,
        };
        let margin = if self.table.layout == Layout::Facts && self.table.title.is_some() { "  " } else { "" };
        vec![(Role::Plain, margin.to_owned()), (role_of_first, first), (Role::Plain, others), (role, name)]
    }
}

/// Cells of these widths, aligned to the right or to the left.
fn padded(cells: &[String], widths: &[(usize, bool)]) -> Vec<String> {
    let cells = cells.iter().zip(widths);
    cells
        .map(|(cell, &(width, is_left))| {
            let blank = " ".repeat(width - columns(cell));
            if is_left { format!("{cell}{blank}{:GAP$}", "") } else { format!("{blank}{cell}{:GAP$}", "") }
        })
        .collect()
}
