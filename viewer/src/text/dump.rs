//! `dump`: every event, one line each.
//!
//! ```text
//!     0.001000000    1000/5000  malloc            0x10 100  b < a < main
//!     0.002000000    1000/5000  free              0x10
//! ```

use super::escape::escape;
use super::place::function;
use super::style::{Role, Style};
use crate::analysis::{call_kind, call_of, functions_of};
use crate::loaded::Loaded;
use capture::{Action, Event, NodeId, ProcessId, Pseudo, ReallocOutcome};
use std::io::{self, Write};

/// How much of each event to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DumpOptions {
    /// Functions of a stack, from the innermost; 0 leaves stacks out.
    pub frames: usize,
}

impl Default for DumpOptions {
    fn default() -> Self {
        Self { frames: 8 }
    }
}

/// Writes events as they come.
pub struct Dump<'a> {
    out: &'a mut dyn Write,
    loaded: &'a Loaded,
    options: DumpOptions,
    style: Style,
}

impl<'a> Dump<'a> {
    /// A dump of events of this capture. Its names and tables are used, not its numbers.
    pub fn new(out: &'a mut dyn Write, loaded: &'a Loaded, options: DumpOptions, style: Style) -> Self {
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
        let kind = style.paint(Role::Function, format!("{kind:<14}"));
        write!(self.out, "{}  {who:>15}  {kind} {rest}", style.paint(Role::Detail, time))?;
        if let Some(stack) = stack {
            let stack = self.stack(stack);
            write!(self.out, "{}", style.paint(Role::Detail, stack))?;
        }
        writeln!(self.out)
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
            Action::ReallocBegin { address, serial } => ("realloc begin", format!("{address:#x} #{serial}"), None),
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
            Action::UnmapFailed { address, length } => ("munmap failed", format!("{address:#x} {length}"), None),
            Action::Remap { old_address, old_length, address, length, stack } => {
                let text = format!("{old_address:#x} {old_length} -> {address:#x} {length}");
                (kind(stack, "mremap"), text, Some(stack))
            }
            Action::Break { address, stack } => (kind(stack, "brk"), format!("{address:#x}"), Some(stack)),
            Action::ProcessStart { process: id } => ("process start", process(id), None),
            Action::ProcessEnd { process: id } => ("process end", process(id), None),
            Action::ThreadStart => ("thread start", String::new(), None),
            Action::ThreadEnd => ("thread end", String::new(), None),
            Action::GapBegin => ("gap begin", String::new(), None),
            Action::GapEnd { allocations, frees } => {
                ("gap end", format!("{allocations} allocations and {frees} frees lost"), None)
            }
        }
    }

    fn stack(&self, stack: NodeId) -> String {
        let limit = self.options.frames;
        if limit == 0 {
            return String::new();
        }
        let mut steps = functions_of(&self.loaded.tables, &self.loaded.names, stack);
        let mut text: Vec<String> = steps.by_ref().take(limit).map(|(_, step)| function(self.loaded, &step)).collect();
        if steps.next().is_some() {
            text.push("…".to_owned());
        }
        if text.is_empty() { String::new() } else { format!("  {}", escape(&text.join(" < "))) }
    }

    fn pid(&self, process: ProcessId) -> Option<u32> {
        self.loaded.tables.processes.get(process.index()).map(|process| process.pid)
    }
}
