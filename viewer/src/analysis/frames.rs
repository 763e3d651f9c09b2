//! A stack as the functions that a view shows.

use super::cost::Cost;
use super::names::{Kind, Names, Step};
use super::noise::{is_noise_file, is_wrapper};
use capture::{Frame, FrameId, NodeId, Pseudo, Tables};

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

/// More functions of the standard library in a row than any container or adaptor needs.
const MOST_PLUMBING: usize = 100;

/// More functions without a name than a wrapper calls on its way to the allocator.
const MOST_WITHIN_WRAPPER: usize = 3;

/// The same from the first function on that is not the standard library's plumbing. A stack of nothing else keeps
/// all of it.
pub fn meaningful<'a>(
    tables: &'a Tables,
    names: &'a Names,
    stack: NodeId,
) -> impl Iterator<Item = (FrameId, Step)> + 'a {
    functions_of(tables, names, stack).skip(plumbing(tables, names, stack))
}

/// The standard library's function that the first meaningful one has called, if it did; none when that is the
/// allocator.
pub fn called_of(tables: &Tables, names: &Names, stack: NodeId) -> Option<Step> {
    let last = plumbing(tables, names, stack).checked_sub(1)?;
    let (_, step) = functions_of(tables, names, stack).nth(last)?;
    let short = names.label(step.label).short();
    let is_allocator =
        short.starts_with("operator new") || matches!(&*short, "malloc" | "calloc" | "realloc");
    (!is_allocator).then_some(step)
}

/// How many functions stand before the first meaningful one, 0 where none is.
pub(crate) fn plumbing(tables: &Tables, names: &Names, stack: NodeId) -> usize {
    let noise = |(_, step): &(FrameId, Step)| is_plumbing(tables, names, step);
    let count = |from: usize| {
        let functions = functions_of(tables, names, stack).skip(from);
        functions.take(MOST_PLUMBING.saturating_sub(from)).take_while(noise).count()
    };
    let mut plumbing = count(0);
    // Of a stripped library only the outer part of a wrapper may have a name.
    while let Some(inner) = within_wrapper(tables, names, stack, plumbing) {
        plumbing += inner;
        plumbing += count(plumbing);
    }
    let beyond = functions_of(tables, names, stack).nth(plumbing);
    let all_of_it = beyond.is_none_or(|(_, step)| {
        is_plumbing(tables, names, &step) || matches!(names.label(step.label).kind, Kind::Marker(_))
    });
    if all_of_it { 0 } else { plumbing }
}

/// How many functions without a name stand between the allocator, or what came before, and a wrapper of the same file that has called them.
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

/// True for a function of a standard library, or one that only passes on what another asked for, by its name or by the file that it is in.
pub fn is_plumbing(tables: &Tables, names: &Names, step: &Step) -> bool {
    names.label(step.label).noise || step.file.is_some_and(|file| is_noise_file(tables.string(file)))
}

/// The function of the allocator that was called.
pub fn call_of(tables: &Tables, stack: NodeId) -> &'static str {
    call_kind(tables, stack).map_or("malloc", Pseudo::label)
}

/// The same of a row: a stack that only frees has called `free`, or what stands for it.
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
