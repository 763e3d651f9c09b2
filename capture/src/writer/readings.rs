//! Writes samples, counters, page faults, pointers and objects.

use super::{Writer, known};
use crate::chunk::Label;
use crate::counter::{Counter, put_counters};
use crate::error::Error;
use crate::fault::{Fault, put_faults};
use crate::format::ChunkKind;
use crate::ids::ScanId;
use crate::meta;
use crate::observer::Observer;
use crate::sample::{Sample, put_samples};
use crate::scan::{Object, Pointer, put_objects, put_pointers};
use crate::sink::Sink;
use crate::stack_copy::StackCopy;

/// Readings in one chunk, at most.
const READINGS: usize = 1 << 16;

impl<W: Sink, O: Observer> Writer<W, O> {
    /// Adds a sample of a processor. Samples are best added in the order of their times.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`].
    pub fn sample(&mut self, sample: Sample) -> Result<(), Error> {
        known("a sample", "task", sample.task.0, self.tasks)?;
        known("a sample", "stack", sample.stack.0, self.interner.nodes.len())?;
        self.samples.push(sample);
        self.sample_count += 1;
        if self.samples.len() >= READINGS { self.flush() } else { Ok(()) }
    }

    /// Adds a counter's value.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for a process that is not of this capture; as [`Writer::flush`].
    pub fn counter(&mut self, counter: Counter) -> Result<(), Error> {
        if let Some(process) = counter.process {
            known("a counter", "process", process.0, self.processes)?;
        }
        self.counters.push(counter);
        if self.counters.len() >= READINGS { self.flush() } else { Ok(()) }
    }

    /// Adds a page fault. Faults are best added in the order of their times.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`].
    pub fn fault(&mut self, fault: Fault) -> Result<(), Error> {
        known("a page fault", "task", fault.task.0, self.tasks)?;
        known("a page fault", "stack", fault.stack.0, self.interner.nodes.len())?;
        self.faults.push(fault);
        if self.faults.len() >= READINGS { self.flush() } else { Ok(()) }
    }

    /// Adds pointers that a scan found, best ordered by where they lie.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for a scan that is not of this capture; as [`Writer::flush`].
    pub fn pointers(&mut self, scan: ScanId, pointers: &[Pointer]) -> Result<(), Error> {
        known("a pointer", "scan", scan.0, self.scans)?;
        self.write_of_scan(scan, ChunkKind::Pointers, pointers, put_pointers)
    }

    /// Adds objects that a scan found, best ordered by where they lie.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for a scan and for names that are not of this capture; as [`Writer::flush`].
    pub fn objects(&mut self, scan: ScanId, objects: &[Object]) -> Result<(), Error> {
        let what = "an object";
        known(what, "scan", scan.0, self.scans)?;
        for object in objects {
            known(what, "string", object.class.0, self.interner.strings.len())?;
        }
        self.write_of_scan(scan, ChunkKind::Objects, objects, put_objects)
    }

    /// Adds the stack copy that an earlier sample was unwound from.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for ids that are not of this capture; as [`Writer::flush`].
    pub fn stack_copy(&mut self, copy: &StackCopy) -> Result<(), Error> {
        let what = "a copied stack";
        known(what, "sample", u32::try_from(copy.sample).unwrap_or(u32::MAX), self.sample_count)?;
        for module in copy.code.iter().filter_map(|code| code.module) {
            known(what, "module", module.0, self.interner.modules.len())?;
        }
        meta::put(&mut self.copies.bytes, what, copy)?;
        self.copies.count += 1;
        if self.copies.is_full() { self.flush() } else { Ok(()) }
    }

    /// Writes all pending readings, one chunk for each kind.
    pub(super) fn write_readings(&mut self) -> Result<(), Error> {
        let samples = std::mem::take(&mut self.samples);
        self.write_those(ChunkKind::Samples, &samples, |sample| sample.time, put_samples)?;
        let counters = std::mem::take(&mut self.counters);
        self.write_those(ChunkKind::Counters, &counters, |counter| counter.time, put_counters)?;
        let faults = std::mem::take(&mut self.faults);
        self.write_those(ChunkKind::Faults, &faults, |fault| fault.time, put_faults)?;
        // After the samples they belong to.
        let copies = std::mem::take(&mut self.copies);
        self.write_rows(ChunkKind::Copies, 0, copies)
    }

    /// Writes them after their scan and everything they name.
    fn write_of_scan<T>(
        &mut self,
        scan: ScanId,
        kind: ChunkKind,
        found: &[T],
        put: impl Fn(&[T], &mut Vec<u8>),
    ) -> Result<(), Error> {
        self.flush()?;
        let mut parts = found.chunks(READINGS);
        parts.try_for_each(|part| self.write_those(kind, part, |_| u64::from(scan.0), &put))
    }

    fn write_those<T>(
        &mut self,
        kind: ChunkKind,
        readings: &[T],
        time: impl Fn(&T) -> u64,
        put: impl FnOnce(&[T], &mut Vec<u8>),
    ) -> Result<(), Error> {
        let Some(label) = label(kind, readings.iter().map(&time)) else { return Ok(()) };
        let mut payload = self.take_payload();
        put(readings, &mut payload);
        self.write_chunk(label, payload)
    }
}

/// The label of a chunk with readings at these times; none when there are none.
fn label(kind: ChunkKind, times: impl ExactSizeIterator<Item = u64> + Clone) -> Option<Label> {
    let records = u32::try_from(times.len()).ok()?;
    Some(Label { kind, records, first: times.clone().min()?, last: times.max()? })
}
