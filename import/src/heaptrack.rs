//! heaptrack's files, as its interpreter writes them: versions 1 to 3.
//!
//! ```text
//!  v 10400 3                 version of heaptrack, and of the format
//!  X ./app --flag            the command
//!  I 1000 5e298d             size of a page, and how many the machine has
//!  s 4 main                  string 1: length (since version 3) and bytes
//!  i 401136 1 2 3 1e         address 1: in file string 1, function string 2, source file string 3, line 30, callers that
//!                            were inlined behind it
//!  t 1 0                     stack 1: address 1, called by stack 0, which is nobody
//!  a 64 1                    kind of allocation 0: 100 bytes by stack 1
//!  + 0                       … one is made
//!  - 0                       … one is freed
//!  c 1f4                     half a second has passed
//!  R 3e8                     1000 pages are resident
//!  A                         recorded from here on: heaptrack was attached to the process
//!  S leak:x                  a rule for leaks
//! ```
//!
//! All numbers are hexadecimal. A free names only the kind of allocation, not the block, so it is taken to be of the
//! kind's latest live block: no sum depends on that. Block addresses are invented, and not reused, and all events
//! belong to one thread. Code addresses are those of the process, since the format does not say where files were
//! mapped; all names are in the file.

use super::lines::Lines;
use super::{ImportFault, Imported, program};
use analysis::Counting;
use capture::{
    Action, Counter, CounterKind, Ended, Event, Frame, FrameId, Module, NodeId, Process, ProcessEnd,
    ProcessId, Sink, SourceFrame, StringId, Summary, Symbolized, Thread, ThreadId, Writer,
};
use std::io::Read;

/// Distance between invented addresses.
const STEP: u64 = 16;
/// No kind of call tells a block of this size apart.
const UNMAPPED: &str = "heaptrack found no name";

/// Reads the first line, which identifies the format.
pub(super) fn begin<R: Read>(lines: &mut Lines<R>) -> Result<(), ImportFault> {
    if !lines.advance().unwrap_or(false) {
        return Err(ImportFault::Unknown);
    }
    let mut words = lines.line().split(|&byte| byte == b' ');
    let is_version = words.next() == Some(b"v") && words.next().and_then(hex).is_some();
    match words.next().and_then(hex) {
        Some(1..=3) if is_version && words.next().is_none() => Ok(()),
        Some(_) if is_version => {
            Err(lines.wrong("unknown version of heaptrack's format: 1 to 3 are supported"))
        }
        _ => Err(ImportFault::Unknown),
    }
}

/// Imports the rest.
pub(super) fn import<R: Read, S: Sink>(
    mut lines: Lines<R>,
    mut writer: Writer<S, Counting>,
    store_command: bool,
) -> Result<Imported, ImportFault> {
    // heaptrack starts counting with the process.
    let process = writer.process(Process::default())?;
    let thread = writer.thread(Thread { process, ..Thread::default() })?;
    let mut reader = Heaptrack {
        // The version is on the line that was read last.
        has_lengths: lines.line().ends_with(b" 3"),
        page: 4096,
        process,
        thread,
        row: Process::default(),
        time: 0,
        strings: Vec::new(),
        addresses: Vec::new(),
        stacks: vec![NodeId::ROOT],
        kinds: Vec::new(),
        next: STEP,
        imported: Imported::default(),
    };
    reader.event(&mut writer, Action::ProcessStart { process, fork: 0 })?;
    while lines.advance()? {
        reader.line(&mut lines, &mut writer, store_command)?;
    }
    reader.finish(writer)
}

/// A kind of allocation: so many bytes, by one stack.
struct Kind {
    size: u64,
    stack: NodeId,
    /// Addresses of its live blocks.
    live: Vec<u64>,
}

struct Heaptrack {
    has_lengths: bool,
    /// Bytes of a page.
    page: u64,
    process: ProcessId,
    thread: ThreadId,
    row: Process,
    /// Nanoseconds.
    time: u64,
    strings: Vec<(StringId, Box<str>)>,
    addresses: Vec<FrameId>,
    /// The first is the empty stack.
    stacks: Vec<NodeId>,
    kinds: Vec<Kind>,
    /// Address of the next block.
    next: u64,
    imported: Imported,
}

impl Heaptrack {
    fn line<R: Read, S: Sink>(
        &mut self,
        lines: &mut Lines<R>,
        writer: &mut Writer<S, Counting>,
        store_command: bool,
    ) -> Result<(), ImportFault> {
        let (kind, rest) = match lines.line() {
            [] => return Ok(()),
            [kind] => (*kind, &[][..]),
            [kind, b' ', rest @ ..] => (*kind, rest),
            [b'#', ..] => return Ok(()),
            _ => return Err(lines.wrong("unknown kind of line")),
        };
        match kind {
            b's' => {
                let text = String::from_utf8_lossy(self.string(rest).ok_or_else(|| lines.wrong(NO_STRING))?);
                let (id, length) = (writer.string(&text)?, text.len());
                let text: String = text.into_owned();
                lines.charge(2 * length + 64)?;
                self.strings.push((id, text.into()));
            }
            b'i' => {
                let frame = self.address(rest, writer)?.ok_or_else(|| lines.wrong(NO_ADDRESS))?;
                lines.charge(size_of::<FrameId>() + 160)?;
                self.addresses.push(frame);
            }
            b't' => {
                let [address, parent] = numbers(rest).ok_or_else(|| lines.wrong(NO_STACK))?;
                let frame = entry(&self.addresses, address).copied().ok_or_else(|| lines.wrong(NO_STACK))?;
                let parent = self.stack(parent).ok_or_else(|| lines.wrong(NO_STACK))?;
                let node = writer.node(parent, frame)?;
                lines.charge(size_of::<NodeId>() + 64)?;
                self.stacks.push(node);
            }
            b'a' => {
                let [size, stack] = numbers(rest).ok_or_else(|| lines.wrong(NO_KIND))?;
                let stack = self.stack(stack).ok_or_else(|| lines.wrong(NO_KIND))?;
                lines.charge(size_of::<Kind>())?;
                self.kinds.push(Kind { size, stack, live: Vec::new() });
            }
            b'+' => {
                let kind = self.kind(rest).ok_or_else(|| lines.wrong(NO_EVENT))?;
                let (size, stack, address) = (kind.size, kind.stack, self.next);
                self.next += STEP;
                if let Some(kind) = self.kind(rest) {
                    // Charged when capacity grows: a long recording with few live blocks needs little.
                    if kind.live.len() == kind.live.capacity() {
                        lines.charge(size_of::<u64>() * kind.live.len().max(4))?;
                    }
                    kind.live.push(address);
                }
                self.event(writer, Action::Alloc { address, size, alignment: 0, stack })?;
            }
            b'-' => {
                let kind = self.kind(rest).ok_or_else(|| lines.wrong(NO_EVENT))?;
                // A free without a live block becomes one of an unknown block: this address was never given out.
                let address = kind.live.pop().unwrap_or(STEP / 2);
                self.event(writer, Action::Free { address, stack: NodeId::ROOT })?;
            }
            b'c' => {
                let [milliseconds] = numbers(rest).ok_or_else(|| lines.wrong(NO_TIME))?;
                self.time = self.time.max(milliseconds.saturating_mul(1_000_000));
            }
            b'R' => {
                let [pages] = numbers(rest).ok_or_else(|| lines.wrong(NO_TIME))?;
                let value = pages.saturating_mul(self.page);
                let (time, process) = (self.time, Some(self.process));
                writer.counter(Counter { time, process, kind: CounterKind::Rss, instance: 0, value })?;
            }
            b'I' => {
                let [page, _] = numbers(rest).ok_or_else(|| lines.wrong(NO_TIME))?;
                self.page = page;
            }
            b'X' => self.command(&String::from_utf8_lossy(rest), store_command),
            b'A' => self.row.attached = true,
            // Leak rules serve heaptrack's own sums, comments its readers.
            b'S' | b'#' => {}
            _ => return Err(lines.wrong("unknown kind of line")),
        }
        Ok(())
    }

    /// The bytes of a string, from the rest of its line.
    fn string<'a>(&self, rest: &'a [u8]) -> Option<&'a [u8]> {
        if !self.has_lengths {
            return Some(rest);
        }
        let end = rest.iter().position(|&byte| byte == b' ')?;
        let (length, text) = (hex(&rest[..end])?, &rest[end + 1..]);
        (length == text.len() as u64).then_some(text)
    }

    /// The frame for an address line, with its names. The outer option is `None` for a malformed line.
    fn address<S: Sink>(
        &self,
        rest: &[u8],
        writer: &mut Writer<S, Counting>,
    ) -> Result<Option<FrameId>, ImportFault> {
        let mut words = rest.split(|&byte| byte == b' ').map(hex);
        let mut next = || words.next().map_or(Some(0), |word| word);
        let (Some(address), Some(file)) = (next(), next()) else { return Ok(None) };
        let mut names = Vec::new();
        loop {
            let (Some(function), Some(file), Some(line)) = (next(), next(), next()) else { return Ok(None) };
            if function == 0 && file == 0 {
                break;
            }
            let (Some(function), Some(file)) = (self.name(function), self.name(file)) else {
                return Ok(None);
            };
            let line = u32::try_from(line).ok().filter(|line| *line > 0);
            names.push(SourceFrame { function, file, line });
        }
        let module = match file {
            0 => None,
            file => {
                let Some((_, path)) = entry(&self.strings, file) else { return Ok(None) };
                Some(writer.module(Module { path: path.to_string(), ..Module::default() })?)
            }
        };
        let frame = writer.frame(Frame::Code { module, address, exact: false })?;
        let reason = if names.is_empty() { Some(writer.string(UNMAPPED)?) } else { None };
        writer.symbolized(Symbolized { frame, names, reason, ..Symbolized::default() })?;
        Ok(Some(frame))
    }

    /// A string by its number; the inner option is `None` for number 0, which means no string.
    fn name(&self, number: u64) -> Option<Option<StringId>> {
        if number == 0 { Some(None) } else { entry(&self.strings, number).map(|(id, _)| Some(*id)) }
    }

    fn stack(&self, number: u64) -> Option<NodeId> {
        self.stacks.get(usize::try_from(number).ok()?).copied()
    }

    fn kind(&mut self, rest: &[u8]) -> Option<&mut Kind> {
        let [number] = numbers(rest)?;
        self.kinds.get_mut(usize::try_from(number).ok()?)
    }

    /// The format does not separate a command's arguments, so one with a space becomes two.
    fn command(&mut self, command: &str, store: bool) {
        let words = command.split(' ').map(ToOwned::to_owned);
        let program_path = command.split(' ').next().unwrap_or_default();
        self.row.name = program(program_path);
        self.row.executable = program_path.to_owned();
        if store {
            self.row.command = words.collect();
        }
    }

    fn event<S: Sink>(
        &mut self,
        writer: &mut Writer<S, Counting>,
        action: Action,
    ) -> Result<(), ImportFault> {
        self.imported.events += u64::from(matches!(action, Action::Alloc { .. } | Action::Free { .. }));
        Ok(writer.event(Event { time: self.time, thread: self.thread, action })?)
    }

    fn finish<S: Sink>(mut self, mut writer: Writer<S, Counting>) -> Result<Imported, ImportFault> {
        self.event(&mut writer, Action::ProcessEnd { process: self.process })?;
        let mut row = std::mem::take(&mut self.row);
        row.end = Some(ProcessEnd { ended: Ended::Unknown, time: self.time });
        writer.update_process(self.process, row)?;
        let remark = "Imported from a heaptrack file, which does not record threads, which block was freed, or times finer than some ten \
                       milliseconds.";
        let remarks = vec![remark.into()];
        writer.finish(&Summary { duration_ns: self.time, remarks, ..Summary::default() })?;
        Ok(self.imported)
    }
}

const NO_STRING: &str =
    "a string has another length than stated. Files of heaptrack before version 1.1 are not supported.";
const NO_ADDRESS: &str = "an address refers to undefined names";
const NO_STACK: &str = "a stack refers to an undefined stack or address";
const NO_KIND: &str = "an allocation refers to an undefined stack";
const NO_EVENT: &str = "it refers to an undefined allocation";
const NO_TIME: &str = "missing number";

/// An entry by its number, counted from 1.
fn entry<T>(table: &[T], number: u64) -> Option<&T> {
    table.get(usize::try_from(number.checked_sub(1)?).ok()?)
}

/// Exactly so many numbers.
fn numbers<const N: usize>(rest: &[u8]) -> Option<[u64; N]> {
    let mut words = rest.split(|&byte| byte == b' ');
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = words.next().and_then(hex)?;
    }
    words.next().is_none().then_some(numbers)
}

fn hex(word: &[u8]) -> Option<u64> {
    u64::from_str_radix(str::from_utf8(word).ok()?, 16).ok()
}
