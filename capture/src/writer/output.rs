//! Appends chunks to a file, as long as it has a name.

use crate::chunk::Chunk;
use crate::chunk::{Label, Level, Packer};
use crate::error::{Error, WRITE};
use crate::sink::Sink;

/// Packs chunks and writes each in one piece. Writes nothing more after a failure, since a piece may have been
/// written in part.
pub(super) struct Output<W> {
    pub(super) sink: W,
    /// Bytes written so far.
    pub(super) offset: u64,
    given_up: bool,
    /// The sink had a name at first, by which readers expect to find what is written.
    was_named: bool,
    packer: Packer,
}

impl<W: Sink> Output<W> {
    pub(super) fn new(sink: W) -> Result<Self, Error> {
        let was_named = sink.is_named();
        Ok(Output { sink, offset: 0, given_up: false, was_named, packer: Packer::new()? })
    }

    /// Writes a chunk with these parts as its payload, each with numbers of one kind.
    pub(super) fn chunk(&mut self, label: Label, parts: &[&[u8]]) -> Result<Chunk, Error> {
        let Output { sink, offset, given_up, packer, .. } = self;
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

    /// Flushes the sink. Fails when its last name was removed: nobody could open what is written.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        let flushed = self.sink.flush().map_err(Error::io(WRITE));
        let is_lost = self.was_named && !self.sink.is_named();
        let flushed = flushed.and(if is_lost { Err(Error::Removed) } else { Ok(()) });
        flushed.inspect_err(|_| self.given_up = true)
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
