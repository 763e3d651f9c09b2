//! The page's statement about the whole capture: the `info --json` document, shortened where it is too long.

use engine::Loaded;
use report::json;
use report::text::{pages_text, unsampled_texts, warning_texts};
use report::views::info;
use serde_json::Value;
use std::io;

use super::texts::shortened;

/// Most rows of a list that a page keeps, such as the list of processes.
const MOST_ROWS: usize = 1000;

/// What a capture says about itself.
#[derive(Debug)]
pub(super) struct Overview {
    /// The document of `info --json`.
    pub(super) document: Value,
    /// Number of rows of its lists that were left out.
    pub(super) left_out: usize,
    /// Why its numbers may be too low, as in reports, including the warnings about samples.
    pub(super) warnings: Vec<String>,
    /// What its numbers do not cover.
    pub(super) notes: Vec<String>,
}

/// What a capture says about itself, as far as fits into a page.
pub(super) fn overview(loaded: &Loaded) -> io::Result<Overview> {
    let mut text = Vec::new();
    json::document(&mut text, loaded, &info(loaded, usize::MAX))?;
    let mut document: Value = serde_json::from_slice(&text)?;
    let left_out = without_the_first(&mut document["scans"]) + cut(&mut document);
    let warnings = warning_texts(loaded).into_iter().chain(unsampled_texts(loaded));
    let shortened = |texts: &mut dyn Iterator<Item = String>| texts.map(|text| shortened(&text)).collect();
    let (warnings, notes) =
        (shortened(&mut warnings.into_iter()), shortened(&mut pages_text(loaded).into_iter()));
    Ok(Overview { document, left_out, warnings, notes })
}

/// Removes the beginning of a list: of scans, the last ones matter.
fn without_the_first(list: &mut Value) -> usize {
    let Value::Array(rows) = list else { return 0 };
    let gone = rows.len().saturating_sub(MOST_ROWS);
    rows.drain(..gone);
    gone
}

/// Truncates lists and texts that are longer than anybody reads, and counts the rows removed. The nesting depth of
/// the document is determined by our own code.
fn cut(value: &mut Value) -> usize {
    match value {
        Value::String(text) => {
            *text = shortened(text);
            0
        }
        Value::Array(rows) => {
            let gone = rows.len().saturating_sub(MOST_ROWS);
            rows.truncate(MOST_ROWS);
            gone + rows.iter_mut().map(cut).sum::<usize>()
        }
        Value::Object(fields) => fields.values_mut().map(cut).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Check that long lists are truncated at every level, and that the removed rows are counted.
    #[test]
    fn long_lists_are_cut() {
        let mut document = json!({"a": vec![1; MOST_ROWS + 5], "b": [{"c": vec![2; MOST_ROWS + 2]}], "d": 3});
        assert_eq!(cut(&mut document), 7);
        assert_eq!(document["a"].as_array().map(Vec::len), Some(MOST_ROWS));
        assert_eq!(document["b"][0]["c"].as_array().map(Vec::len), Some(MOST_ROWS));
        assert_eq!(document["d"], 3);
    }

    /// Check that of many scans the last ones stay.
    #[test]
    fn the_last_scans_stay() {
        let mut scans = Value::from((0..MOST_ROWS as u64 + 3).collect::<Vec<_>>());
        assert_eq!((without_the_first(&mut scans), &scans[0]), (3, &json!(3)));
        assert_eq!(scans.as_array().map(Vec::len), Some(MOST_ROWS));
        assert_eq!(without_the_first(&mut Value::Null), 0);
    }
}
