//! `errors`: calls that returned no memory, and frees of what was no block.

mod failed;
mod invalid_frees;

pub(crate) use failed::{asked_for, failed_in_all};

use crate::table::{Document, Title, Value, phrase};
use analysis::lifetimes::InvalidFreeRow;
use engine::Loaded;

/// The most recent failed call first, then the first invalid free; `more` of these were not examined.
pub fn errors(loaded: &Loaded, frees: &[InvalidFreeRow], more: u64) -> Document {
    let calls = loaded.profile.failed_calls();
    let numbers = phrase![
        Value::counted(calls, "failed allocation"),
        ", ",
        Value::counted(frees.len() as u64 + more, "invalid free")
    ];
    let tables = [failed::table(loaded), invalid_frees::table(loaded, frees, more)];
    let notes = failed::notes(loaded).into_iter().chain(invalid_frees::notes(loaded, frees));
    let notes = notes.filter(|(is_lacking, _)| *is_lacking).map(|(_, text)| text.into()).collect();
    let is_told = Value::Flag(loaded.tables.metadata.tells_failed_calls());
    Document {
        notes,
        fields: vec![("told", is_told), ("failed_calls", Value::count(calls))],
        more: vec![("more", Value::count(more))],
        ..Document::new("errors", Title::Words(numbers), tables)
    }
}
