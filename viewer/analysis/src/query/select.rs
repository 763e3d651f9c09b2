//! A filter resolved to the ids of a capture.

use super::filter::{Filter, Selected, Sizes, StackTest, Unknown};
use super::pattern::Pattern;
use crate::count::watch::Birth;
use crate::names::file_name::file_name;
use crate::names::process_name::process_name;
use capture::{Frame, NodeId, ProcessId, Tables, ThreadId};
use std::ops::Range;

/// Tells which blocks and stacks count.
pub struct BlockFilter<'f> {
    /// By process, whether it counts; empty if all do. The next two likewise.
    processes: Vec<bool>,
    threads: Vec<bool>,
    nodes: Vec<bool>,
    sizes: Option<&'f Sizes>,
    /// Disjoint ranges of event positions, in order; none if not restricted.
    during: Option<Vec<Range<u64>>>,
    stack: Option<&'f StackTest>,
}

impl<'f> BlockFilter<'f> {
    /// For a capture with these tables.
    ///
    /// # Errors
    /// When the filter names something that the capture does not have.
    pub fn new(filter: &'f Filter, tables: &Tables) -> Result<Self, Unknown> {
        let threads: Vec<(u32, String)> =
            tables.threads.iter().map(|thread| (thread.tid, thread.name.clone())).collect();
        Ok(Self {
            processes: processes(&filter.processes, tables)?,
            threads: select("thread", &filter.threads, &threads)?,
            nodes: passing(&filter.modules, tables)?,
            sizes: filter.sizes.as_ref(),
            during: None,
            stack: filter.stack.as_deref(),
        })
    }

    /// The same, restricted to blocks that were born in one of these disjoint, ordered ranges of positions.
    #[must_use]
    pub fn during(mut self, ranges: Option<Vec<Range<u64>>>) -> Self {
        self.during = ranges;
        self
    }

    /// True when blocks of this stack may count.
    pub fn takes_stack(&self, process: ProcessId, node: NodeId) -> bool {
        let says =
            |table: &[bool], index: usize| table.is_empty() || table.get(index).copied().unwrap_or(false);
        says(&self.processes, process.index())
            && says(&self.nodes, node.index())
            && self.stack.is_none_or(|test| test(process, node))
    }

    /// True when this thread may count.
    pub fn takes_thread(&self, thread: Option<ThreadId>) -> bool {
        self.threads.is_empty()
            || thread.is_some_and(|thread| self.threads.get(thread.index()) == Some(&true))
    }

    /// True when this block counts.
    pub fn takes(&self, birth: &Birth) -> bool {
        let size = self.sizes.is_none_or(|sizes| sizes.0.contains(&birth.size));
        let during = self.during.as_ref().is_none_or(|ranges| is_in(ranges, birth.at.position));
        self.takes_thread(Some(birth.thread)) && size && during && self.takes_stack(birth.process, birth.node)
    }
}

/// True when a position or a time is in one of these disjoint, ordered ranges.
// Cost: logarithmic in their number: programs may mark each of millions of requests.
pub fn is_in(ranges: &[Range<u64>], position: u64) -> bool {
    let before = ranges.partition_point(|range| range.start <= position);
    before.checked_sub(1).is_some_and(|last| ranges[last].contains(&position))
}

/// By process, whether it is one of those wanted; empty if none is named.
pub fn processes(wanted: &[Selected], tables: &Tables) -> Result<Vec<bool>, Unknown> {
    let rows: Vec<(u32, String)> =
        tables.processes.iter().map(|process| (process.pid, process_name(process))).collect();
    select("process", wanted, &rows)
}

/// By row, whether it is one of those wanted.
fn select(what: &'static str, wanted: &[Selected], rows: &[(u32, String)]) -> Result<Vec<bool>, Unknown> {
    let mut taken = if wanted.is_empty() { Vec::new() } else { vec![false; rows.len()] };
    for selected in wanted {
        let is_it = |(id, name): &(u32, String)| match selected {
            Selected::Id(wanted) => id == wanted || *name == wanted.to_string(),
            Selected::Name(wanted) => wanted.matches(name),
        };
        if !rows.iter().any(is_it) {
            let name = match selected {
                Selected::Id(id) => id.to_string(),
                Selected::Name(name) => name.to_string(),
            };
            let there = rows
                .iter()
                .map(|(id, name)| if name.is_empty() { id.to_string() } else { format!("{id} {name}") });
            return Err(Unknown::new(what, &name, there));
        }
        taken.iter_mut().zip(rows).for_each(|(taken, row)| *taken |= is_it(row));
    }
    Ok(taken)
}

/// By node, whether the stack passes through one of these files.
fn passing(wanted: &[Pattern], tables: &Tables) -> Result<Vec<bool>, Unknown> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    for module in wanted {
        if !tables.modules.iter().any(|row| module.names_file(&row.path)) {
            let there = tables.modules.iter().map(|row| file_name(&row.path).to_owned());
            return Err(Unknown::new("module", &module.to_string(), there));
        }
    }
    let modules: Vec<bool> =
        tables.modules.iter().map(|row| wanted.iter().any(|module| module.names_file(&row.path))).collect();
    let is_in = |frame: &Frame| match frame {
        Frame::Code { module: Some(module), .. } => modules.get(module.index()) == Some(&true),
        _ => false,
    };
    let frames: Vec<bool> = tables.frames.iter().map(is_in).collect();
    // Parents come before their children.
    let mut nodes = vec![false; tables.nodes.len()];
    for (index, node) in tables.nodes.iter().enumerate().skip(1) {
        let above = nodes.get(node.parent.index()) == Some(&true);
        nodes[index] = above || frames.get(node.frame.index()) == Some(&true);
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{FrameId, ModuleId, Node, Process, Thread, ThreadId};

    /// Two processes named `app`, one `tool`; stacks `app > libx` and `app`.
    fn tables() -> Tables {
        let mut tables = Tables::default();
        for (pid, name) in [(7, "app"), (8, "tool"), (9, "app")] {
            tables.processes.push(Process { pid, name: name.to_owned(), ..Process::default() });
            tables.threads.push(Thread { process: ProcessId(pid - 7), tid: pid, name: String::new() });
        }
        for path in ["/bin/app", "/lib/libx.so.1.2"] {
            tables.modules.push(capture::Module { path: path.to_owned(), ..capture::Module::default() });
        }
        tables.frames.extend((0..2).map(|module| Frame::Code {
            module: Some(ModuleId(module)),
            address: 0,
            exact: false,
        }));
        let node = |parent, frame| Node { parent: NodeId(parent), frame: FrameId(frame) };
        tables.nodes.extend([node(0, 0), node(0, 0), node(1, 1), node(2, 0)]);
        tables
    }

    fn birth(process: u32, node: u32, size: u64) -> Birth {
        let at = crate::count::watch::Instant::default();
        let (process, thread, node) = (ProcessId(process), ThreadId(process), NodeId(node));
        Birth { at, process, thread, node, address: 0, size, alignment: 0 }
    }

    /// Check each part of a filter: which of some blocks, by process, node and size, pass.
    #[test]
    fn every_part_must_be_true() {
        let blocks = [(0, 1, 10), (0, 3, 20), (1, 2, 30), (2, 1, 40)];
        let name = |name: &str| vec![Selected::Name(Pattern::glob(name))];
        let cases: Vec<(Filter, &[usize])> = vec![
            (Filter::default(), &[0, 1, 2, 3]),
            (Filter { processes: name("app"), ..Filter::default() }, &[0, 1, 3]),
            (Filter { processes: vec![Selected::Id(8), Selected::Id(9)], ..Filter::default() }, &[2, 3]),
            (Filter { threads: vec![Selected::Id(7)], ..Filter::default() }, &[0, 1]),
            (Filter { processes: name("a*"), ..Filter::default() }, &[0, 1, 3]),
            (Filter { modules: vec![Pattern::glob("libx.so")], ..Filter::default() }, &[1, 2]),
            (Filter { modules: vec![Pattern::glob("lib*")], ..Filter::default() }, &[1, 2]),
            (Filter { sizes: "20..30".parse().ok(), ..Filter::default() }, &[1, 2]),
            (Filter { stack: Some(Box::new(|_, node| node == NodeId(1))), ..Filter::default() }, &[0, 3]),
            (Filter { processes: name("app"), sizes: "..30".parse().ok(), ..Filter::default() }, &[0, 1]),
        ];
        let tables = tables();
        for (index, (filter, expected)) in cases.iter().enumerate() {
            let filter_of_blocks = BlockFilter::new(filter, &tables).unwrap();
            let takes = |&place: &usize| {
                let (process, node, size) = blocks[place];
                filter_of_blocks.takes(&birth(process, node, size))
            };
            assert_eq!((0..4).filter(takes).collect::<Vec<_>>(), *expected, "case {index}");
        }
    }

    /// Check that a position is found in its range, at both ends, and not between ranges; and with so many ranges
    /// that a linear search would take minutes.
    #[test]
    fn places_are_found_in_ranges() {
        let ranges = [3..5, 5..6, 8..8, 10..20];
        for position in 0..25 {
            let expected = ranges.iter().any(|range| range.contains(&position));
            assert_eq!(is_in(&ranges, position), expected, "{position}");
        }
        assert!(!is_in(&[], 0));
        let many: Vec<Range<u64>> = (0..1 << 20).map(|number| 2 * number..2 * number + 1).collect();
        assert_eq!((0..1 << 21).filter(|&position| is_in(&many, position)).count(), 1 << 20);
    }

    /// Check that names that the capture does not have are refused, listing those that it has.
    #[test]
    fn unknown_names_are_refused() {
        let tables = tables();
        let refusal =
            |filter: Filter| BlockFilter::new(&filter, &tables).err().map(|error| error.to_string());
        let process = vec![Selected::Name(Pattern::glob("axe"))];
        let message = refusal(Filter { processes: process, ..Filter::default() }).unwrap();
        assert_eq!(message, "the capture has no process `axe`; it has 7 app, 8 tool, 9 app");
        let modules = vec![Pattern::glob("lib")];
        assert!(refusal(Filter { modules, ..Filter::default() }).unwrap().contains("libx.so.1.2"));
    }
}
