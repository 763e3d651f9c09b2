//! `dump --json`: one document per line; the first describes the others.

use super::SCHEMA;
use crate::options::DumpOptions;
use analysis::{Names, Reason, call_kind, call_of, functions_of};
use capture::{Action, Event, MarkKind, NodeId, Pseudo, ReallocOutcome, Tables};
use serde::Serialize;
use std::io::{self, Write};

/// Writes events as they arrive.
pub struct Dump<'a> {
    out: &'a mut dyn Write,
    tables: &'a Tables,
    names: &'a Names,
    options: DumpOptions,
}

#[derive(Serialize)]
struct First<'a> {
    schema: u32,
    document: &'static str,
    file: &'a str,
}

#[derive(Default, Serialize)]
struct EventFields<'a> {
    time_ns: u64,
    pid: Option<u32>,
    tid: Option<u32>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alignment: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    serial: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_hook: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    element_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fork: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocations: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frees: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<Vec<&'a str>>,
}

impl<'a> Dump<'a> {
    /// Writes the first line. `options` limits the functions of a stack.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(
        out: &'a mut dyn Write,
        tables: &'a Tables,
        names: &'a Names,
        options: DumpOptions,
        file: &str,
    ) -> io::Result<Self> {
        write_line(out, &First { schema: SCHEMA, document: "dump", file })?;
        Ok(Self { out, tables, names, options })
    }

    /// Writes one line.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let thread = self.tables.threads.get(event.thread.index());
        let process = thread.and_then(|thread| self.tables.processes.get(thread.process.index()));
        let fields = EventFields {
            time_ns: event.time,
            pid: process.map(|process| process.pid),
            tid: thread.map(|thread| thread.tid),
            ..self.describe(&event.action)
        };
        write_line(self.out, &fields)
    }

    fn describe(&self, action: &Action) -> EventFields<'a> {
        let hex = |address: u64| Some(format!("{address:#x}"));
        let kind = |kind| EventFields { kind, ..EventFields::default() };
        let with_stack = |stack, fields| EventFields { stack: self.stack(stack), ..fields };
        match *action {
            Action::Alloc { address, size, alignment, stack } => {
                let alignment = Some(alignment).filter(|&alignment| alignment != 0);
                let call = Some(call_of(self.tables, stack));
                let fields =
                    EventFields { call, address: hex(address), size: Some(size), alignment, ..kind("alloc") };
                with_stack(stack, fields)
            }
            Action::Free { address, stack } => {
                let fields = EventFields { address: hex(address), ..kind("free") };
                if stack == NodeId::ROOT { fields } else { with_stack(stack, fields) }
            }
            Action::ReallocBegin { address, serial } => {
                EventFields { address: hex(address), serial: Some(serial), ..kind("realloc_begin") }
            }
            Action::ReallocEnd { serial, outcome } => match outcome {
                ReallocOutcome::Block { address, size, stack } => {
                    let (call, serial) = (Some(call_of(self.tables, stack)), Some(serial));
                    let fields = EventFields {
                        call,
                        serial,
                        address: hex(address),
                        size: Some(size),
                        ..kind("realloc_end")
                    };
                    with_stack(stack, fields)
                }
                ReallocOutcome::Failed => EventFields { serial: Some(serial), ..kind("realloc_failed") },
                ReallocOutcome::Freed => EventFields { serial: Some(serial), ..kind("realloc_freed") },
            },
            Action::Map { address, length, stack, in_hook } => {
                let (size, in_hook) = (Some(length), Some(in_hook));
                let fields =
                    EventFields { address: hex(address), size, in_hook, ..self.page_call(stack, "mmap") };
                with_stack(stack, fields)
            }
            Action::Unmap { address, length } => {
                EventFields { address: hex(address), size: Some(length), ..kind("munmap") }
            }
            Action::UnmapFailed { address, length } => {
                EventFields { address: hex(address), size: Some(length), ..kind("munmap_failed") }
            }
            Action::Remap { old_address, old_length, address, length, stack } => {
                let fields = EventFields {
                    old_address: hex(old_address),
                    old_size: Some(old_length),
                    address: hex(address),
                    size: Some(length),
                    ..self.page_call(stack, "mremap")
                };
                with_stack(stack, fields)
            }
            Action::Break { from, address, stack, in_hook } => {
                let fields = EventFields {
                    old_address: hex(from),
                    address: hex(address),
                    in_hook: Some(in_hook),
                    ..self.page_call(stack, "brk")
                };
                with_stack(stack, fields)
            }
            Action::AllocFailed { size, factors, alignment, error, stack } => {
                let (call, size) = (Some(call_of(self.tables, stack)), Some(size));
                let (count, element_size) = factors.unzip();
                let alignment = Some(alignment).filter(|&alignment| alignment != 0);
                let error = Reason::of(error).name();
                with_stack(
                    stack,
                    EventFields { call, size, count, element_size, alignment, error, ..kind("alloc_failed") },
                )
            }
            Action::ProcessStart { process, fork } => {
                let fork = Some(fork).filter(|&fork| fork != 0);
                EventFields { process: Some(process.0), fork, ..kind("process_start") }
            }
            Action::Fork { fork } => EventFields { fork: Some(fork), ..kind("fork") },
            Action::ProcessEnd { process } => EventFields { process: Some(process.0), ..kind("process_end") },
            Action::ThreadStart => kind("thread_start"),
            Action::ThreadEnd => kind("thread_end"),
            Action::Unsampled => kind("unsampled"),
            Action::Pause => kind("pause"),
            Action::Resume => kind("resume"),
            Action::PoolAlloc { pool, address, size, stack } => {
                let (call, pool) = (Some(call_of(self.tables, stack)), Some(self.tables.string(pool)));
                let (address, size) = (hex(address), Some(size));
                with_stack(stack, EventFields { call, pool, address, size, ..kind("pool_alloc") })
            }
            Action::PoolFree { pool, address } => {
                let pool = Some(self.tables.string(pool));
                EventFields { pool, address: hex(address), ..kind("pool_free") }
            }
            Action::PoolRealloc { pool, old, address, size, stack } => {
                let (call, pool) = (Some(call_of(self.tables, stack)), Some(self.tables.string(pool)));
                let (old_address, address, size) = (hex(old), hex(address), Some(size));
                with_stack(
                    stack,
                    EventFields { call, pool, old_address, address, size, ..kind("pool_realloc") },
                )
            }
            Action::Mark { mark } => {
                let mark = self.tables.mark(mark).copied().unwrap_or_default();
                let what = match mark.kind {
                    MarkKind::Instant => "mark",
                    MarkKind::Begin => "mark_begin",
                    MarkKind::End => "mark_end",
                };
                EventFields { name: Some(self.tables.string(mark.name)), ..kind(what) }
            }
            Action::Sum { stack, bytes, .. } => {
                with_stack(stack, EventFields { size: Some(bytes), ..kind("sum") })
            }
            Action::Figure { .. } => kind("figure"),
            Action::Snapshot => kind("snapshot"),
            Action::GapBegin => kind("gap_begin"),
            Action::GapEnd { allocations, frees } => {
                EventFields { allocations: Some(allocations), frees: Some(frees), ..kind("gap_end") }
            }
        }
    }

    fn page_call(&self, stack: NodeId, plain: &'static str) -> EventFields<'a> {
        let call = Some(call_kind(self.tables, stack).map_or(plain, Pseudo::label));
        EventFields { call, kind: plain, ..EventFields::default() }
    }

    fn stack(&self, stack: NodeId) -> Option<Vec<&'a str>> {
        let (tables, names) = (self.tables, self.names);
        let steps = functions_of(tables, names, stack).take(self.options.frames);
        (self.options.frames > 0)
            .then(|| steps.map(|(_, step)| names.label(step.label).name.as_str()).collect())
    }
}

fn write_line(out: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    writeln!(out)
}
