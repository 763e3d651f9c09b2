//! Every event, one line each.
//!
//! ```text
//!     0.001000000    1000/5000  malloc            0x10 100  b < a < main
//!     0.002000000    1000/5000  free              0x10
//! ```

use super::escape::escape;
use super::place::chain_of;
use super::style::{Role, Style};
use crate::options::EventOptions;
use analysis::format::counted;
use analysis::{Reason, call_kind, call_of, functions_of};
use capture::{Action, Event, MarkKind, NodeId, ProcessId, Pseudo, ReallocOutcome, Sample, StringId};
use engine::Loaded;
use std::io::{self, Write};

/// Writes events, or samples, as they arrive.
pub struct EventLines<'a> {
    out: &'a mut dyn Write,
    loaded: &'a Loaded,
    options: EventOptions,
    style: Style,
}

impl<'a> EventLines<'a> {
    /// Lines of this capture.
    pub fn new(out: &'a mut dyn Write, loaded: &'a Loaded, options: EventOptions, style: Style) -> Self {
        Self { out, loaded, options, style }
    }

    /// Writes one line.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let (kind, rest, stack) = self.describe(&event.action);
        let time = format!("{:>6}.{:09}", event.time / 1_000_000_000, event.time % 1_000_000_000);
        let thread = self.loaded.tables.threads.get(event.thread.index());
        let pid = thread.and_then(|thread| self.pid(thread.process));
        let number = |number: Option<u32>| number.map_or("?".to_owned(), |number| number.to_string());
        let who = format!("{}/{}", number(pid), number(thread.map(|thread| thread.tid)));
        let style = self.style;
        let width = if rest.is_empty() { 0 } else { 14 };
        let kind = style.paint(Role::Function, format!("{kind:<width$}"));
        let blank = if rest.is_empty() { "" } else { " " };
        write!(self.out, "{}  {who:>15}  {kind}{blank}{rest}", style.paint(Role::Detail, time))?;
        if let Some(stack) = stack {
            let stack = self.stack(stack);
            write!(self.out, "{}", style.paint(Role::Detail, stack))?;
        }
        writeln!(self.out)
    }

    /// The same of a sample.
    pub(crate) fn sample(&mut self, sample: &Sample) -> io::Result<()> {
        let Loaded { tables, names, .. } = self.loaded;
        let (pid, tid) = tables.tasks.get(sample.task.index()).map_or((0, 0), |task| (task.pid, task.tid));
        let steps = functions_of(tables, names, sample.stack).take(self.options.frames);
        let stack: Vec<&str> = steps.map(|(_, step)| names.label(step.label).name.as_str()).collect();
        let (seconds, stack) = (sample.time as f64 / 1e9, stack.join(" < "));
        writeln!(self.out, "{seconds:.6} {pid}/{tid} cpu {} {}", sample.cpu, escape(&stack))
    }

    /// The kind of event, its numbers, and its stack.
    fn describe(&self, action: &Action) -> (&'static str, String, Option<NodeId>) {
        let call = |stack| call_of(&self.loaded.tables, stack);
        let kind = |stack, plain| call_kind(&self.loaded.tables, stack).map_or(plain, Pseudo::label);
        let process = |id: ProcessId| self.pid(id).map_or("?".to_owned(), |pid| format!("pid {pid}"));
        match *action {
            Action::Alloc { address, size, alignment: 0, stack } => {
                (call(stack), format!("{address:#x} {size}"), Some(stack))
            }
            Action::Alloc { address, size, alignment, stack } => {
                (call(stack), format!("{address:#x} {size} aligned {alignment}"), Some(stack))
            }
            Action::Free { address, stack } => {
                ("free", format!("{address:#x}"), Some(stack).filter(|&stack| stack != NodeId::ROOT))
            }
            Action::ReallocBegin { address, serial } => {
                ("realloc begin", format!("{address:#x} #{serial}"), None)
            }
            Action::ReallocEnd { serial, outcome } => match outcome {
                ReallocOutcome::Block { address, size, stack } => {
                    ("realloc end", format!("{address:#x} {size} #{serial}"), Some(stack))
                }
                ReallocOutcome::Failed => ("realloc end", format!("failed #{serial}"), None),
                ReallocOutcome::Freed => ("realloc end", format!("freed #{serial}"), None),
            },
            Action::Map { address, length, stack, in_hook } => {
                let who = if in_hook { " by the allocator" } else { "" };
                (kind(stack, "mmap"), format!("{address:#x} {length}{who}"), Some(stack))
            }
            Action::Unmap { address, length } => ("munmap", format!("{address:#x} {length}"), None),
            Action::UnmapFailed { address, length } => {
                ("munmap failed", format!("{address:#x} {length}"), None)
            }
            Action::Remap { old_address, old_length, address, length, stack } => {
                let text = format!("{old_address:#x} {old_length} -> {address:#x} {length}");
                (kind(stack, "mremap"), text, Some(stack))
            }
            Action::Break { from, address, stack, in_hook } => {
                let who = if in_hook { " by the allocator" } else { "" };
                (kind(stack, "brk"), format!("{from:#x} -> {address:#x}{who}"), Some(stack))
            }
            Action::AllocFailed { size, factors, alignment, error, stack } => {
                let size = factors.map_or(size.to_string(), |(count, each)| format!("{count} × {each}"));
                let alignment = if alignment == 0 { String::new() } else { format!(" aligned {alignment}") };
                let reason = Reason::of(error).name().map_or(String::new(), |name| format!(" {name}"));
                (call(stack), format!("failed {size}{alignment}{reason}"), Some(stack))
            }
            Action::ProcessStart { process: id, fork: 0 } => ("process start", process(id), None),
            Action::ProcessStart { process: id, fork } => {
                ("process start", format!("{} by fork #{fork}", process(id)), None)
            }
            Action::Fork { fork } => ("fork", format!("#{fork}"), None),
            Action::ProcessEnd { process: id } => ("process end", process(id), None),
            Action::ThreadStart => ("thread start", String::new(), None),
            Action::ThreadEnd => ("thread end", String::new(), None),
            Action::Unsampled => ("unsampled", String::new(), None),
            Action::Pause => ("pause", String::new(), None),
            Action::Resume => ("resume", String::new(), None),
            Action::PoolAlloc { pool, address, size, stack } => {
                ("pool alloc", format!("{} {address:#x} {size}", self.name(pool)), Some(stack))
            }
            Action::PoolFree { pool, address } => {
                ("pool free", format!("{} {address:#x}", self.name(pool)), None)
            }
            Action::PoolRealloc { pool, old, address, size, stack } => {
                let text = format!("{} {old:#x} -> {address:#x} {size}", self.name(pool));
                ("pool realloc", text, Some(stack))
            }
            Action::Mark { mark } => {
                let mark = self.loaded.tables.mark(mark).copied().unwrap_or_default();
                let kind = match mark.kind {
                    MarkKind::Instant => "mark",
                    MarkKind::Begin => "mark begin",
                    MarkKind::End => "mark end",
                };
                (kind, self.name(mark.name), None)
            }
            Action::Sum { kind, stack, blocks, bytes } => {
                ("sum", format!("{kind:?} {} {bytes}", counted(blocks, "block")), Some(stack))
            }
            Action::Figure { kind, value } => ("figure", format!("{kind:?} {value}"), None),
            Action::Snapshot => ("snapshot", String::new(), None),
            Action::GapBegin => ("gap begin", String::new(), None),
            Action::GapEnd { allocations, frees } => {
                let (allocations, frees) = (counted(allocations, "allocation"), counted(frees, "free"));
                ("gap end", format!("{allocations} and {frees} lost"), None)
            }
        }
    }

    fn stack(&self, stack: NodeId) -> String {
        let limit = self.options.frames;
        if limit == 0 {
            return String::new();
        }
        let Loaded { tables, names, .. } = self.loaded;
        let text = chain_of(names, functions_of(tables, names, stack).enumerate(), limit);
        if text.is_empty() { text } else { format!("  {text}") }
    }

    /// The name of a program's mark or pool.
    fn name(&self, name: StringId) -> String {
        escape(self.loaded.tables.string(name)).to_string()
    }

    fn pid(&self, process: ProcessId) -> Option<u32> {
        self.loaded.tables.processes.get(process.index()).map(|process| process.pid)
    }
}
