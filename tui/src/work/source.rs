//! A file of source text.

use crate::catalogue;
use engine::Sources;
use report::text::escape;
use std::io::ErrorKind;
use std::path::Path;

/// The lines of a file, or why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceText {
    /// The lines, safe to print.
    pub(crate) lines: Vec<String>,
    /// Why there are none.
    pub(crate) reason: Option<String>,
}

impl SourceText {
    /// Reads a file of this machine, which may differ from the one that was compiled.
    pub(crate) fn read(path: &Path) -> Self {
        match Sources::read(path) {
            Ok(text) => Self { lines: text.lines().map(line).collect(), reason: None },
            Err(reason) if reason.kind() == ErrorKind::NotFound => {
                Self { lines: Vec::new(), reason: Some(catalogue::ELSEWHERE.to_owned()) }
            }
            Err(reason) => Self { lines: Vec::new(), reason: Some(reason.to_string()) },
        }
    }
}

fn line(text: &str) -> String {
    escape(&text.replace('\t', "    ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a file becomes lines that are safe to print, and that anything else gives a reason.
    #[test]
    fn files_become_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.c");
        std::fs::write(&path, "int main() {\n\treturn \u{1b}[1m0;\n}\n").unwrap();
        let source = SourceText::read(&path);
        assert_eq!(source.lines, ["int main() {", "    return \\u{1b}[1m0;", "}"]);
        assert!(SourceText::read(folder.path()).reason.unwrap().contains("not a regular file"));
        assert!(SourceText::read(&folder.path().join("b.c")).reason.is_some());
    }
}
