//! Opens a capture, whole, cut off or still growing.

mod cursor;

use std::fs::File;
use std::path::Path;

use crate::chunk::Chunk;
use crate::cut::{Cut, CutReason};
use crate::error::Error;
use crate::event::Event;
use crate::fetch::{Fetcher, Missing};
use crate::format::{ChunkHeader, ChunkKind, Header, Trailer};
use crate::ids::ProcessId;
use crate::index;
use crate::load::Loader;
use crate::model::Tables;
use crate::source::ReadAt;
use crate::version::Version;
pub use cursor::{Cursor, Events};

/// A capture open for reading.
///
/// Opening reads the tables; the events stay in the file until a [`Cursor`] asks for them, one chunk at a time. Any
/// number of cursors may be used at once, from several threads.
///
/// All ids in tables and events are in range: for the reader, a file ends before the first chunk with one that is
/// not. So code that is built on a reader may index.
pub struct Reader<S = File> {
    source: S,
    header: Header,
    loader: Loader,
    chunks: Vec<Chunk>,
    /// Where the next chunk begins.
    end: u64,
    cut: Option<Cut>,
    skipped: u64,
}

impl Reader<File> {
    /// Opens the capture at `path`.
    ///
    /// # Errors
    /// When it cannot be read, is no capture, or is one of a later major version. A capture that is cut off or
    /// damaged after its header opens, see [`Reader::cut`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = File::open(path).map_err(Error::io(format!("open {}", path.display())))?;
        Reader::from_source(file)
    }
}

impl<S: ReadAt> Reader<S> {
    /// Opens a capture from any bytes.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn from_source(source: S) -> Result<Self, Error> {
        let mut start = [0; Header::LENGTH];
        let length = source.read_full_at(&mut start, 0).map_err(Error::io("read the capture"))?;
        let header = Header::decode(&start[..length])?;
        let end = Header::LENGTH as u64;
        let mut reader =
            Reader { source, header, loader: Loader::new(), chunks: Vec::new(), end, cut: None, skipped: 0 };
        reader.load()?;
        Ok(reader)
    }

    /// Reads what was added to the file since it was opened or last refreshed; true when anything was.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn refresh(&mut self) -> Result<bool, Error> {
        let chunks = self.chunks.len();
        if self.cut.is_some() {
            self.load()?;
        }
        Ok(self.chunks.len() != chunks)
    }

    /// Version of the file's format.
    pub fn version(&self) -> Version {
        self.header.version
    }

    /// Version of the program that wrote the file.
    pub fn written_by(&self) -> &str {
        &self.header.written_by
    }

    /// Everything but the events.
    pub fn tables(&self) -> &Tables {
        &self.loader.tables
    }

    /// The tables, for callers that know more than the file says.
    pub fn tables_mut(&mut self) -> &mut Tables {
        &mut self.loader.tables
    }

    /// The processes whose rows were added or replaced since the last call, in file order, once per change. With it,
    /// a follower need not look at all of them each time.
    pub fn take_changed_processes(&mut self) -> Vec<ProcessId> {
        std::mem::take(&mut self.loader.changed_processes)
    }

    /// Everything but the events, for callers that are done with the file.
    pub fn into_tables(self) -> Tables {
        self.loader.tables
    }

    /// Where and why the capture ends early; `None` for one that was finished.
    pub fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// Number of chunks of unknown kinds: a newer program would show more.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// All whole chunks, in file order.
    pub fn index(&self) -> &[Chunk] {
        &self.chunks
    }

    /// How many events the capture holds.
    pub fn event_count(&self) -> u64 {
        self.chunks.iter().filter(|chunk| chunk.holds_events()).map(|chunk| u64::from(chunk.records())).sum()
    }

    /// A cursor before the first event.
    ///
    /// # Errors
    /// When there is no memory for the decompressor.
    pub fn cursor(&self) -> Result<Cursor<'_, S>, Error> {
        Cursor::new(self)
    }

    /// The events one by one, in merged order.
    ///
    /// # Errors
    /// As [`Reader::cursor`].
    pub fn events(&self) -> Result<Events<'_, S>, Error> {
        Cursor::new(self).map(Events::new)
    }

    /// Hands all events to `visit` in merged order, in batches of some thousand: the fastest way to read a capture.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the file no longer has what it had when it was opened, after all events before that
    /// place; [`Error::Io`] when it cannot be read.
    pub fn for_each_batch(&self, mut visit: impl FnMut(&[Event])) -> Result<(), Error> {
        let mut cursor = self.cursor()?;
        while let Some(batch) = cursor.next_batch()? {
            visit(batch);
        }
        Ok(())
    }

    /// Forgets the chunks so far and returns where they end: for callers that follow a recording, have read all of
    /// it, and will not come back to it. The tables stay. There are no events until the next [`Reader::refresh`].
    pub fn forget(&mut self) -> u64 {
        self.chunks = Vec::new();
        self.end
    }

    pub(crate) fn source(&self) -> &S {
        &self.source
    }

    /// True while nothing was read yet.
    fn is_fresh(&self) -> bool {
        self.end == Header::LENGTH as u64
    }

    fn load(&mut self) -> Result<(), Error> {
        let length = self.source.length().map_err(Error::io("read the capture"))?;
        self.loader.allow(length);
        self.cut = None;
        let mut fetcher = Fetcher::new()?;
        let indexed = if self.is_fresh() { index::read(&self.source, length, &mut fetcher) } else { None };
        let loaded = indexed.map(|chunks| self.load_indexed(chunks, &mut fetcher));
        let stopped = match loaded {
            // Where the index does not hold, the chunks tell how far the file can be read.
            None | Some(Err(Missing::Malformed(_))) => self.scan(length, &mut fetcher),
            Some(stopped) => stopped,
        };
        let reason = match stopped {
            Ok(Ended::Finished) => return Ok(()),
            Ok(Ended::Unfinished) => CutReason::Unfinished,
            Err(Missing::Torn) => CutReason::Torn,
            Err(Missing::Malformed(malformed)) => CutReason::Damaged(malformed.0),
            Err(missing @ Missing::Io(_)) => return Err(missing.at(self.end)),
        };
        self.cut = Some(Cut { offset: self.end, lost: length.saturating_sub(self.end), reason });
        Ok(())
    }

    /// Reads only the tables: the index says where they are.
    fn load_indexed(&mut self, chunks: Vec<Chunk>, fetcher: &mut Fetcher) -> Result<Ended, Missing> {
        let mut payload = Vec::new();
        for chunk in chunks {
            if chunk.kind().is_some_and(ChunkKind::holds_tables) {
                fetcher.fetch_indexed(&self.source, &chunk)?;
                self.load_tables(&chunk.header, fetcher, &mut payload)?;
            }
            self.accept(chunk);
        }
        Ok(Ended::Finished)
    }

    /// Reads and verifies every chunk, for files without an index.
    fn scan(&mut self, length: u64, fetcher: &mut Fetcher) -> Result<Ended, Missing> {
        let mut payload = Vec::new();
        while self.end < length {
            if self.is_trailer(length).map_err(Missing::Io)? {
                return Ok(Ended::Finished);
            }
            self.load_chunk(self.end, fetcher, &mut payload)?;
        }
        Ok(Ended::Unfinished)
    }

    fn is_trailer(&self, length: u64) -> std::io::Result<bool> {
        let mut bytes = [0; Trailer::LENGTH];
        if length - self.end != Trailer::LENGTH as u64 {
            return Ok(false);
        }
        self.source.read_full_at(&mut bytes, self.end)?;
        Ok(Trailer::decode(&bytes).is_some())
    }

    fn load_chunk(
        &mut self,
        offset: u64,
        fetcher: &mut Fetcher,
        payload: &mut Vec<u8>,
    ) -> Result<(), Missing> {
        let header = fetcher.fetch(&self.source, offset)?;
        let chunk = Chunk { offset, header };
        if chunk.kind().is_some_and(ChunkKind::holds_tables) {
            self.load_tables(&header, fetcher, payload)?;
        }
        self.accept(chunk);
        Ok(())
    }

    fn load_tables(
        &mut self,
        header: &ChunkHeader,
        fetcher: &mut Fetcher,
        payload: &mut Vec<u8>,
    ) -> Result<(), Missing> {
        fetcher.unpack(header, payload)?;
        Ok(self.loader.add(header, payload)?)
    }

    fn accept(&mut self, chunk: Chunk) {
        self.skipped += u64::from(chunk.kind().is_none());
        self.end = chunk.end();
        self.chunks.push(chunk);
    }
}

/// How the readable chunks of a file end.
enum Ended {
    Finished,
    Unfinished,
}
