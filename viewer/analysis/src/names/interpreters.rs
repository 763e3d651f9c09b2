//! Which files are interpreters, of which views show the scripts and not what runs them.

use crate::names::file_name::file_name;
use capture::{Frame, FrameId, Tables};

/// By module, whether it is an interpreter whose scripts have functions on stacks. Where there are none, the
/// interpreter's own functions are all that is known.
pub(super) fn interpreters(tables: &Tables) -> Vec<bool> {
    let are_there_scripts =
        (0..tables.frames.len()).any(|index| is_of_script(tables, FrameId::from_index(index)));
    let modules = tables.modules.iter();
    modules.map(|module| are_there_scripts && is_python(file_name(&module.path))).collect()
}

/// True for a function of a script: its file stands in for a module.
pub(super) fn is_of_script(tables: &Tables, frame: FrameId) -> bool {
    let Frame::Code { module: Some(module), .. } = tables.frames[frame.index()] else { return false };
    let file = tables.symbol(frame).and_then(|symbol| symbol.names.first()?.file);
    let path = tables.modules.get(module.index()).map(|module| module.path.as_str());
    file.is_some_and(|file| path == Some(tables.string(file)))
}

/// True for the names of Python's executable and its library, with any version: `python3.11`, `libpython3.12.so.1.0`.
fn is_python(file: &str) -> bool {
    let name = file.strip_prefix("lib").unwrap_or(file);
    let version = name.strip_prefix("python").map(|rest| rest.split(".so").next().unwrap_or(rest));
    version.is_some_and(|version| {
        let digits = version.trim_end_matches(['d', 'm', 't', 'u']);
        digits.bytes().all(|letter| letter.is_ascii_digit() || letter == b'.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{Module, ModuleId, SourceFrame, StringId, Symbolized};

    /// Check which files are Python.
    #[test]
    fn python_is_known_by_its_file() {
        for file in [
            "python",
            "python3",
            "python3.11",
            "python3.13t",
            "python3.8d",
            "libpython3.12.so.1.0",
            "libpython3.so",
        ] {
            assert!(is_python(file), "{file}");
        }
        for file in
            ["python3-config", "pythonize", "ipython3", "_json.cpython-311-x86_64-linux-gnu.so", "libc.so.6"]
        {
            assert!(!is_python(file), "{file}");
        }
    }

    /// Check that an interpreter counts as one only where there are functions of scripts.
    #[test]
    fn interpreters_without_scripts_are_programs() {
        let mut tables = Tables::default();
        for path in ["/usr/bin/python3.11", "/srv/a.py"] {
            tables.modules.push(Module { path: path.to_owned(), ..Module::default() });
        }
        assert_eq!(interpreters(&tables), [false, false]);
        tables.strings = vec!["/srv/a.py".to_owned()];
        tables.frames.push(Frame::Code { module: Some(ModuleId(1)), address: 3, exact: true });
        let names = vec![SourceFrame { file: Some(StringId(0)), ..SourceFrame::default() }];
        tables.symbols.push(Some(Symbolized { frame: FrameId(0), names, ..Symbolized::default() }));
        assert_eq!(interpreters(&tables), [true, false]);
    }
}
