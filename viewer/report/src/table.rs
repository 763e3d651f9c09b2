//! What a view shows, before anybody has written it: tables of typed values.
//!
//! ```text
//!  analysis ──► a builder in `views` ──► Document ──┬──► text     columns of a terminal, cut to its width
//!               no I/O, no formats                  ├──► outline  Markdown and HTML
//!                                                   ├──► csv      exact numbers
//!                                                   └──► json     exact numbers, and the fields that only programs get
//! ```
//!
//! A document has a title, notes and tables; a table has rows, a row has cells, a name and possibly rows below it.
//! Nothing here is a text for people, except for words of our own: names from a capture are ids until a renderer looks
//! them up.

mod column;
mod row;
mod value;

pub use column::Column;
pub use row::Row;
pub(crate) use row::columns;
pub(crate) use value::phrase;
pub use value::{Fields, Value};

use analysis::Metric;

/// A view of a capture.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its name: that of the command, and the `document` of the JSON.
    pub id: &'static str,
    /// What it begins with for programs.
    pub head: Head,
    /// What it is about, in one line.
    pub title: Title,
    /// Why the numbers may not be what they seem, a line each.
    pub warnings: Vec<Value>,
    /// What to know before reading the numbers, a line each.
    pub notes: Vec<Value>,
    /// Fields for programs, before the tables.
    pub fields: Fields,
    /// From top to bottom.
    pub tables: Vec<Table>,
    /// Fields for programs, behind the tables.
    pub more: Fields,
}

/// What a document begins with for programs, after its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// The file, what was chosen of it, and what that costs.
    #[default]
    Selection,
    /// The file.
    File,
    /// Nothing.
    Kind,
}

/// The first line of a document, after the name of the file and the part that is shown.
#[derive(Clone, Debug)]
pub enum Title {
    /// The amount of a metric, and what is hidden of it.
    Amount(Metric),
    /// These words; nothing where they are empty.
    Words(Value),
    /// None: only what to know before trusting the numbers.
    None,
    /// These words in place of file and part, since several are compared.
    Alone(Value),
}

/// Rows under headings.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its field in documents for programs.
    pub id: &'static str,
    /// Who gets it.
    pub readers: Readers,
    /// Its title; none for the first of a document.
    pub title: Option<&'static str>,
    /// What the columns mean, a line each.
    pub notes: Vec<Value>,
    /// The numbers.
    pub columns: Vec<Column>,
    /// Heading of the names, which stand behind the numbers.
    pub heading: &'static str,
    /// The field of the names; as of a column, and none if programs do not get them.
    pub key: Option<&'static str>,
    /// From top to bottom.
    pub rows: Vec<Row>,
    /// How it looks.
    pub layout: Layout,
    /// How rows beyond the limit are called: `more stack`.
    pub noun: &'static str,
    /// How many rows people get.
    pub most: Most,
    /// How many rows nobody gets, since there were too many.
    pub more: u64,
    /// The rows below rows.
    pub below: Below,
}

/// How people see a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Rows in columns.
    #[default]
    Rows,
    /// An empty line stands before each row: rows are paragraphs.
    Paragraphs,
    /// What the first column names is the name of its row: there are no headings.
    Facts,
}

/// Who gets a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readers {
    /// Everybody.
    #[default]
    All,
    /// Those who read text, Markdown, HTML, CSV or a screen.
    People,
    /// Those who read JSON.
    Programs,
}

/// How many rows people get; programs get all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Most {
    /// As many as they want.
    #[default]
    Asked,
    /// As many as they want, the last ones.
    Last,
    /// This many.
    Rows(usize),
    /// All: there are never many.
    All,
}

/// What rows below rows are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// Their field in the row above them; none if programs do not get them.
    pub id: Option<&'static str>,
    /// The field of their names, as in the table.
    pub key: Option<&'static str>,
    /// How those beyond the limit are called.
    pub noun: &'static str,
    /// How many people get.
    pub most: Most,
}

impl Document {
    /// A document of tables.
    pub fn new(id: &'static str, title: Title, tables: impl Into<Vec<Table>>) -> Self {
        let (head, warnings, notes, fields, more) = Default::default();
        Self { id, head, title, warnings, notes, fields, tables: tables.into(), more }
    }

    /// The tables that people get; below the first one, those with a row.
    pub fn for_people(&self) -> impl Iterator<Item = &Table> {
        let is_shown = |table: &&Table| table.title.is_none() || !table.rows.is_empty();
        self.tables.iter().filter(|table| table.readers != Readers::Programs).filter(is_shown)
    }

    /// The tables that programs get.
    pub fn for_programs(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().filter(|table| table.readers != Readers::People)
    }
}

impl Table {
    /// A table of stacks, or of what stands for them.
    pub fn new(id: &'static str, columns: impl Into<Vec<Column>>, heading: &'static str) -> Self {
        Self {
            id,
            readers: Readers::All,
            title: None,
            notes: Vec::new(),
            columns: columns.into(),
            heading,
            key: None,
            rows: Vec::new(),
            layout: Layout::Rows,
            noun: "more stack",
            most: Most::Asked,
            more: 0,
            below: Below::default(),
        }
    }

    /// Facts under a title, for people: what each is about, and the fact.
    pub fn facts(
        title: impl Into<Option<&'static str>>,
        facts: impl IntoIterator<Item = (Value, Value)>,
    ) -> Self {
        let width = 26;
        let rows = facts.into_iter().map(|(about, fact)| Row::new([about], fact)).collect();
        let columns = [Column::shown("fact").left().width(width)];
        let table = Self {
            title: title.into(),
            layout: Layout::Facts,
            most: Most::All,
            rows,
            ..Self::new("facts", columns, "value")
        };
        table.only(Readers::People)
    }

    /// The same with a field for the names.
    #[must_use]
    pub fn named(self, key: &'static str) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The same with paragraphs for rows.
    #[must_use]
    pub fn spaced(self) -> Self {
        let below = Below { most: Most::All, ..self.below };
        Self { layout: Layout::Paragraphs, below, ..self }
    }

    /// The same below a title.
    #[must_use]
    pub fn titled(self, title: &'static str) -> Self {
        Self { title: Some(title), ..self }
    }

    /// The same for these readers only.
    #[must_use]
    pub fn only(self, readers: Readers) -> Self {
        Self { readers, ..self }
    }

    /// The same with these rows.
    #[must_use]
    pub fn rows(self, rows: impl IntoIterator<Item = Row>) -> Self {
        Self { rows: rows.into_iter().collect(), ..self }
    }

    /// The rows that people get: not those that say nothing about the subject.
    pub fn for_people(&self) -> impl Iterator<Item = &Row> + Clone {
        self.rows.iter().filter(|row| !row.is_minor)
    }
}

impl Most {
    /// The number of rows where a reader wants so many.
    pub fn rows(self, asked: usize) -> usize {
        match self {
            Most::Asked | Most::Last => asked,
            Most::Rows(rows) => rows,
            Most::All => usize::MAX,
        }
    }
}
