//! Shortest unambiguous paths.

use crate::names::file_name::file_name;
use crate::names::table::Step;
use capture::{StringId, Tables};
use std::collections::{BTreeSet, HashMap};

/// Most trailing parts that are tried before the whole path is shown.
const MOST_PARTS: usize = 4;

/// How the source files of some steps are displayed.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShortPaths {
    /// Displayed length in bytes, for paths whose last part is ambiguous.
    lengths: HashMap<StringId, usize>,
}

impl ShortPaths {
    pub(crate) fn new(steps: &[Step], tables: &Tables) -> Self {
        let files: BTreeSet<StringId> = steps.iter().filter_map(|step| step.file).collect();
        let mut by_name: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        for &file in &files {
            let path = tables.string(file);
            by_name.entry(file_name(path)).or_default().insert(path);
        }
        let shared = by_name.into_values().filter(|paths| paths.len() > 1).flat_map(|paths| {
            let paths: Vec<&str> = paths.into_iter().collect();
            let ends = shortest_ends(&paths).into_iter().map(str::len);
            paths.into_iter().zip(ends.collect::<Vec<_>>())
        });
        let lengths: HashMap<&str, usize> = shared.collect();
        let known = |file: StringId| Some((file, *lengths.get(tables.string(file))?));
        Self { lengths: files.into_iter().filter_map(known).collect() }
    }

    /// `parse.c`, or `json/parse.c` if there is another `parse.c`.
    pub(crate) fn of<'t>(&self, file: StringId, tables: &'t Tables) -> &'t str {
        let path = tables.string(file);
        let end = self.lengths.get(&file).and_then(|length| path.get(path.len().checked_sub(*length)?..));
        end.unwrap_or_else(|| file_name(path))
    }
}

/// For each path the shortest suffix, in whole parts, that no other path has; the whole path if no short one is
/// unique.
pub(crate) fn shortest_ends<'a>(paths: &[&'a str]) -> Vec<&'a str> {
    let mut ends = paths.to_vec();
    for parts in (1..=MOST_PARTS).rev() {
        let mut times: HashMap<&str, usize> = HashMap::new();
        paths.iter().for_each(|path| *times.entry(end(path, parts)).or_default() += 1);
        for (shown, path) in ends.iter_mut().zip(paths).filter(|(_, path)| times[end(path, parts)] == 1) {
            *shown = end(path, parts);
        }
    }
    ends
}

/// The last parts of a path, or all of it if it has no more.
fn end(path: &str, parts: usize) -> &str {
    match path.rmatch_indices('/').nth(parts - 1) {
        Some((at, _)) if at + 1 < path.len() => &path[at + 1..],
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::table::LabelId;

    /// Check that files are shown by name, namesakes by as much of their paths as tells them apart, and that a path
    /// that occurs twice is not ambiguous.
    #[test]
    fn files_are_told_apart() {
        let paths = [
            "/src/json/parse.c",
            "/src/xml/parse.c",
            "/src/main.c",
            "/src/main.c",
            "main.rs",
            "/a/main.rs",
            "",
        ];
        let tables = Tables { strings: paths.map(str::to_owned).to_vec(), ..Tables::default() };
        let step = |file| Step {
            label: LabelId::EVERYTHING,
            file: Some(StringId::from_index(file)),
            line: None,
            inlined: false,
        };
        let steps: Vec<Step> = (0..paths.len()).map(step).collect();
        let short = ShortPaths::new(&steps, &tables);
        let shown: Vec<&str> =
            (0..paths.len()).map(|file| short.of(StringId::from_index(file), &tables)).collect();
        assert_eq!(shown, ["json/parse.c", "xml/parse.c", "main.c", "main.c", "main.rs", "a/main.rs", ""]);
    }
}
