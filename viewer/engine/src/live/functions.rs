//! The numbers of functions: of each, what it allocated itself, and including everything that it calls.
//!
//! ```text
//!  stack a < b < a < main   12 bytes      self: a        total: a, b and main, each once
//! ```

use super::figures::Change;
use crate::loaded::Loaded;
use analysis::LabelId;
use capture::NodeId;

/// A function; its numbers mean the same as in a report by functions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Function {
    /// The function, among the names of the reading.
    pub label: LabelId,
    /// For the stacks on which it is the allocating function.
    pub own: Change,
    /// For all stacks that contain it. A stack that contains it several times counts once.
    pub total: Change,
}

/// The functions on these stacks, in no particular order.
// Cost: some nanoseconds for each function of each stack.
pub(super) fn functions(loaded: &Loaded, stacks: &[(NodeId, Change)]) -> Vec<Function> {
    let Loaded { tables, names, .. } = loaded;
    // By label, its index among the functions met, and how many stacks had been started when it was last met.
    let mut met: Vec<(usize, usize)> = vec![(usize::MAX, 0); names.len()];
    let mut functions: Vec<Function> = Vec::new();
    for (begun, (node, change)) in (1..).zip(stacks) {
        let steps = tables.stack(*node).flat_map(|(_, row)| names.steps(row.frame));
        for (depth, step) in steps.enumerate() {
            let (place, last) = &mut met[step.label.index()];
            if *last == begun {
                continue;
            }
            *last = begun;
            if *place == usize::MAX {
                *place = functions.len();
                functions.push(Function {
                    label: step.label,
                    own: Change::default(),
                    total: Change::default(),
                });
            }
            let function = &mut functions[*place];
            function.total += *change;
            if depth == 0 {
                function.own += *change;
            }
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::super::figures::Figures;
    use super::*;
    use crate::loaded::Source;
    use analysis::{Amount, Cost, Metric, Profile, Site, Span, Tree, functions as of_tree};
    use capture::{Frame, FrameId, Node, Process, ProcessId, SourceFrame, StringId, Symbolized, Tables};
    use proptest::prelude::*;

    /// Frames of functions `f0` to `f4`; the fourth has the fifth inlined.
    fn tables(stacks: &[Vec<u32>]) -> (Tables, Vec<NodeId>) {
        let mut tables = Tables {
            strings: std::iter::once(String::new()).chain((0..5).map(|index| format!("f{index}"))).collect(),
            processes: vec![Process { pid: 7, ..Process::default() }],
            nodes: vec![Node { parent: NodeId::ROOT, frame: FrameId(0) }],
            ..Tables::default()
        };
        for index in 0..4 {
            let named = |function| SourceFrame { function: Some(StringId(function)), file: None, line: None };
            let names = if index == 3 { vec![named(5), named(4)] } else { vec![named(index + 1)] };
            tables.frames.push(Frame::Code { module: None, address: index.into(), exact: true });
            let frame = FrameId(index);
            tables.symbols.push(Some(Symbolized { frame, names, ..Symbolized::default() }));
        }
        let mut ends = Vec::new();
        for stack in stacks {
            let mut parent = NodeId::ROOT;
            for frame in stack {
                tables.nodes.push(Node { parent, frame: FrameId(*frame) });
                parent = NodeId::from_index(tables.nodes.len() - 1);
            }
            ends.push(parent);
        }
        (tables, ends)
    }

    proptest! {
        /// Check that self and total match a report by functions, however functions call each other and themselves.
        #[test]
        fn numbers_are_those_of_a_report(stacks in prop::collection::vec(prop::collection::vec(0..4_u32, 0..9), 1..12)) {
            let (tables, ends) = tables(&stacks);
            let mut profile = Profile { span: Span::Whole, ..Profile::default() };
            let mut changes = Vec::new();
            for (size, node) in (1_u32..).zip(ends) {
                let allocated = Amount { blocks: size.into(), bytes: i64::from(size) * 100 };
                let cost = Cost { allocated, ..Cost::default() };
                profile.sites.push(Site { process: ProcessId(0), thread: None, node, cost });
                let now = Figures { allocated, ..Figures::default() };
                changes.push((node, Change { now, ..Change::default() }));
            }
            let loaded = Loaded::new(tables, profile, Source::default());
            let tree = Tree::top_down(&loaded.profile, &loaded.tables, &loaded.names, Metric::Bytes);
            let expected = of_tree(&tree, &loaded.names);
            let expected: Vec<_> = expected.iter().map(|one| (one.label, one.own, one.total)).collect();
            let mut found: Vec<_> = functions(&loaded, &changes)
                .iter()
                .map(|one| (one.label, one.own.now.allocated, one.total.now.allocated))
                .collect();
            found.sort_by_key(|(label, ..)| *label);
            prop_assert_eq!(found, expected);
        }
    }
}
