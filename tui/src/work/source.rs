//! A file of source text.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use viewer::text::escape;

/// Longest file that is shown.
const MOST_BYTES: u64 = 8 << 20;

/// The lines of a file, or why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceText {
    /// Harmless for a terminal.
    pub(crate) lines: Vec<String>,
    /// Why there are none.
    pub(crate) reason: Option<String>,
}

impl SourceText {
    /// Reads a file of this machine, which need not be the one that was compiled.
    pub(crate) fn read(path: &Path) -> Self {
        match text(path) {
            Ok(text) => Self { lines: text.lines().map(line).collect(), reason: None },
            Err(reason) => Self { lines: Vec::new(), reason: Some(reason) },
        }
    }
}

fn text(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    // A path of a capture may name anything: what is no file is not opened, since a pipe would wait for its other end.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("it is longer than any source file".to_owned());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn line(text: &str) -> String {
    escape(&text.replace('\t', "    ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a file becomes harmless lines, and that what is none says why.
    #[test]
    fn files_become_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.c");
        std::fs::write(&path, "int main() {\n\treturn \u{1b}[1m0;\n}\n").unwrap();
        let source = SourceText::read(&path);
        assert_eq!(source.lines, ["int main() {", "    return \\u{1b}[1m0;", "}"]);
        assert!(SourceText::read(folder.path()).reason.unwrap().contains("no regular file"));
        assert!(SourceText::read(&folder.path().join("b.c")).reason.is_some());
    }
}
