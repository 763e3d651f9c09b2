//! A stack as the functions that a view shows.

use super::library_frames::{is_library_file, is_wrapper};
use crate::base::cost::Cost;
use crate::names::table::{Kind, Names, Step};
use capture::{Frame, FrameId, NodeId, Pseudo, Tables};
use std::cell::LazyCell;

/// The functions of a stack, innermost first, inlined ones and end markers included, kinds of calls left out.
pub fn functions_of<'a>(
    tables: &'a Tables,
    names: &'a Names,
    stack: NodeId,
) -> impl Iterator<Item = (FrameId, Step)> + 'a {
    tables
        .stack(stack)
        .flat_map(move |(_, node)| names.steps(node.frame).iter().map(move |&step| (node.frame, step)))
}

/// More standard library functions in a row than any container or adaptor needs.
const MOST_LIBRARY_FRAMES: usize = 100;

/// The most unnamed functions that a wrapper calls on its way to the allocator.
const MOST_WITHIN_WRAPPER: usize = 3;

/// The functions of a stack from the first that is not library frames. A stack of nothing but library frames is
/// kept whole.
pub fn meaningful<'a>(
    tables: &'a Tables,
    names: &'a Names,
    stack: NodeId,
) -> impl Iterator<Item = (FrameId, Step)> + 'a {
    functions_of(tables, names, stack).skip(library_frames(tables, names, stack))
}

/// The standard library function that the first meaningful one called; none if it called the allocator directly.
pub fn called_of(tables: &Tables, names: &Names, stack: NodeId) -> Option<Step> {
    let last = library_frames(tables, names, stack).checked_sub(1)?;
    let (_, step) = functions_of(tables, names, stack).nth(last)?;
    let short = names.label(step.label).short();
    let is_allocator =
        short.starts_with("operator new") || matches!(&*short, "malloc" | "calloc" | "realloc");
    (!is_allocator).then_some(step)
}

/// How many functions precede the first meaningful one; 0 if there is none.
pub fn library_frames(tables: &Tables, names: &Names, stack: NodeId) -> usize {
    let labels = || functions_of(tables, names, stack).map(|(_, step)| names.label(step.label));
    let has_script = LazyCell::new(|| labels().any(|label| label.script.is_some()));
    let has_own = LazyCell::new(|| labels().any(|label| label.script.is_some() && !label.is_interpreter));
    // What an interpreter does before it runs a script is its own.
    let is_library = |(_, step): &(FrameId, Step)| {
        let label = names.label(step.label);
        // An interpreter's own scripts stand for what runs them where there is no other.
        let is_behind_script = || if label.script.is_some() { *has_own } else { *has_script };
        is_of_library(tables, names, step) || label.is_interpreter && is_behind_script()
    };
    let count = |from: usize| {
        let functions = functions_of(tables, names, stack).skip(from);
        functions.take(MOST_LIBRARY_FRAMES.saturating_sub(from)).take_while(is_library).count()
    };
    let mut library_frames = count(0);
    // In a stripped library, only the outer part of a wrapper may have a name.
    while let Some(inner) = within_wrapper(tables, names, stack, library_frames) {
        library_frames += inner;
        library_frames += count(library_frames);
    }
    let beyond = functions_of(tables, names, stack).nth(library_frames);
    let all_of_it = beyond.is_none_or(|(frame, step)| {
        is_library(&(frame, step)) || matches!(names.label(step.label).kind, Kind::Marker(_))
    });
    if all_of_it { 0 } else { library_frames }
}

/// How many unnamed functions are between the allocator, or the library frames so far, and the wrapper in the same file
/// that called them.
fn within_wrapper(tables: &Tables, names: &Names, stack: NodeId, from: usize) -> Option<usize> {
    let mut file = None;
    let functions = functions_of(tables, names, stack).skip(from).take(MOST_WITHIN_WRAPPER + 1);
    for (inner, (_, step)) in functions.enumerate() {
        let label = names.label(step.label);
        match label.kind {
            Kind::InModule(module) if file.is_none_or(|file| file == module) => file = Some(module),
            Kind::Function(_, module) if inner > 0 && module == file => {
                return is_wrapper(&label.short_base()).then_some(inner);
            }
            _ => return None,
        }
    }
    None
}

/// True for a standard library function, or one that only forwards requests, and for an interpreter's own.
pub fn is_library_frame(tables: &Tables, names: &Names, step: &Step) -> bool {
    names.label(step.label).is_interpreter || is_of_library(tables, names, step)
}

/// The same without interpreters: by its name or by its file.
fn is_of_library(tables: &Tables, names: &Names, step: &Step) -> bool {
    names.label(step.label).is_library || step.file.is_some_and(|file| is_library_file(tables.string(file)))
}

/// The allocator function that was called.
pub fn call_of(tables: &Tables, stack: NodeId) -> &'static str {
    call_kind(tables, stack).map_or("malloc", Pseudo::label)
}

/// The same for a row: a stack that only frees has called `free` or its like.
pub fn call_of_row(tables: &Tables, stack: NodeId, cost: &Cost) -> &'static str {
    let only_frees = cost.allocated.is_zero() && !cost.frees.is_zero();
    if only_frees { "free" } else { call_of(tables, stack) }
}

/// The pseudo frame that says which function was called; none for plain `malloc`.
pub fn call_kind(tables: &Tables, stack: NodeId) -> Option<Pseudo> {
    let node = tables.nodes.get(stack.index()).filter(|_| stack != NodeId::ROOT)?;
    match tables.frames.get(node.frame.index()) {
        Some(Frame::Pseudo(pseudo)) if pseudo.is_call() => Some(*pseudo),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{Module, ModuleId, Node, SourceFrame, StringId, Symbolized};

    /// The first meaningful function of a stack of functions in modules, from the outermost inwards. The file of a script
    /// is its module.
    fn first(stack: &[(&str, &str)]) -> String {
        let mut tables =
            Tables { nodes: vec![Node { parent: NodeId::ROOT, frame: FrameId(0) }], ..Tables::default() };
        for (index, (module, function)) in stack.iter().enumerate() {
            tables.modules.push(Module { path: (*module).to_owned(), ..Module::default() });
            tables.strings.extend([(*function).to_owned(), (*module).to_owned()]);
            tables.frames.push(Frame::Code {
                module: Some(ModuleId::from_index(index)),
                address: 1,
                exact: false,
            });
            let frame = FrameId::from_index(index);
            let is_script = module.ends_with(".py") || module.starts_with('<');
            let file = is_script.then(|| StringId::from_index(2 * index + 1));
            let names =
                vec![SourceFrame { function: Some(StringId::from_index(2 * index)), file, line: Some(1) }];
            tables.symbols.push(Some(Symbolized { frame, names, ..Symbolized::default() }));
            tables.nodes.push(Node { parent: NodeId::from_index(index), frame });
        }
        let names = Names::new(&tables);
        let innermost = NodeId::from_index(stack.len());
        let (_, step) = meaningful(&tables, &names, innermost).next().expect("a stack has functions");
        names.label(step.label).name.clone()
    }

    /// Check that stacks begin at a script's function if there is one, else at one of the interpreter's own scripts, else at
    /// the interpreter.
    #[test]
    fn stacks_begin_at_the_script() {
        let libc = ("/lib/libc.so.6", "__libc_start_main");
        let [evaluates, allocates] = [("/bin/python3", "eval"), ("/bin/python3", "new_object")];
        let (script, import) = (("/srv/a.py", "load"), ("<frozen importlib._bootstrap>", "_find"));
        assert_eq!(first(&[libc, evaluates, script, import, allocates]), "load");
        assert_eq!(first(&[libc, evaluates, import, allocates]), "_find");
        assert_eq!(first(&[libc, evaluates, allocates]), "new_object");
    }
}
