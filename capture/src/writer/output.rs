//! Appends chunks to a file.

use crate::chunk::{Label, Level, Packer};
use crate::error::{Error, WRITE};
use crate::index::Chunk;
use crate::sink::Sink;

/// Packs chunks and writes each in one piece. Writes nothing more after a failure, since a piece may have been
/// written in part.
pub(super) struct Output<W> {
    pub(super) sink: W,
    /// Bytes written so far.
    pub(super) offset: u64,
    given_up: bool,
    packer: Packer,
}

impl<W: Sink> Output<W> {
    pub(super) fn new(sink: W) -> Result<Self, Error> {
        Ok(Output { sink, offset: 0, given_up: false, packer: Packer::new()? })
    }

    /// Writes a chunk with these parts as its payload, each with numbers of one kind.
    pub(super) fn chunk(&mut self, label: Label, parts: &[&[u8]]) -> Result<Chunk, Error> {
        let Output { sink, offset, given_up, packer } = self;
        let (header, bytes) = packer.pack(label, parts).inspect_err(|_| *given_up = true)?;
        let chunk = Chunk { offset: *offset, header };
        write(sink, offset, given_up, bytes)?;
        Ok(chunk)
    }

    pub(super) fn set_level(&mut self, level: Level) {
        self.packer.level = level;
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        write(&mut self.sink, &mut self.offset, &mut self.given_up, bytes)
    }

    /// Flushes the sink.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.sink.flush().map_err(Error::io(WRITE)).inspect_err(|_| self.given_up = true)
    }
}

fn write(sink: &mut impl Sink, offset: &mut u64, given_up: &mut bool, bytes: &[u8]) -> Result<(), Error> {
    if *given_up {
        return Err(Error::GivenUp);
    }
    *given_up = true;
    sink.write_all(bytes).map_err(Error::io(WRITE))?;
    *given_up = false;
    *offset += bytes.len() as u64;
    Ok(())
}
