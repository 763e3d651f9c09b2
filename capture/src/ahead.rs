//! Decodes events in another thread before they are wanted.
//!
//! ```text
//!  decoder   read, verify, decompress, decode ──► batches, DEPTH at most ──► visit   the caller's thread
//!                           ▲                                               │
//!                           └─────────────── their memory, used again ◄─────┘
//! ```
//!
//! Events and their order are the same as with one thread. The decoder stops at the end of its part, at the first
//! error, or when nobody wants its batches any more.

use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use crate::error::Error;
use crate::event::Event;
use crate::reader::Cursor;
use crate::reader::Reader;
use crate::source::ReadAt;

/// Most batches that wait, a quarter of a megabyte each: enough to work on while the next chunk is decompressed.
const DEPTH: usize = 8;

/// Fewer events are decoded in the caller's thread: starting a thread costs as much as decoding some thousand of
/// them, ending it as much as a chunk.
const WORTH_A_THREAD: u64 = 1 << 18;

/// A batch, and the position in the index of the chunk it comes from.
type Batch = (usize, Vec<Event>);

impl<S: ReadAt + Sync> Reader<S> {
    /// Hands the events of some chunks, given by their positions in [`Reader::index`], to `visit` in merged order,
    /// until it returns false: some thousand events of one chunk at a time, with the chunk's position. If there are
    /// many events, another thread decodes ahead; it has ended when this returns.
    ///
    /// # Errors
    /// As [`Reader::for_each_batch`].
    pub fn for_each_batch_ahead(
        &self,
        chunks: Range<usize>,
        mut visit: impl FnMut(usize, &[Event]) -> bool,
    ) -> Result<(), Error> {
        let index = self.index();
        let chunks = chunks.start.min(index.len())..chunks.end.min(index.len());
        let holding =
            index.get(chunks.clone()).unwrap_or_default().iter().filter(|chunk| chunk.holds_events());
        let events: u64 = holding.map(|chunk| u64::from(chunk.records())).sum();
        let is_alone = || thread::available_parallelism().is_ok_and(|processors| processors.get() == 1);
        if events < WORTH_A_THREAD || is_alone() {
            return self.each_batch(chunks, visit);
        }
        thread::scope(|scope| {
            let (ready, batches) = mpsc::sync_channel(DEPTH);
            let (used, spare) = mpsc::channel();
            let (decoded, builder) = (chunks.clone(), thread::Builder::new().name("decoder".to_owned()));
            if builder.spawn_scoped(scope, move || self.decode(decoded, &ready, &spare)).is_err() {
                return self.each_batch(chunks, visit);
            }
            for batch in batches {
                let (chunk, events) = batch?;
                if !visit(chunk, &events) {
                    break;
                }
                // Fails if the decoder has ended, and then needs no memory.
                let _ = used.send(events);
            }
            Ok(())
        })
    }

    /// As [`Self::for_each_batch_ahead`], in one thread.
    fn each_batch(
        &self,
        chunks: Range<usize>,
        mut visit: impl FnMut(usize, &[Event]) -> bool,
    ) -> Result<(), Error> {
        let mut cursor = Cursor::within(self, chunks)?;
        while cursor.next_batch()?.is_some() {
            if !visit(cursor.chunk().unwrap_or_default(), cursor.batch()) {
                break;
            }
        }
        Ok(())
    }

    /// Decodes until nobody listens any more.
    fn decode(
        &self,
        chunks: Range<usize>,
        ready: &SyncSender<Result<Batch, Error>>,
        spare: &Receiver<Vec<Event>>,
    ) {
        let decode = || -> Result<(), Error> {
            let mut cursor = Cursor::within(self, chunks.clone())?;
            while cursor.next_batch()?.is_some() {
                let chunk = cursor.chunk().unwrap_or_default();
                let batch = cursor.exchange_batch(spare.try_recv().unwrap_or_default());
                if ready.send(Ok((chunk, batch))).is_err() {
                    break;
                }
            }
            Ok(())
        };
        if let Err(error) = decode() {
            // Fails only if nobody waits for it.
            let _ = ready.send(Err(error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Action;
    use crate::ids::NodeId;
    use crate::model::{Metadata, Process, Summary, Thread};
    use crate::writer::Writer;

    /// Events in three chunks or more, with a chunk of other things between them.
    fn file() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
        let process = writer.process(Process::default()).unwrap();
        let thread = writer.thread(Thread { process, ..Thread::default() }).unwrap();
        for number in 0..2 * WORTH_A_THREAD {
            if number % (WORTH_A_THREAD / 2) == 5 {
                writer.flush().unwrap();
                writer.thread(Thread { process, tid: number as u32, ..Thread::default() }).unwrap();
            }
            let action = Action::Alloc {
                address: number * 16,
                size: 1 + number % 99,
                alignment: 0,
                stack: NodeId::ROOT,
            };
            writer.event(Event { time: number * 1000, thread, action }).unwrap();
        }
        writer.finish(&Summary::default()).unwrap()
    }

    type Found = (Vec<(usize, Event)>, Option<String>);

    /// The batches that are handed over until there are `enough` events, and how that ends.
    fn found(
        most: usize,
        each: impl FnOnce(&mut dyn FnMut(usize, &[Event]) -> bool) -> Result<(), Error>,
    ) -> Found {
        let mut events = Vec::new();
        let ended = each(&mut |chunk, some| {
            events.extend(some.iter().map(|event| (chunk, *event)));
            events.len() < most
        });
        (events, ended.err().map(|error| error.to_string()))
    }

    /// Check that two threads hand over what one does, of any chunks: whole, given up in the middle, or damaged in
    /// any chunk. Then everything before the damage is handed over, and the error is the same.
    #[test]
    fn hands_over_what_one_thread_does() {
        let mut file = file();
        let index = Reader::from_source(file.as_slice()).unwrap().index().to_vec();
        let holding: Vec<usize> = (0..index.len()).filter(|place| index[*place].holds_events()).collect();
        assert!(holding.len() > 3 && holding.len() < index.len(), "{index:?}");
        for damaged in [None].into_iter().chain(holding.iter().copied().map(Some)) {
            let byte = damaged.map(|place| index[place].offset as usize + 50);
            byte.into_iter().for_each(|byte| file[byte] ^= 1);
            let reader = Reader::from_source(file.as_slice()).unwrap();
            for (chunks, most) in [
                (0..index.len(), usize::MAX),
                (0..usize::MAX, usize::MAX),
                (0..index.len(), 100_000),
                (holding[1]..index.len(), usize::MAX),
                (0..holding[3], usize::MAX),
                (index.len()..index.len() + 1, usize::MAX),
            ] {
                let ahead = found(most, |visit| reader.for_each_batch_ahead(chunks.clone(), visit));
                let alone = found(most, |visit| reader.each_batch(chunks.clone(), visit));
                assert_eq!(ahead.1, alone.1, "{chunks:?}, {damaged:?}");
                assert!(ahead.0 == alone.0, "{chunks:?}, {damaged:?}");
                if most == usize::MAX {
                    let is_met = damaged.is_some_and(|place| chunks.contains(&place));
                    assert_eq!(ahead.1.is_some(), is_met, "{chunks:?}, {damaged:?}");
                }
            }
            byte.into_iter().for_each(|byte| file[byte] ^= 1);
        }
    }

    /// Check that another thread decodes when there is much to decode: results alone would not tell.
    #[test]
    fn another_thread_decodes_many_events() {
        if thread::available_parallelism().is_ok_and(|processors| processors.get() == 1) {
            return;
        }
        let decoders = || {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
            let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
            names.filter(|name| name.trim() == "decoder").count()
        };
        let file = file();
        let reader = Reader::from_source(file.as_slice()).unwrap();
        let mut most = 0;
        reader
            .for_each_batch_ahead(0..reader.index().len(), |_, _| {
                most = most.max(decoders());
                true
            })
            .unwrap();
        assert!(most > 0);
    }
}
