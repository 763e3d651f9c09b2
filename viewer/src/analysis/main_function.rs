//! Finds the main function of a program without symbols.
//!
//! The file has no name for it, but its place on the stack identifies it: it is the only function of the program that
//! the C library calls right after the program's entry has called the library.
//!
//! ```text
//! outermost   _start or <in app>  ──  __libc_start_main, <in libc.so.6> …  ──  <in app>, which is main
//! ```

use super::names::file_name;
use capture::{Frame, FrameId, ModuleId, NodeId, Tables};
use std::collections::HashSet;

/// How far a stack has come, from its root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    /// In the entry point of this program.
    Entry(ModuleId),
    /// In the C library's code that precedes main.
    Library(ModuleId),
    /// Past that.
    Other,
}

/// The unnamed frames that are certainly in main.
pub(super) fn nameless_mains(tables: &Tables) -> HashSet<FrameId> {
    let mut mains = HashSet::new();
    let mut places = vec![Place::Other; tables.nodes.len()];
    // The first row is the empty stack.
    for (index, node) in tables.nodes.iter().enumerate().skip(1) {
        let before = match node.parent {
            NodeId::ROOT => Place::Root,
            // Parents come before their children.
            parent => places
                .get(..index)
                .and_then(|before| before.get(parent.index()))
                .copied()
                .unwrap_or(Place::Other),
        };
        if before == Place::Other {
            continue;
        }
        let Some(Frame::Code { module: Some(module), .. }) = tables.frames.get(node.frame.index()).copied()
        else {
            continue;
        };
        let name = function(tables, node.frame);
        places[index] = match before {
            Place::Root if name.is_none_or(|name| name == "_start") => Place::Entry(module),
            Place::Entry(program) | Place::Library(program) if starts_programs(tables, module, name) => {
                Place::Library(program)
            }
            Place::Library(program) if program == module && name.is_none() => {
                mains.insert(node.frame);
                Place::Other
            }
            _ => Place::Other,
        };
    }
    mains
}

/// The function that owns a frame's code.
fn function(tables: &Tables, frame: FrameId) -> Option<&str> {
    let owner = tables.symbol(frame)?.names.last()?;
    owner.function.map(|name| tables.string(name)).filter(|name| !name.is_empty())
}

/// True when the code is the part of the C library that precedes main.
fn starts_programs(tables: &Tables, module: ModuleId, name: Option<&str>) -> bool {
    let file = tables.modules.get(module.index()).map_or("", |module| file_name(&module.path));
    let is_libc = file.starts_with("libc.so") || file.starts_with("libc-2");
    is_libc && name.is_none_or(|name| name.starts_with("__libc_start"))
}

#[cfg(test)]
mod tests {
    use crate::analysis::Names;
    use capture::{
        Frame, FrameId, Module, ModuleId, Node, NodeId, SourceFrame, StringId, Symbolized, Tables,
    };

    const PROGRAM: &str = "/bin/app";
    const LIBC: &str = "/lib/libc.so.6";

    /// Check the names of a stack in files, outermost function first; `""` has no name.
    fn check(stack: &[(&str, &str)], expected: &[&str]) {
        let modules =
            [PROGRAM, LIBC].map(|path| Module { path: path.to_owned(), ..Module::default() }).into();
        let mut tables = Tables { modules, ..Tables::default() };
        tables.nodes.push(Node { parent: NodeId::ROOT, frame: FrameId(0) });
        for (index, (function, file)) in stack.iter().enumerate() {
            let frame = FrameId::from_index(index);
            let module = Some(ModuleId::from_index(usize::from(*file == LIBC)));
            tables.frames.push(Frame::Code { module, address: index as u64, exact: false });
            tables.strings.push((*function).to_owned());
            let function = Some(StringId::from_index(index)).filter(|_| !function.is_empty());
            let names = vec![SourceFrame { function, ..SourceFrame::default() }];
            tables.symbols.push(Some(Symbolized { frame, names, ..Symbolized::default() }));
            tables.nodes.push(Node { parent: NodeId(index as u32), frame });
        }
        let names = Names::new(&tables);
        let name = |index| names.label(names.steps(FrameId::from_index(index))[0].label).name.as_str();
        assert_eq!((0..stack.len()).map(name).collect::<Vec<_>>(), expected);
    }

    /// Check that main is recognized in a program without symbols, whether the library has them or not, and that
    /// nothing else is taken for it: a named function, a deeper one, the start of a thread, another program.
    #[test]
    fn main_is_known_by_its_place() {
        let main = "<main of app>";
        let (program, libc) = ("<in app>", "<in libc.so.6>");
        check(
            &[("", PROGRAM), ("__libc_start_main", LIBC), ("", LIBC), ("", PROGRAM), ("", PROGRAM)],
            &[program, "__libc_start_main", libc, main, program],
        );
        check(&[("_start", PROGRAM), ("", LIBC), ("", PROGRAM)], &["_start", libc, main]);
        check(&[("", PROGRAM), ("", LIBC), ("main", PROGRAM)], &[program, libc, "main"]);
        check(&[("", LIBC), ("", LIBC), ("", PROGRAM)], &[libc, libc, program]);
        check(&[("", PROGRAM), ("qsort", LIBC), ("", PROGRAM)], &[program, "qsort", program]);
        check(&[("", PROGRAM), ("", PROGRAM)], &[program, program]);
    }
}
