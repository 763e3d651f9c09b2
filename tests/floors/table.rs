//! The table of floors: a row for each package, its folders from the roof down, as in `` | `cli` | roof > a · b > base | ``.

use std::collections::HashMap;

/// On which floor each top-level module of a package is; the roof has the highest number.
#[derive(Debug, Default)]
pub(crate) struct Floors(HashMap<String, usize>);

impl Floors {
    pub(crate) fn of(&self, module: &str) -> Option<usize> {
        self.0.get(module).copied()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The rows of the table in a document, each with the folder of its package.
pub(crate) fn rows(document: &str) -> Vec<(String, Floors)> {
    let lines = document.lines().skip_while(|line| !line.starts_with("| crate | floors")).skip(2);
    lines.take_while(|line| line.starts_with('|')).map(row).collect()
}

fn row(line: &str) -> (String, Floors) {
    let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', ""));
    let (package, floors) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
    let levels = floors.split('>').rev().enumerate();
    let names = levels.flat_map(|(floor, names)| {
        names
            .split('·')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(move |name| (name.to_owned(), floor))
    });
    (package, Floors(names.collect()))
}
