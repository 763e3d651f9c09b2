//! Reads samples and their stack copies, counters, page faults, pointers and objects, a chunk at a time.

use crate::chunk::Chunk;
use crate::counter::{Counter, take_counters};
use crate::error::{Error, Malformed};
use crate::fault::{Fault, take_faults};
use crate::fetch::Fetcher;
use crate::format::{ChunkHeader, ChunkKind};
use crate::ids::ScanId;
use crate::reader::Reader;
use crate::sample::{Sample, SampleBounds, take_samples};
use crate::scan::{Object, Pointer, take_objects, take_pointers};
use crate::source::ReadAt;
use crate::stack_copy::{StackCopy, take_copy};

impl<S: ReadAt> Reader<S> {
    /// Hands all samples to `visit`, one chunk at a time, in file order.
    ///
    /// # Errors
    /// As [`Reader::for_each_batch`].
    pub fn for_each_samples(&self, mut visit: impl FnMut(&[Sample])) -> Result<(), Error> {
        let bounds = self.bounds();
        self.for_each_chunk(ChunkKind::Samples, |header, payload| {
            visit(&take_samples(payload, header.records as usize, bounds)?);
            Ok(())
        })
    }

    /// The samples of one chunk of [`Reader::index`]; none if it holds something else. For callers that read them
    /// beside the events.
    ///
    /// # Errors
    /// As [`Reader::for_each_batch`].
    pub fn samples(&self, chunk: &Chunk) -> Result<Vec<Sample>, Error> {
        self.one_chunk(chunk, ChunkKind::Samples, |payload, count| {
            take_samples(payload, count, self.bounds())
        })
    }

    /// Hands all page faults to `visit`, one chunk at a time, in file order.
    ///
    /// # Errors
    /// As [`Reader::for_each_batch`].
    pub fn for_each_faults(&self, mut visit: impl FnMut(&[Fault])) -> Result<(), Error> {
        let mut chunks = self.index().iter();
        chunks.try_for_each(|chunk| self.faults(chunk).map(|faults| visit(&faults)))
    }

    /// The page faults of one chunk of [`Reader::index`]; none if it holds something else. For callers that read them
    /// beside the events, since a recording may have more of them than fit into memory.
    ///
    /// # Errors
    /// As [`Reader::for_each_batch`].
    pub fn faults(&self, chunk: &Chunk) -> Result<Vec<Fault>, Error> {
        self.one_chunk(chunk, ChunkKind::Faults, |payload, count| take_faults(payload, count, self.bounds()))
    }

    /// Hands all counters to `visit`, one chunk at a time, in file order.
    ///
    /// # Errors
    /// As [`Reader::for_each_batch`].
    pub fn for_each_counters(&self, mut visit: impl FnMut(&[Counter])) -> Result<(), Error> {
        let processes = self.tables().processes.len();
        self.for_each_chunk(ChunkKind::Counters, |header, payload| {
            visit(&take_counters(payload, header.records as usize, processes)?);
            Ok(())
        })
    }

    /// Hands the stack copies that samples were unwound from to `visit`, one after the other.
    ///
    /// # Errors
    /// As [`Reader::for_each_batch`].
    pub fn for_each_stack_copy(&self, mut visit: impl FnMut(&StackCopy)) -> Result<(), Error> {
        let (samples, modules) = (self.sample_count(), self.tables().modules.len());
        let mut scratch = Vec::new();
        self.for_each_chunk(ChunkKind::Copies, |header, mut payload| {
            (0..header.records).try_for_each(|_| {
                take_copy(&mut payload, &mut scratch, samples, modules).map(|copy| visit(&copy))
            })
        })
    }

    /// Hands all pointers that a scan found to `visit`, one chunk at a time, ordered by where they lie.
    ///
    /// # Errors
    /// As [`Reader::for_each_batch`].
    pub fn for_each_pointers(&self, scan: ScanId, visit: impl FnMut(&[Pointer])) -> Result<(), Error> {
        self.for_each_of_scan(scan, ChunkKind::Pointers, take_pointers, visit)
    }

    /// Hands all C++ objects that a scan found to `visit`, one chunk at a time, ordered by where they lie.
    ///
    /// # Errors
    /// As [`Reader::for_each_batch`].
    pub fn for_each_objects(&self, scan: ScanId, visit: impl FnMut(&[Object])) -> Result<(), Error> {
        let strings = self.tables().strings.len();
        let take = |payload: &[u8], count| take_objects(payload, count, strings);
        self.for_each_of_scan(scan, ChunkKind::Objects, take, visit)
    }

    fn for_each_of_scan<T>(
        &self,
        scan: ScanId,
        kind: ChunkKind,
        take: impl Fn(&[u8], usize) -> Result<Vec<T>, Malformed>,
        mut visit: impl FnMut(&[T]),
    ) -> Result<(), Error> {
        let mut chunks = self.index().iter().filter(|chunk| chunk.header.first == u64::from(scan.0));
        chunks.try_for_each(|chunk| self.one_chunk(chunk, kind, &take).map(|found| visit(&found)))
    }

    /// How many samples the capture holds.
    pub fn sample_count(&self) -> u64 {
        let chunks = self.index().iter().filter(|chunk| chunk.is(ChunkKind::Samples));
        chunks.map(|chunk| u64::from(chunk.records())).sum()
    }

    fn for_each_chunk(
        &self,
        kind: ChunkKind,
        mut visit: impl FnMut(&ChunkHeader, &[u8]) -> Result<(), Malformed>,
    ) -> Result<(), Error> {
        let (mut fetcher, mut payload) = (Fetcher::new()?, Vec::new());
        let mut chunks = self.index().iter().filter(|chunk| chunk.is(kind));
        chunks.try_for_each(|chunk| self.read_chunk(chunk, &mut fetcher, &mut payload, &mut visit))
    }

    /// What `take` finds in a chunk, if the chunk is of this kind.
    fn one_chunk<T>(
        &self,
        chunk: &Chunk,
        kind: ChunkKind,
        take: impl Fn(&[u8], usize) -> Result<Vec<T>, Malformed>,
    ) -> Result<Vec<T>, Error> {
        let mut taken = Vec::new();
        if chunk.is(kind) {
            let (mut fetcher, mut payload) = (Fetcher::new()?, Vec::new());
            self.read_chunk(chunk, &mut fetcher, &mut payload, &mut |header, payload| {
                taken = take(payload, header.records as usize)?;
                Ok(())
            })?;
        }
        Ok(taken)
    }

    fn read_chunk(
        &self,
        chunk: &Chunk,
        fetcher: &mut Fetcher,
        payload: &mut Vec<u8>,
        visit: &mut impl FnMut(&ChunkHeader, &[u8]) -> Result<(), Malformed>,
    ) -> Result<(), Error> {
        fetcher.fetch_indexed(self.source(), chunk).map_err(|missing| missing.at(chunk.offset))?;
        fetcher
            .unpack(&chunk.header, payload)
            .and_then(|()| visit(&chunk.header, payload))
            .map_err(|malformed| malformed.at(chunk.offset))
    }

    fn bounds(&self) -> SampleBounds {
        SampleBounds { tasks: self.tables().tasks.len(), nodes: self.tables().nodes.len() }
    }
}
