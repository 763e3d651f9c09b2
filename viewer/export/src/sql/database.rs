//! The database: created in one transaction, table by table.

use super::{blocks, tables};
use engine::{Events, Loaded};
use rusqlite::Connection;
use std::path::Path;

const SCHEMA: &str = include_str!("schema.sql");

/// What can go wrong with a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The capture cannot be read, or the result cannot be written.
    #[error(transparent)]
    View(#[from] engine::Error),
    /// The statement is wrong, or the database cannot be written; the text is that of `SQLite`.
    #[error("{0}")]
    Sql(#[from] rusqlite::Error),
    /// The statement names a table or column that does not exist; the text is that of `SQLite`, with those that do.
    #[error("{error}; {hint}")]
    Unknown {
        /// What `SQLite` says.
        error: rusqlite::Error,
        /// What there is.
        hint: String,
    },
    /// More than one statement, or none.
    #[error("give one statement, such as \"select count(*) from blocks\"")]
    Statements,
    /// Two columns have the same name, in a form that refers to values by name.
    #[error("two columns are named {0}: rename one, as in \"{0} as other\"")]
    SameName(String),
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::View(error.into())
    }
}

/// Writes all tables into a database file, which must be new.
///
/// # Errors
/// When the file cannot be written, or the events cannot be read.
pub fn write(path: &Path, loaded: &Loaded, events: &dyn Events) -> Result<(), Error> {
    let mut connection = Connection::open(path)?;
    fill(&mut connection, loaded, Some(events))?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Creates the tables; `blocks` and `failed_allocations` stay empty without events.
pub(super) fn fill(
    connection: &mut Connection,
    loaded: &Loaded,
    events: Option<&dyn Events>,
) -> Result<(), Error> {
    // If anything fails, the database is discarded: a journal would be useless.
    connection.execute_batch("pragma journal_mode = off; pragma synchronous = off;")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    tables::fill(&transaction, loaded)?;
    if let Some(events) = events {
        blocks::fill(&transaction, loaded, events)?;
    }
    transaction.commit()?;
    Ok(())
}
