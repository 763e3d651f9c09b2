//! Reads samples and counters, a chunk at a time.

use crate::counter::{Counter, take_counters};
use crate::error::{Error, Malformed};
use crate::fetch::Fetcher;
use crate::format::{ChunkHeader, ChunkKind};
use crate::reader::Reader;
use crate::sample::{Sample, SampleBounds, take_samples};
use crate::source::ReadAt;

impl<S: ReadAt> Reader<S> {
    /// Hands all samples to `visit`, those of a chunk at a time, in file order.
    ///
    /// # Errors
    /// As [`Reader::for_each_batch`].
    pub fn for_each_samples(&self, mut visit: impl FnMut(&[Sample])) -> Result<(), Error> {
        let bounds = SampleBounds { tasks: self.tables().tasks.len(), nodes: self.tables().nodes.len() };
        self.for_each_chunk(ChunkKind::Samples, |header, payload| {
            visit(&take_samples(payload, header.records as usize, bounds)?);
            Ok(())
        })
    }

    /// Hands all counters to `visit`, those of a chunk at a time, in file order.
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
        for chunk in self.index().iter().filter(|chunk| chunk.is(kind)) {
            let header =
                fetcher.fetch(self.source(), chunk.offset).map_err(|missing| missing.at(chunk.offset))?;
            if header != chunk.header {
                return Err(Malformed("the index does not agree with a chunk").at(chunk.offset));
            }
            fetcher
                .unpack(&header, &mut payload)
                .and_then(|()| visit(&header, &payload))
                .map_err(|malformed| malformed.at(chunk.offset))?;
        }
        Ok(())
    }
}
