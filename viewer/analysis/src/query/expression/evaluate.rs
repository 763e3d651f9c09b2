//! Which stacks an expression selects.
//!
//! The stacks of a capture are a tree, and a name on a stack is on all stacks that extend it. So each node's set of
//! true terms is its parent's plus its own frame's, and one pass over the nodes is enough:
//!
//! ```text
//!  foo and module:libc*        main {} ── foo {0} ── a {0}
//!                                              └──── malloc_consolidate {0, 1}
//! ```

use super::{Expression, Field, Term};
use crate::names::frames::call_of;
use crate::names::process_name::process_name;
use crate::names::table::Names;
use capture::{Frame, FrameId, NodeId, ProcessId, Tables, ThreadId};

/// An expression, resolved for one capture.
#[derive(Clone, Debug)]
pub struct Selection<'a> {
    expression: &'a Expression,
    /// By node, the set of true terms.
    nodes: Vec<u64>,
    processes: Vec<u64>,
    threads: Vec<u64>,
    truths: Vec<bool>,
}

impl Expression {
    /// Resolves the names. This is linear in names and nodes; afterwards, testing a row costs next to nothing.
    pub fn select<'a>(&'a self, tables: &Tables, names: &Names) -> Selection<'a> {
        let labels: Vec<u64> =
            names.labels().map(|label| self.set(Field::Function, |term| term.pattern.names(label))).collect();
        let modules: Vec<u64> = tables
            .modules
            .iter()
            .map(|module| self.set(Field::Module, |term| term.pattern.names_file(&module.path)))
            .collect();
        let files: Vec<u64> = tables
            .strings
            .iter()
            .map(|path| self.set(Field::File, |term| term.pattern.names_file(path)))
            .collect();
        let frame = |id: FrameId| {
            let steps = names.steps(id).iter();
            let functions = steps.fold(0, |set, step| {
                set | labels[step.label.index()]
                    | step.file.and_then(|file| files.get(file.index())).unwrap_or(&0)
            });
            functions
                | match tables.frames.get(id.index()) {
                    Some(Frame::Code { module: Some(module), .. }) => {
                        modules.get(module.index()).copied().unwrap_or(0)
                    }
                    Some(Frame::Pseudo(pseudo)) if pseudo.is_call() => self.call(pseudo.label()),
                    _ => 0,
                }
        };
        let frames: Vec<u64> =
            (0..tables.frames.len()).map(|index| frame(FrameId::from_index(index))).collect();
        let mut nodes = vec![0; tables.nodes.len().max(1)];
        for (index, node) in tables.nodes.iter().enumerate().skip(1) {
            let above = if node.parent.index() < index { nodes[node.parent.index()] } else { 0 };
            nodes[index] = above | frames.get(node.frame.index()).unwrap_or(&0);
        }
        // Plain malloc has no frame of its own.
        let plain = self.call(MALLOC);
        for (index, set) in nodes.iter_mut().enumerate() {
            *set |= if call_of(tables, NodeId::from_index(index)) == MALLOC { plain } else { 0 };
        }
        let of_process = |process: &capture::Process| {
            let (name, pid) = (process_name(process), process.pid.to_string());
            self.set(Field::Process, |term| term.pattern.matches(&name) || term.pattern.matches(&pid))
        };
        let of_thread = |thread: &capture::Thread| {
            let tid = thread.tid.to_string();
            self.set(Field::Thread, |term| term.pattern.matches(&thread.name) || term.pattern.matches(&tid))
        };
        Selection {
            expression: self,
            nodes,
            processes: tables.processes.iter().map(of_process).collect(),
            threads: tables.threads.iter().map(of_thread).collect(),
            truths: Vec::new(),
        }
    }

    /// The terms of a field for which `is_true`.
    fn set(&self, field: Field, is_true: impl Fn(&Term) -> bool) -> u64 {
        let terms = self.terms.iter().enumerate().filter(|(_, term)| term.field == field && is_true(term));
        terms.fold(0, |set, (place, _)| set | 1 << place)
    }

    /// The terms that a call of this allocator function makes true.
    fn call(&self, name: &str) -> u64 {
        let is_true = |term: &Term| term.pattern.matches(name);
        self.set(Field::Function, is_true) | self.set(Field::Call, is_true)
    }
}

impl Selection<'_> {
    /// True when allocations of this stack are selected. Rows that are not counted by threads have none, so terms
    /// about threads are false for them.
    pub fn contains(&mut self, process: ProcessId, thread: Option<ThreadId>, node: NodeId) -> bool {
        let at = |sets: &[u64], index: usize| sets.get(index).copied().unwrap_or(0);
        let terms = at(&self.nodes, node.index())
            | at(&self.processes, process.index())
            | thread.map_or(0, |thread| at(&self.threads, thread.index()));
        self.expression.holds(terms, &mut self.truths)
    }
}

/// The only call without a frame of its own.
pub(super) const MALLOC: &str = "malloc";
