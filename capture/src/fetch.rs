//! Reads chunks from a source and verifies them.

use std::io;

use crate::chunk::{Chunk, Unpacker};
use crate::error::{Error, Malformed};
use crate::format::ChunkHeader;
use crate::source::ReadAt;

/// Why there is no whole chunk at an offset.
#[derive(Debug)]
pub(crate) enum Missing {
    /// The file ends inside the chunk.
    Torn,
    /// Something else is there.
    Malformed(Malformed),
    /// Reading failed.
    Io(io::Error),
}

impl From<Malformed> for Missing {
    fn from(malformed: Malformed) -> Self {
        Missing::Malformed(malformed)
    }
}

impl Missing {
    /// Turns it into the error of a reader that expected a chunk at `offset`.
    pub(crate) fn at(self, offset: u64) -> Error {
        match self {
            Missing::Torn => Malformed("the file ends inside a chunk").at(offset),
            Missing::Malformed(malformed) => malformed.at(offset),
            Missing::Io(source) => Error::io("read the capture")(source),
        }
    }
}

/// Reads chunks one at a time; its buffer never exceeds the largest chunk that the format allows.
pub(crate) struct Fetcher {
    unpacker: Unpacker,
    stored: Vec<u8>,
}

impl Fetcher {
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Fetcher { unpacker: Unpacker::new()?, stored: Vec::new() })
    }

    /// Reads the chunk at `offset` and verifies its checksum. Its payload is ready for [`Fetcher::unpack`].
    pub(crate) fn fetch(&mut self, source: &impl ReadAt, offset: u64) -> Result<ChunkHeader, Missing> {
        let mut bytes = [0; ChunkHeader::LENGTH];
        if source.read_full_at(&mut bytes, offset).map_err(Missing::Io)? < bytes.len() {
            return Err(Missing::Torn);
        }
        let header = ChunkHeader::decode(&bytes)?;
        let length = header.stored_length as usize;
        self.stored.resize(length, 0);
        let start = offset.saturating_add(ChunkHeader::LENGTH as u64);
        if source.read_full_at(&mut self.stored, start).map_err(Missing::Io)? < length {
            return Err(Missing::Torn);
        }
        ChunkHeader::verify(&bytes, &self.stored)?;
        Ok(header)
    }

    /// The same for a chunk of the index, whose header must be the one that the index has.
    pub(crate) fn fetch_indexed(&mut self, source: &impl ReadAt, chunk: &Chunk) -> Result<(), Missing> {
        match self.fetch(source, chunk.offset)? == chunk.header {
            true => Ok(()),
            false => Err(Malformed("the index does not agree with a chunk").into()),
        }
    }

    /// Decompresses the payload of the last fetched chunk.
    pub(crate) fn unpack(&mut self, header: &ChunkHeader, payload: &mut Vec<u8>) -> Result<(), Malformed> {
        self.unpacker.unpack(header, &self.stored, payload)
    }
}
