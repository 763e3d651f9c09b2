//! The format of heaptrack's interpreter, version 3: `heaptrack_print` and `heaptrack_gui` open it.
//!
//! ```text
//!  v 10400 3                 version of heaptrack, and of the format
//!  I 1000 0                  page size in bytes; pages of the machine, which are unknown
//!  s 4 main                  string 1: length and bytes
//!  i 401136 1 2 3 1e         address 1: in file string 1, function string 2, source file string 3, line 30
//!  t 1 0                     stack 1: address 1, without a caller
//!  a 64 1                    allocation 1: 100 bytes by stack 1
//!  + 0                       … it happens (counting from 0)
//!  - 0                       … its block is freed
//!  c 1f4                     half a second has passed
//!  R 7b                      123 pages are resident
//! ```
//!
//! All numbers are hexadecimal; strings, addresses and stacks count from 1. A line for an address has the innermost
//! function, followed by function, file and line of each caller that it was inlined into.
//!
//! heaptrack only knows a single process. If there are several, each is the outermost function of its stacks, and the
//! resident size is their sum; what a process had not freed when it ended stays allocated, so if one ended before
//! another reached its peak, heaptrack's peak is higher than ours. Its *temporary* differs from ours: it considers
//! allocations of all threads together.

use super::events::{Weight, end};
use crate::origin::command;
use analysis::{Birth, Death, End, LabelId, Life, Watch, resident_sums};
use capture::{CounterKind, Frame, FrameId, NodeId, ProcessId};
use engine::{Error, Events, Loaded, observe};
use report::text::escape;
use std::collections::HashMap;
use std::io::{self, Write};
use std::iter::Peekable;
use std::vec;

/// Writes all allocations and frees.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, events: &dyn Events) -> Result<(), Error> {
    writeln!(out, "v 10400 3")?;
    writeln!(out, "X {}", escape(&command(loaded)))?;
    writeln!(out, "I {PAGE:x} 0")?;
    let mut writer = observe(loaded, events, Writer::new(out, loaded))?;
    writer.pass(end(loaded));
    Ok(writer.result?)
}

/// The unit of resident memory in the file, whatever page size the machine has.
const PAGE: u64 = 4096;

struct Writer<'a, 'o> {
    out: &'o mut dyn Write,
    /// The first error; nothing is written after it.
    result: io::Result<()>,
    loaded: &'a Loaded,
    weight: Weight,
    /// Whether there are several processes, which are distinguished by name.
    with_process: bool,
    strings: HashMap<&'a str, u64>,
    /// By frame, the number of its address, 0 if it has none yet.
    addresses: Vec<u64>,
    addresses_written: u64,
    /// By process and node.
    stacks: HashMap<(LabelId, NodeId), u64>,
    stacks_written: u64,
    /// By size and stack.
    allocations: HashMap<(i64, u64), u64>,
    milliseconds: u64,
    /// Resident bytes of all processes with their times, as far as not yet written.
    resident: Peekable<vec::IntoIter<(u64, u64)>>,
}

impl<'a, 'o> Writer<'a, 'o> {
    fn new(out: &'o mut dyn Write, loaded: &'a Loaded) -> Self {
        let mut processes = loaded.profile.sites.iter().map(|site| loaded.names.process(site.process));
        let first = processes.next();
        Self {
            out,
            result: Ok(()),
            loaded,
            weight: Weight::new(loaded),
            with_process: processes.any(|process| Some(process) != first),
            strings: HashMap::new(),
            addresses: vec![0; loaded.tables.frames.len()],
            addresses_written: 0,
            stacks: HashMap::new(),
            stacks_written: 0,
            allocations: HashMap::new(),
            milliseconds: 0,
            resident: resident_sums(&loaded.counters, CounterKind::Rss, &loaded.tables.processes)
                .into_iter()
                .peekable(),
        }
    }

    fn line(&mut self, line: std::fmt::Arguments) {
        if self.result.is_ok() {
            self.result = self.out.write_fmt(line).and_then(|()| self.out.write_all(b"\n"));
        }
    }

    /// Writes the elapsed time, and the resident memory up to then.
    // Cost: two comparisons, unless something is written.
    fn pass(&mut self, time: u64) {
        while let Some((at, bytes)) = self.resident.next_if(|(at, _)| *at <= time) {
            self.reach(at);
            self.line(format_args!("R {:x}", bytes.div_ceil(PAGE)));
        }
        self.reach(time);
    }

    fn reach(&mut self, time: u64) {
        let milliseconds = time / 1_000_000;
        if milliseconds > self.milliseconds {
            self.milliseconds = milliseconds;
            self.line(format_args!("c {milliseconds:x}"));
        }
    }

    fn string(&mut self, text: &'a str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        let next = self.strings.len() as u64 + 1;
        let number = *self.strings.entry(text).or_insert(next);
        if number == next {
            let text = escape(text);
            self.line(format_args!("s {:x} {text}", text.len()));
        }
        number
    }

    /// The number of the allocation entry for this size and stack.
    fn allocation(&mut self, process: ProcessId, node: NodeId, size: u64) -> u64 {
        let process = self.loaded.names.process(process);
        let stack = self.stack(process, node);
        let bytes = self.weight.bytes(size);
        let next = self.allocations.len() as u64;
        let number = *self.allocations.entry((bytes, stack)).or_insert(next);
        if number == next {
            self.line(format_args!("a {bytes:x} {stack:x}"));
        }
        number
    }

    /// The number of a stack; new stacks are written, outermost callers first.
    fn stack(&mut self, process: LabelId, node: NodeId) -> u64 {
        let tables = &self.loaded.tables;
        let mut missing = Vec::new();
        let mut above = None;
        for (id, node) in tables.stack(node) {
            if let Some(&number) = self.stacks.get(&(process, id)) {
                above = Some(number);
                break;
            }
            missing.push((id, node.frame));
        }
        let mut number = match above {
            Some(number) => number,
            None => self.root(process),
        };
        for (id, frame) in missing.into_iter().rev() {
            if let Some(address) = self.address(frame) {
                number = self.entry(address, number);
            }
            self.stacks.insert((process, id), number);
        }
        number
    }

    /// The stack that a process begins with: none, or its name.
    fn root(&mut self, process: LabelId) -> u64 {
        if !self.with_process {
            return 0;
        }
        if let Some(&number) = self.stacks.get(&(process, NodeId::ROOT)) {
            return number;
        }
        let loaded = self.loaded;
        let name = self.string(&loaded.names.label(process).name);
        self.line(format_args!("i 0 0 {name:x} 0 0"));
        self.addresses_written += 1;
        let number = self.entry(self.addresses_written, 0);
        self.stacks.insert((process, NodeId::ROOT), number);
        number
    }

    fn entry(&mut self, address: u64, above: u64) -> u64 {
        self.line(format_args!("t {address:x} {above:x}"));
        self.stacks_written += 1;
        self.stacks_written
    }

    /// The number of a frame's address; none for a call kind.
    fn address(&mut self, frame: FrameId) -> Option<u64> {
        let loaded = self.loaded;
        let steps = loaded.names.steps(frame);
        let known = *self.addresses.get(frame.index())?;
        if steps.is_empty() || known != 0 {
            return Some(known).filter(|&known| known != 0);
        }
        let (module, address) = match loaded.tables.frames.get(frame.index()) {
            Some(Frame::Code { module, address, .. }) => (*module, *address),
            _ => (None, 0),
        };
        let path = module.and_then(|module| loaded.tables.modules.get(module.index()));
        let module = self.string(path.map_or("", |module| &module.path));
        let mut places = String::new();
        for step in steps {
            let function = self.string(&loaded.names.label(step.label).name);
            let file = self.string(step.file.map_or("", |file| loaded.tables.string(file)));
            places += &format!(" {function:x} {file:x} {:x}", step.line.unwrap_or(0));
        }
        self.line(format_args!("i {address:x} {module:x}{places}"));
        self.addresses_written += 1;
        self.addresses[frame.index()] = self.addresses_written;
        Some(self.addresses_written)
    }
}

impl Watch for Writer<'_, '_> {
    /// The number of its allocation.
    type Attached = u64;

    fn born(&mut self, birth: &Birth, _: Option<&Life<u64>>) -> u64 {
        let number = self.allocation(birth.process, birth.node, birth.size);
        self.pass(birth.at.time);
        self.line(format_args!("+ {number:x}"));
        number
    }

    fn died(&mut self, life: &Life<u64>, death: &Death) {
        // What is left is what heaptrack calls leaked.
        if !matches!(death.end, End::Left { .. }) {
            self.pass(death.at.time);
            self.line(format_args!("- {:x}", life.attached));
        }
    }
}
