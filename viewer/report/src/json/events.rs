//! Every event, one document per line; the first describes the others.

use super::document::{Fields, kind};
use crate::options::EventOptions;
use crate::table::{self, Value};
use analysis::{Reason, call_kind, call_of, functions_of};
use capture::{Action, Event, MarkKind, NodeId, Pseudo, ReallocOutcome, Sample, StringId};
use engine::Loaded;
use std::io::{self, Write};

/// Writes events, or samples, as they arrive.
pub struct EventLines<'a> {
    out: &'a mut dyn Write,
    loaded: &'a Loaded,
    options: EventOptions,
}

impl<'a> EventLines<'a> {
    /// Writes the first line, of events. `options` limits the functions of a stack.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(out: &'a mut dyn Write, loaded: &'a Loaded, options: EventOptions) -> io::Result<Self> {
        Self::of(out, loaded, options, "events")
    }

    /// The same of this kind.
    pub(crate) fn of(
        out: &'a mut dyn Write,
        loaded: &'a Loaded,
        options: EventOptions,
        document: &'static str,
    ) -> io::Result<Self> {
        let mut lines = Self { out, loaded, options };
        lines.line(kind(document).into_iter().chain([("file", Value::name(&loaded.source.file))]))?;
        Ok(lines)
    }

    /// Writes one line.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let tables = &self.loaded.tables;
        let thread = tables.threads.get(event.thread.index());
        let process = thread.and_then(|thread| tables.processes.get(thread.process.index()));
        let (kind, fields) = self.describe(&event.action);
        let head = [
            ("time_ns", Value::Time(event.time)),
            ("pid", id(process.map(|process| process.pid))),
            ("tid", id(thread.map(|thread| thread.tid))),
            ("kind", kind.into()),
        ];
        self.line(head.into_iter().chain(fields))
    }

    /// The same of a sample.
    pub(crate) fn sample(&mut self, sample: &Sample) -> io::Result<()> {
        let task = self.loaded.tables.tasks.get(sample.task.index());
        let fields = [
            ("time_ns", Value::Time(sample.time)),
            ("pid", id(task.map(|task| task.pid))),
            ("tid", id(task.map(|task| task.tid))),
            ("cpu", Value::Id(sample.cpu.into())),
            ("weight", Value::Id(sample.weight)),
            ("stack", self.stack(sample.stack)),
        ];
        self.line(fields)
    }

    fn line(&mut self, fields: impl IntoIterator<Item = (&'static str, Value)>) -> io::Result<()> {
        let fields = Fields { loaded: self.loaded, fields: fields.into_iter().collect() };
        serde_json::to_writer(&mut *self.out, &fields)?;
        writeln!(self.out)
    }

    /// The kind of event, and its own fields.
    fn describe(&self, action: &Action) -> (&'static str, table::Fields) {
        let tables = &self.loaded.tables;
        let call = |stack| ("call", call_of(tables, stack).into());
        let page_call = |stack, plain| ("call", call_kind(tables, stack).map_or(plain, Pseudo::label).into());
        let at = |address| ("address", Value::Address(address));
        let was_at = |address| ("old_address", Value::Address(address));
        let sized = |size| ("size", Value::Id(size));
        let aligned = |alignment| match alignment {
            0 => ("alignment", Value::Empty),
            alignment => ("alignment", Value::Id(alignment)),
        };
        let numbered = |serial: u16| ("serial", Value::Id(serial.into()));
        let in_pool = |pool: StringId| ("pool", Value::name(tables.string(pool)));
        let on = |stack| match self.options.frames {
            0 => ("stack", Value::Empty),
            _ => ("stack", self.stack(stack)),
        };
        match *action {
            Action::Alloc { address, size, alignment, stack } => {
                ("alloc", vec![call(stack), at(address), sized(size), aligned(alignment), on(stack)])
            }
            Action::Free { address, stack: NodeId::ROOT } => ("free", vec![at(address)]),
            Action::Free { address, stack } => ("free", vec![at(address), on(stack)]),
            Action::ReallocBegin { address, serial } => {
                ("realloc_begin", vec![at(address), numbered(serial)])
            }
            Action::ReallocEnd { serial, outcome } => match outcome {
                ReallocOutcome::Block { address, size, stack } => {
                    ("realloc_end", vec![call(stack), at(address), sized(size), numbered(serial), on(stack)])
                }
                ReallocOutcome::Failed => ("realloc_failed", vec![numbered(serial)]),
                ReallocOutcome::Freed => ("realloc_freed", vec![numbered(serial)]),
            },
            Action::Map { address, length, stack, in_hook } => {
                let in_hook = ("in_hook", Value::Flag(in_hook));
                ("mmap", vec![page_call(stack, "mmap"), at(address), sized(length), in_hook, on(stack)])
            }
            Action::Unmap { address, length } => ("munmap", vec![at(address), sized(length)]),
            Action::UnmapFailed { address, length } => ("munmap_failed", vec![at(address), sized(length)]),
            Action::Remap { old_address, old_length, address, length, stack } => {
                let old = [was_at(old_address), ("old_size", Value::Id(old_length))];
                let new = [page_call(stack, "mremap"), at(address), sized(length)];
                ("mremap", new.into_iter().chain(old).chain([on(stack)]).collect())
            }
            Action::Break { from, address, stack, in_hook } => {
                let in_hook = ("in_hook", Value::Flag(in_hook));
                ("brk", vec![page_call(stack, "brk"), at(address), was_at(from), in_hook, on(stack)])
            }
            Action::AllocFailed { size, factors, alignment, error, stack } => {
                let (count, each) = factors.unzip();
                let fields = vec![
                    call(stack),
                    sized(size),
                    aligned(alignment),
                    ("count", count.map_or(Value::Empty, Value::Id)),
                    ("element_size", each.map_or(Value::Empty, Value::Id)),
                    ("error", Reason::of(error).name().map_or(Value::Empty, Value::from)),
                    on(stack),
                ];
                ("alloc_failed", fields)
            }
            Action::ProcessStart { process, fork: 0 } => {
                ("process_start", vec![("process", Value::Id(process.0.into()))])
            }
            Action::ProcessStart { process, fork } => {
                let process = ("process", Value::Id(process.0.into()));
                ("process_start", vec![process, ("fork", Value::Id(fork.into()))])
            }
            Action::Fork { fork } => ("fork", vec![("fork", Value::Id(fork.into()))]),
            Action::ProcessEnd { process } => ("process_end", vec![("process", Value::Id(process.0.into()))]),
            Action::ThreadStart => ("thread_start", Vec::new()),
            Action::ThreadEnd => ("thread_end", Vec::new()),
            Action::Unsampled => ("unsampled", Vec::new()),
            Action::Pause => ("pause", Vec::new()),
            Action::Resume => ("resume", Vec::new()),
            Action::PoolAlloc { pool, address, size, stack } => {
                ("pool_alloc", vec![call(stack), at(address), sized(size), in_pool(pool), on(stack)])
            }
            Action::PoolFree { pool, address } => ("pool_free", vec![at(address), in_pool(pool)]),
            Action::PoolRealloc { pool, old, address, size, stack } => (
                "pool_realloc",
                vec![call(stack), at(address), sized(size), was_at(old), in_pool(pool), on(stack)],
            ),
            Action::Mark { mark } => {
                let mark = tables.mark(mark).copied().unwrap_or_default();
                let kind = match mark.kind {
                    MarkKind::Instant => "mark",
                    MarkKind::Begin => "mark_begin",
                    MarkKind::End => "mark_end",
                };
                (kind, vec![("name", Value::name(tables.string(mark.name)))])
            }
            Action::Sum { stack, bytes, .. } => ("sum", vec![sized(bytes), on(stack)]),
            Action::Figure { .. } => ("figure", Vec::new()),
            Action::Snapshot => ("snapshot", Vec::new()),
            Action::GapBegin => ("gap_begin", Vec::new()),
            Action::GapEnd { allocations, frees } => {
                let numbers = [("allocations", allocations), ("frees", frees)];
                ("gap_end", numbers.map(|(key, number)| (key, Value::Id(number))).into())
            }
        }
    }

    /// The innermost functions of a stack.
    fn stack(&self, stack: NodeId) -> Value {
        let steps = functions_of(&self.loaded.tables, &self.loaded.names, stack).take(self.options.frames);
        Value::List(steps.map(|(_, step)| Value::Function(step.label)).collect())
    }
}

fn id(number: Option<u32>) -> Value {
    Value::known(number.map(|number| Value::Id(number.into())))
}
