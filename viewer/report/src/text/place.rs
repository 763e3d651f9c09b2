//! Functions and places as parts of a line.

use super::escape::{columns, escape, fit};
use analysis::{Kind, LabelId, Names, Step, meaningful};
use capture::{FrameId, NodeId, StringId};
use engine::Loaded;

/// A function's name for a line with several: short and escaped.
pub(super) fn function(names: &Names, step: &Step) -> String {
    escape(&names.label(step.label).short()).into_owned()
}

/// Longest name that is written in full if the short one would do. C++ has names of some thousand characters.
const LONGEST: usize = 120;

/// A name for a column of this width: in full, otherwise the short one, otherwise the beginning of that.
pub fn fit_name(names: &Names, label: LabelId, room: usize) -> String {
    let label = names.label(label);
    let full = escape(&label.name);
    if columns(&full) <= room.min(LONGEST) {
        return full.into_owned();
    }
    fit(&escape(&label.short()), room).into_owned()
}

/// `parse.c:12`, as far as known; without the directory unless another file has the same name.
pub fn place(loaded: &Loaded, step: &Step) -> Option<String> {
    place_of(loaded, step.file, step.line)
}

/// The same of a line in a file.
pub(super) fn place_of(loaded: &Loaded, file: Option<StringId>, line: Option<u32>) -> Option<String> {
    let file = loaded.names.short_path(file?, &loaded.tables);
    if file.is_empty() {
        return None;
    }
    let file = escape(file);
    Some(line.map_or_else(|| file.to_string(), |line| format!("{file}:{line}")))
}

/// `parse.c:12`, or else why the function is unknown.
pub fn detail(loaded: &Loaded, step: &Step) -> Option<String> {
    match loaded.names.label(step.label).kind {
        Kind::Unknown(Some(reason)) => Some(escape(loaded.tables.string(reason)).into_owned()),
        _ => place(loaded, step),
    }
}

/// The same when each function of a stack has its own line: an unnamed function in a known file shows the reason,
/// too.
pub fn detail_of_frame(loaded: &Loaded, frame: FrameId, step: &Step) -> Option<String> {
    let Kind::InModule(_) = loaded.names.label(step.label).kind else { return detail(loaded, step) };
    let reason = loaded.tables.symbol(frame)?.reason?;
    Some(escape(loaded.tables.string(reason)).into_owned())
}

/// The functions of a stack from the first meaningful one, at most `limit`, as `parse parse.c:12 < read < main`.
/// Recursive calls of a function are written once, with their number, and so are unnamed callers in the same file.
/// Between functions of a script, those of its interpreter are left out.
pub(super) fn chain(loaded: &Loaded, stack: NodeId, skip: usize, limit: usize) -> String {
    let Loaded { names, tables, .. } = loaded;
    let is_interpreter = |step: &Step| names.label(step.label).is_interpreter;
    let are_all_shown = meaningful(tables, names, stack).next().is_none_or(|(_, step)| is_interpreter(&step));
    let functions = meaningful(tables, names, stack).enumerate().skip(skip);
    chain_of(names, functions.filter(|(_, (_, step))| are_all_shown || !is_interpreter(step)), limit)
}

/// The same of these functions, each with its place on the stack.
pub(super) fn chain_of(
    names: &Names,
    functions: impl Iterator<Item = (usize, (FrameId, Step))>,
    limit: usize,
) -> String {
    let mut parts: Vec<(String, usize)> = Vec::new();
    let mut previous = None;
    let mut cut = false;
    for (index, (_, step)) in functions {
        // For the allocating function it matters which unnamed function it is; for callers on one line the file is
        // enough.
        let label = names.label(step.label);
        let is_file = index > 0 && matches!(label.kind, Kind::InModule(_));
        let name = if is_file { label.without_start() } else { label.short() };
        let name = escape(&name).into_owned();
        let last =
            parts.last_mut().filter(|(last, _)| previous == Some(step.label) || is_file && *last == name);
        if let Some((_, times)) = last {
            *times += 1;
            continue;
        }
        if parts.len() == limit {
            cut = true;
            break;
        }
        previous = Some(step.label);
        parts.push((name, 1));
    }
    let parts =
        parts.into_iter().map(|(name, times)| if times > 1 { format!("{name} ×{times}") } else { name });
    let mut text = parts.collect::<Vec<_>>().join(" < ");
    if cut {
        text.push_str(" < …");
    }
    text
}
