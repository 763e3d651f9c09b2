//! Source files of this machine, read when a line of them is to be shown.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longest file that is read.
const MOST_BYTES: u64 = 8 << 20;

/// Most files that are kept.
const MOST_FILES: usize = 2000;

/// Source files, each read once.
#[derive(Debug, Default)]
pub struct Sources {
    /// Prefixes of paths, and their replacements.
    path_map: Vec<(String, String)>,
    files: HashMap<PathBuf, Option<Vec<String>>>,
}

impl Sources {
    /// Sources that look for a path under the replacement of its prefix.
    pub fn new(path_map: Vec<(String, String)>) -> Self {
        Self { path_map, files: HashMap::new() }
    }

    /// A line of a file, counted from 1; none when this machine does not have it.
    pub fn line(&mut self, path: &str, line: u32) -> Option<&str> {
        let path = self.here(path);
        if !self.files.contains_key(&path) && self.files.len() >= MOST_FILES {
            return None;
        }
        let read =
            |path: &PathBuf| Self::read(path).ok().map(|text| text.lines().map(str::to_owned).collect());
        let lines = self.files.entry(path).or_insert_with_key(read);
        lines.as_ref()?.get(usize::try_from(line).ok()?.checked_sub(1)?).map(String::as_str)
    }

    /// The text of a file, which may differ from the one that was compiled.
    ///
    /// # Errors
    /// Why it cannot be shown.
    pub fn read(path: &Path) -> io::Result<String> {
        let refused = |text: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        // A capture's path may name anything: only regular files are opened, since opening a pipe would block until
        // someone writes to it.
        if !fs::metadata(path)?.is_file() {
            return refused("not a regular file");
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_BYTES {
            return refused("too long for a source file");
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Where a path is to be looked for on this machine.
    pub fn here(&self, path: &str) -> PathBuf {
        let rest = |from: &String| {
            path.strip_prefix(from.as_str())
                .filter(|rest| rest.is_empty() || rest.starts_with('/') || from.ends_with('/'))
        };
        let found = self.path_map.iter().find_map(|(from, to)| Some(format!("{to}{}", rest(from)?)));
        found.map_or_else(|| PathBuf::from(path), PathBuf::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that lines are counted from 1, that paths are looked for where they are now, and that what is no file, or not
    /// there, has no lines.
    #[test]
    fn lines_are_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.c"), "first\nsecond\n").unwrap();
        let here = folder.path().to_str().unwrap().to_owned();
        let mut sources = Sources::new(vec![("/build".to_owned(), here.clone())]);
        assert_eq!(sources.line("/build/a.c", 2), Some("second"));
        assert_eq!(sources.line(&format!("{here}/a.c"), 1), Some("first"));
        for (path, line) in [("/build/a.c", 0), ("/build/a.c", 3), ("/build/b.c", 1), ("/builder/a.c", 1)] {
            assert_eq!(sources.line(path, line), None, "{path}:{line}");
        }
        assert!(Sources::read(folder.path()).unwrap_err().to_string().contains("not a regular file"));
    }
}
