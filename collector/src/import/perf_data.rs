//! Files of `perf record`: CPU samples, as `report --cpu` shows them.
//!
//! ```text
//!  perf.data ─► header: events, build ids
//!            ─► records, first pass: time and place of each ─► sorted by time
//!            ─► records, second pass, in that order: processes, mappings ─► stacks ─► samples
//! ```
//!
//! A file holds the records of one processor after the other, in pieces, so they are not in order of time. The
//! offsets of records are sorted rather than the records themselves, which takes 16 bytes for each. The file is read
//! rather than mapped, so that a file that shrinks meanwhile is an error and not a crash.
//!
//! Code is looked up in those files on this machine that have the recorded build id, or else the recorded inode, if
//! they have not changed since. Code that is not found keeps its address within the file, and the unwinding of copied
//! stacks ends there.

mod fields;
mod header;
mod layout;
mod processes;
mod stacks;

use super::budget::{Budget, SPENT, Spent};
use super::{Imported, Place, Wrong};
use capture::{CpuSummary, Ended, Error, Sample, Sink, Summary, Writer};
use fields::{Fields, Short};
pub(super) use header::MAGIC;
use header::{Bad, Header};
use layout::Layout;
use processes::{Map, Processes};
use stacks::Stacks;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

/// Types of records.
mod kind {
    pub(super) const MMAP: u32 = 1;
    pub(super) const LOST: u32 = 2;
    pub(super) const COMM: u32 = 3;
    pub(super) const EXIT: u32 = 4;
    pub(super) const THROTTLE: u32 = 5;
    pub(super) const FORK: u32 = 7;
    pub(super) const SAMPLE: u32 = 9;
    pub(super) const MMAP2: u32 = 10;
    pub(super) const LOST_SAMPLES: u32 = 13;
    /// The kernel's record types end here, perf's own begin.
    pub(super) const FIRST_OF_PERF: u32 = 64;
    pub(super) const AUXTRACE: u32 = 71;
    pub(super) const COMPRESSED: u32 = 81;
    pub(super) const COMPRESSED2: u32 = 83;
}

/// Bits of the `misc` field.
mod misc {
    /// Mask of the CPU mode; the kernel is 1.
    pub(super) const CPU_MODE: u16 = 7;
    pub(super) const KERNEL: u16 = 1;
    pub(super) const COMM_EXEC: u16 = 1 << 13;
    pub(super) const MMAP_DATA: u16 = 1 << 13;
    pub(super) const MMAP_BUILD_ID: u16 = 1 << 14;
}

const HEADER: u64 = 8;
/// The protection bit of executable mappings.
const EXECUTE: u32 = 4;

/// A file whose header has been read.
pub(super) struct PerfData {
    file: File,
    header: Header,
}

/// Reads the header.
pub(super) fn begin(file: File) -> Result<PerfData, Wrong> {
    let length = file.metadata().map_err(Wrong::Read)?.len();
    let header = Header::read(&file, length).map_err(|bad| match bad {
        Bad::Read(error) => Wrong::Read(error),
        Bad::What(what) => Wrong::Malformed(Place::Byte(0), what),
    })?;
    Ok(PerfData { file, header })
}

/// Imports the rest and finishes the capture.
pub(super) fn import<S: Sink>(data: PerfData, mut writer: Writer<S>) -> Result<Imported, Wrong> {
    let PerfData { file, header } = data;
    let metadata = file.metadata().map_err(Wrong::Read)?;
    let places = places(&file, &header)?;
    let origin = places.iter().map(|(time, _)| *time).find(|time| *time > 0).unwrap_or(0);
    let mut reading = Reading {
        header,
        origin,
        last: 0,
        processes: Processes::new(Budget::of(metadata.len()), metadata.modified().ok()),
        stacks: Stacks::default(),
        summary: CpuSummary::default(),
    };
    let mut record = Vec::new();
    for (time, place) in places {
        let (kind, misc) = read(&file, place, &mut record)?;
        reading.record((kind, misc), time, &record, &mut writer).map_err(|problem| match problem {
            Problem::Short => {
                Wrong::Malformed(Place::Byte(place), "a record is too short for its contents. Record again.")
            }
            Problem::Spent => Wrong::Malformed(Place::Byte(place), SPENT),
            Problem::Write(error) => Wrong::Write(error),
        })?;
    }
    reading.finish(writer)
}

/// Times and offsets of all useful records, sorted by time; among equal times, in file order.
fn places(file: &File, header: &Header) -> Result<Vec<(u64, u64)>, Wrong> {
    let (mut at, end) = header.records;
    let mut input = BufReader::with_capacity(1 << 18, file);
    input.seek(SeekFrom::Start(at)).map_err(Wrong::Read)?;
    let (mut places, mut body) = (Vec::new(), Vec::new());
    while at.saturating_add(HEADER) <= end {
        let wrong = |what| Wrong::Malformed(Place::Byte(at), what);
        let mut head = [0; HEADER as usize];
        input.read_exact(&mut head).map_err(Wrong::Read)?;
        let (kind, _, length) = parse_head(&head).map_err(|Short| wrong(CUT))?;
        let length = u64::from(length);
        if length < HEADER || at + length > end {
            // If perf was killed, the last record may be incomplete.
            break;
        }
        body.resize((length - HEADER) as usize, 0);
        input.read_exact(&mut body).map_err(Wrong::Read)?;
        match kind {
            kind::COMPRESSED | kind::COMPRESSED2 => {
                return Err(wrong(
                    "compressed records are not supported: record without -z, or decompress with `perf inject`",
                ));
            }
            kind::AUXTRACE => {
                return Err(wrong("processor traces (such as Intel PT) are not supported"));
            }
            kind if kind < kind::FIRST_OF_PERF => {
                let is_sample = kind == kind::SAMPLE;
                let time = header.layout(&body, is_sample).time(&body, is_sample);
                places.push((time, at));
            }
            // Internal records of perf.
            _ => {}
        }
        at += length;
    }
    places.sort();
    Ok(places)
}

const CUT: &str = "the file ends inside a record";

fn parse_head(head: &[u8]) -> Result<(u32, u16, u16), Short> {
    let mut fields = Fields(head);
    Ok((fields.u32()?, fields.u16()?, fields.u16()?))
}

/// Reads the record at an offset: its type, its `misc` field, and its body.
fn read(file: &File, place: u64, body: &mut Vec<u8>) -> Result<(u32, u16), Wrong> {
    let mut head = [0; HEADER as usize];
    file.read_exact_at(&mut head, place).map_err(Wrong::Read)?;
    let (kind, misc, length) =
        parse_head(&head).map_err(|Short| Wrong::Malformed(Place::Byte(place), CUT))?;
    body.resize(usize::from(length).saturating_sub(HEADER as usize), 0);
    file.read_exact_at(body, place + HEADER).map_err(Wrong::Read)?;
    Ok((kind, misc))
}

/// What is wrong with a record.
#[derive(Debug)]
enum Problem {
    Short,
    Spent,
    Write(Error),
}

impl From<Short> for Problem {
    fn from(_: Short) -> Problem {
        Problem::Short
    }
}

impl From<Spent> for Problem {
    fn from(_: Spent) -> Problem {
        Problem::Spent
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        Problem::Write(error)
    }
}

/// The state of the second pass.
struct Reading {
    header: Header,
    /// Time of the first record.
    origin: u64,
    /// Time of the last record, relative to the first.
    last: u64,
    processes: Processes,
    stacks: Stacks,
    summary: CpuSummary,
}

impl Reading {
    fn record<S: Sink>(
        &mut self,
        (kind, misc): (u32, u16),
        time: u64,
        body: &[u8],
        writer: &mut Writer<S>,
    ) -> Result<(), Problem> {
        let time = time.saturating_sub(self.origin);
        self.last = self.last.max(time);
        let layout = self.header.layout(body, kind == kind::SAMPLE);
        let own = layout.own(body);
        let mut fields = Fields(own);
        match kind {
            kind::SAMPLE => {
                self.sample(&layout, body, time, misc & misc::CPU_MODE == misc::KERNEL, writer)?
            }
            kind::MMAP | kind::MMAP2 => self.map(kind, misc, fields, writer)?,
            kind::COMM => {
                let task = (fields.u32()?, fields.u32()?);
                let exec = (misc & misc::COMM_EXEC != 0).then_some(time);
                self.processes.comm(task, fields.text(), exec, writer)?;
            }
            kind::FORK => {
                let (pid, parent, tid) = (fields.u32()?, fields.u32()?, fields.u32()?);
                if pid == tid && pid != parent {
                    self.processes.fork(pid, parent, writer)?;
                }
            }
            kind::EXIT => {
                let (pid, _, tid) = (fields.u32()?, fields.u32()?, fields.u32()?);
                if pid == tid {
                    self.processes.end(pid, Ended::Unknown, time, writer)?;
                }
            }
            kind::LOST => {
                fields.u64()?;
                self.summary.lost = self.summary.lost.saturating_add(fields.u64()?);
            }
            kind::LOST_SAMPLES => self.summary.lost = self.summary.lost.saturating_add(fields.u64()?),
            kind::THROTTLE => self.summary.throttled += 1,
            _ => {}
        }
        Ok(())
    }

    fn sample<S: Sink>(
        &mut self,
        layout: &Layout,
        body: &[u8],
        time: u64,
        is_kernel: bool,
        writer: &mut Writer<S>,
    ) -> Result<(), Problem> {
        let sample = layout.sample(body)?;
        let (task, space) = self.processes.sampled((sample.pid, sample.tid), writer)?;
        let stack = self.stacks.node(&sample, is_kernel, &space, &mut self.processes, writer)?;
        self.summary.samples += 1;
        writer.sample(Sample { time, task, cpu: sample.cpu, stack, weight: sample.period })?;
        Ok(())
    }

    fn map<S: Sink>(
        &mut self,
        kind: u32,
        misc: u16,
        mut fields: Fields<'_>,
        writer: &mut Writer<S>,
    ) -> Result<(), Problem> {
        let (pid, _) = (fields.u32()?, fields.u32()?);
        let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (mut build_id, mut inode, mut is_code) = (&[][..], 0, misc & misc::MMAP_DATA == 0);
        if kind == kind::MMAP2 {
            let mut identity = Fields(fields.many(24, 1)?);
            if misc & misc::MMAP_BUILD_ID != 0 {
                let [length, ..] = identity.u32()?.to_le_bytes();
                build_id = identity.many(u64::from(length).min(20), 1)?;
            } else {
                identity.u64()?;
                inode = identity.u64()?;
            }
            is_code = fields.u32()? & EXECUTE != 0;
            fields.u32()?;
        }
        let path = fields.text();
        if pid == u32::MAX {
            if path.starts_with(b"[kernel.kallsyms]") {
                // perf gives the address of the first function, since nothing before it matters.
                let build_id = self.header.build_ids.get(&b"[kernel.kallsyms]"[..]);
                self.stacks.kernel(offset, build_id.map_or(&[], Vec::as_slice));
            }
            return Ok(());
        }
        if !is_code {
            return Ok(());
        }
        let listed = self.header.build_ids.get(path).filter(|_| build_id.is_empty()).cloned();
        let (build_id, inode) = match &listed {
            Some(listed) => (listed.as_slice(), 0),
            None => (build_id, inode),
        };
        let map = Map { pid, start, length, offset, build_id, inode, path };
        self.processes.map(&map, writer)?;
        Ok(())
    }

    fn finish<S: Sink>(mut self, writer: Writer<S>) -> Result<Imported, Wrong> {
        let layouts = &self.header.layouts;
        self.summary.event = layouts.first().map(event_name).unwrap_or_default();
        self.summary.has_kernel = self.stacks.has_kernel;
        self.summary.truncated = self.stacks.truncated;
        self.summary.incomplete = self.stacks.incomplete;
        let mut remarks = vec!["Imported from a perf file: it has CPU samples, but no allocations.".into()];
        if layouts.len() > 1 {
            remarks.push("Samples of several events are counted together.".into());
        }
        let samples = self.summary.samples;
        writer.finish(&Summary {
            duration_ns: self.last,
            remarks,
            cpu: self.summary,
            ..Summary::default()
        })?;
        Ok(Imported { tool: "perf", events: 0, samples })
    }
}

/// What an event counts, in perf's words for the two events that our own recordings use.
fn event_name(layout: &Layout) -> String {
    match (layout.kind, layout.config) {
        // On hybrid processors, the upper half selects the kind of core.
        (0, config) if config & 0xffff_ffff == 0 => "cycles".into(),
        (1, 0) => "cpu-clock".into(),
        (kind, config) => format!("event {kind}:{config:#x}"),
    }
}

#[cfg(test)]
pub(in crate::import) mod tests;
