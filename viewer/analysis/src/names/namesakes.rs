//! Functions of the same name in different files get the file's name as a suffix; a unique name gets none. Functions
//! of the recording's own library, which CPU samples hit, always get one, so that nobody takes them for the
//! program's.

use super::agent_library::is_agents;
use super::short_path::shortest_ends;
use crate::names::file_name::place;
use crate::names::table::{Kind, Label, Script};
use capture::{ModuleId, Tables};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// Suffix of the recording's own functions.
const RECORDING: &str = "sysprof-memprof";

/// Adds suffixes where needed.
pub(crate) fn tell_apart(labels: &mut [Label], tables: &Tables) {
    let mut namesakes: HashMap<Cow<'_, str>, Vec<usize>> = HashMap::new();
    for (index, label) in labels.iter().enumerate() {
        if path_of(label, tables).is_some() {
            namesakes.entry(label.without_start()).or_default().push(index);
        }
    }
    let mut suffixes = Vec::new();
    for (index, label) in labels.iter().enumerate() {
        if path_of(label, tables).is_some_and(is_agents) {
            suffixes.push((index, RECORDING));
        }
    }
    for indices in namesakes.into_values() {
        let path = |index: usize| path_of(&labels[index], tables).unwrap_or_default();
        // Unnamed functions that begin at different places of one file are not namesakes.
        let paths: Vec<&str> =
            indices.iter().map(|&index| path(index)).collect::<BTreeSet<_>>().into_iter().collect();
        if paths.len() < 2 {
            continue;
        }
        let ends: HashMap<&str, &str> = paths.iter().copied().zip(shortest_ends(&paths)).collect();
        let known = indices.into_iter().filter(|&index| !path(index).is_empty() && !is_agents(path(index)));
        suffixes.extend(known.map(|index| (index, ends[path(index)])));
    }
    for (index, suffix) in suffixes {
        let suffix = format!(" [{suffix}]");
        labels[index].suffix = suffix.len();
        labels[index].name += &suffix;
    }
}

/// The file that could tell this label from its namesakes: empty for code outside of files, none for anything but
/// code.
fn path_of<'a>(label: &Label, tables: &'a Tables) -> Option<&'a str> {
    if let Some(Script::Compiled(Some(file))) = label.script {
        return Some(tables.string(file));
    }
    match label.kind {
        Kind::Function(_, Some(module)) | Kind::InModule(module) => Some(path(module, tables)),
        Kind::Function(_, None) => Some(""),
        _ => None,
    }
}

fn path(module: ModuleId, tables: &Tables) -> &str {
    tables.modules.get(module.index()).map_or("", |module| place(&module.path))
}

#[cfg(test)]
mod tests {
    use crate::names::table::Names;
    use capture::{Frame, FrameId, Module, ModuleId, SourceFrame, StringId, Symbolized, Tables};

    /// Check the names of functions called `function` in files with these paths; `""` is no file.
    fn check(frames: &[(&str, &str)], expected: &[&str]) {
        let mut tables = Tables::default();
        for (index, (function, path)) in frames.iter().enumerate() {
            tables.modules.push(Module { path: (*path).to_owned(), ..Module::default() });
            tables.strings.push((*function).to_owned());
            let module = Some(ModuleId::from_index(index)).filter(|_| !path.is_empty());
            tables.frames.push(Frame::Code { module, address: 1, exact: false });
            let function = Some(StringId::from_index(index)).filter(|_| !function.is_empty());
            let names = vec![SourceFrame { function, ..SourceFrame::default() }];
            tables.symbols.push(Some(Symbolized {
                frame: FrameId::from_index(index),
                names,
                ..Symbolized::default()
            }));
        }
        let names = Names::new(&tables);
        let label = |index| names.label(names.steps(FrameId::from_index(index))[0].label);
        let shown: Vec<&str> = (0..frames.len()).map(|index| label(index).name.as_str()).collect();
        assert_eq!(shown, expected);
    }

    /// Check that namesakes get the shortest suffix that tells them apart, and that nothing else gets one.
    #[test]
    fn namesakes_are_told_apart() {
        check(&[("init", "/a/liba.so"), ("go", "/b/libb.so")], &["init", "go"]);
        check(&[("init", "/a/liba.so"), ("init", "/b/libb.so")], &["init [liba.so]", "init [libb.so]"]);
        check(&[("init", "/a/lib.so"), ("init", "/b/lib.so")], &["init [a/lib.so]", "init [b/lib.so]"]);
        check(&[("init", "/a/lib.so"), ("init", "/a/lib.so")], &["init", "init"]);
        check(&[("init", "/a/lib.so"), ("init", "")], &["init [lib.so]", "init"]);
        check(&[("", "/a/lib.so"), ("", "/b/lib.so")], &["<in lib.so> [a/lib.so]", "<in lib.so> [b/lib.so]"]);
        check(
            &[("init", "/x/a/lib.so"), ("init", "/y/a/lib.so"), ("init", "/a/other.so"), ("init", "lib.so")],
            &["init [x/a/lib.so]", "init [y/a/lib.so]", "init [other.so]", "init [lib.so]"],
        );
        check(&[("init", "/a/xlib.so"), ("init", "/b/lib.so")], &["init [xlib.so]", "init [lib.so]"]);
        check(&[("", ""), ("", "/a/lib.so")], &["???", "<in lib.so>"]);
        check(
            &[("", "[heap of 12]"), ("", "[stack of thread 7 of 12]")],
            &["<in heap>", "<in stack of thread 7>"],
        );
        check(&[("f", "[anonymous code (JIT?) of 1]"), ("f", "[anonymous code (JIT?) of 2]")], &["f", "f"]);
        check(&[("f", "[vdso]"), ("f", "[kernel]")], &["f [[vdso]]", "f [[kernel]]"]);
        let agent = "/tmp/x/libsysprof_memprof_preload.0123456789abcdef.so";
        check(
            &[("malloc", "/a/libc.so"), ("malloc", agent), ("walk", agent), ("", agent)],
            &[
                "malloc [libc.so]",
                "malloc [sysprof-memprof]",
                "walk [sysprof-memprof]",
                "<in libsysprof_memprof_preload.0123456789abcdef.so> [sysprof-memprof]",
            ],
        );
    }

    /// Check that a function without a name that is known to be main is shown as main of its file, while one that is
    /// called so keeps its name.
    #[test]
    fn main_without_a_name_is_main_of_its_file() {
        let mut tables = Tables { strings: vec!["main".to_owned()], ..Tables::default() };
        tables.modules = vec![Module { path: "/bin/app".to_owned(), ..Module::default() }];
        let main = Some(StringId(0));
        for (index, (function, linkage)) in [(None, main), (None, None), (main, None)].into_iter().enumerate()
        {
            let frame = FrameId::from_index(index);
            tables.frames.push(Frame::Code { module: Some(ModuleId(0)), address: 1, exact: false });
            let names = vec![SourceFrame { function, ..SourceFrame::default() }];
            tables.symbols.push(Some(Symbolized { frame, names, linkage, ..Symbolized::default() }));
        }
        let names = Names::new(&tables);
        let name = |index| names.label(names.steps(FrameId::from_index(index))[0].label).name.as_str();
        assert_eq!([0, 1, 2].map(name), ["<main of app>", "<in app>", "main"]);
    }

    /// Check that the suffix outlives the shortening of a name.
    #[test]
    fn short_names_keep_their_suffix() {
        let mut labels = ["/a.so", "/b.so"].map(|path| {
            let kind = super::Kind::Function(StringId(0), Some(ModuleId(u32::from(path == "/b.so"))));
            super::Label {
                name: "T<int>::f(int)".to_owned(),
                suffix: 0,
                start: None,
                kind,
                is_library: false,
                is_interpreter: false,
                script: None,
            }
        });
        let module = |path: &str| Module { path: path.to_owned(), ..Module::default() };
        let tables = Tables { modules: vec![module("/a.so"), module("/b.so")], ..Tables::default() };
        super::tell_apart(&mut labels, &tables);
        assert_eq!(labels[1].name, "T<int>::f(int) [b.so]");
        assert_eq!(labels[1].short(), "T::f [b.so]");
    }
}
