//! Whole chunks: payload to bytes of the file and back, with compression and checksum.

use zstd::bulk::{Compressor, Decompressor};

use crate::error::{Error, Malformed};
use crate::format::{ChunkHeader, ChunkKind, Compression, MAX_RAW, MAX_STORED};

/// Level 1: the columns have done most of the work, and a recording must not cost the program it watches.
const LEVEL: i32 = 1;

/// Payloads below this length are stored as they are: a zstd frame saves nothing there, and an eye with a hex dump
/// reads them.
const WORTH_COMPRESSING: usize = 128;

/// What the header says beside lengths and checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    pub(crate) kind: ChunkKind,
    pub(crate) records: u32,
    /// First id, earliest time or offset of the index before, by kind.
    pub(crate) first: u64,
    /// Latest time of an event chunk, else 0.
    pub(crate) last: u64,
}

/// Makes chunks. It owns the compressor and a buffer, which are used again and again.
pub(crate) struct Packer {
    compressor: Compressor<'static>,
    bytes: Vec<u8>,
}

impl Packer {
    pub(crate) fn new() -> Result<Self, Error> {
        let compressor = Compressor::new(LEVEL).map_err(Error::io("start the compressor"))?;
        Ok(Packer { compressor, bytes: Vec::new() })
    }

    /// The chunk's header and its bytes, header included, to be written in one piece.
    pub(crate) fn pack(&mut self, label: Label, payload: &[u8]) -> Result<(ChunkHeader, &[u8]), Error> {
        assert!(payload.len() <= MAX_RAW, "the writer ends chunks long before the limit");
        self.bytes.clear();
        self.bytes.resize(ChunkHeader::LENGTH, 0);
        let compressed = payload.len() >= WORTH_COMPRESSING && self.compress(payload)?;
        if !compressed {
            self.bytes.truncate(ChunkHeader::LENGTH);
            self.bytes.extend_from_slice(payload);
        }
        let stored = &self.bytes[ChunkHeader::LENGTH..];
        let header = ChunkHeader {
            kind: label.kind as u16,
            compression: if compressed { Compression::Zstd } else { Compression::Stored } as u8,
            flags: 0,
            records: label.records,
            raw_length: payload.len() as u32,
            stored_length: stored.len() as u32,
            first: label.first,
            last: label.last,
        };
        let encoded = header.encode(stored);
        self.bytes[..ChunkHeader::LENGTH].copy_from_slice(&encoded);
        Ok((header, &self.bytes))
    }

    /// Appends the compressed payload; false when it is not shorter.
    fn compress(&mut self, payload: &[u8]) -> Result<bool, Error> {
        let room = ChunkHeader::LENGTH + zstd::zstd_safe::compress_bound(payload.len());
        self.bytes.resize(room, 0);
        let length = self
            .compressor
            .compress_to_buffer(payload, &mut self.bytes[ChunkHeader::LENGTH..])
            .map_err(Error::io("compress a chunk"))?;
        self.bytes.truncate(ChunkHeader::LENGTH + length);
        Ok(length < payload.len())
    }
}

/// Takes chunks apart.
pub(crate) struct Unpacker(Decompressor<'static>);

impl Unpacker {
    pub(crate) fn new() -> Result<Self, Error> {
        Decompressor::new().map(Unpacker).map_err(Error::io("start the decompressor"))
    }

    /// Replaces `payload` by what `stored` holds. The lengths were limited when `header` was decoded.
    pub(crate) fn unpack(
        &mut self,
        header: &ChunkHeader,
        stored: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        payload.clear();
        let raw_length = header.raw_length as usize;
        if header.compression == Compression::Stored as u8 {
            if stored.len() != raw_length {
                return Err(Malformed("an uncompressed chunk has two lengths"));
            }
            payload.extend_from_slice(stored);
        } else if header.compression == Compression::Zstd as u8 {
            payload.resize(raw_length, 0);
            let length = self.0.decompress_to_buffer(stored, payload.as_mut_slice()).unwrap_or(usize::MAX);
            if length != raw_length {
                return Err(Malformed("a chunk does not decompress to its length"));
            }
        } else {
            return Err(Malformed("a chunk has an unknown compression"));
        }
        Ok(())
    }
}

const _: () = assert!(MAX_STORED >= MAX_RAW, "a payload that does not compress is stored as it is");
