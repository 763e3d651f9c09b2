//! Whole chunks: payload to bytes of the file and back, with compression and checksum.

use std::io;

use zstd::bulk::Decompressor;
use zstd::stream::raw::{Encoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::compress_bound;

use crate::error::{Error, Malformed};
use crate::format::{ChunkHeader, ChunkKind, Compression, MAX_RAW, MAX_STORED};

/// Level 3: the columns have done most of the work, so that a higher level finds little more. A lower one takes the next best
/// repetition, which in columns of few different bytes is often a short one: sizes that repeat thirteen by thirteen take fifty times as
/// much at level 1 and 2. Of the writer's time level 3 takes a fifteenth more than level 1.
const LEVEL: i32 = 3;

/// Parts of a payload that are compressed apart have so many bytes.
const LEAST_PART: usize = 1024;
/// What a part takes at most beside its bytes: a block of zstd more.
const PART: usize = 16;

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
    compressor: Encoder<'static>,
    bytes: Vec<u8>,
}

impl Packer {
    pub(crate) fn new() -> Result<Self, Error> {
        let compressor = Encoder::new(LEVEL).map_err(Error::io("start the compressor"))?;
        Ok(Packer { compressor, bytes: Vec::new() })
    }

    /// The chunk's header and its bytes, header included, to be written in one piece. Numbers of another kind begin in the payload at
    /// `breaks`.
    // One frame, with blocks of their own: what is most frequent among such numbers is that of theirs alone.
    pub(crate) fn pack(
        &mut self,
        label: Label,
        payload: &[u8],
        breaks: &[usize],
    ) -> Result<(ChunkHeader, &[u8]), Error> {
        assert!(payload.len() <= MAX_RAW, "the writer ends chunks long before the limit");
        self.bytes.clear();
        self.bytes.resize(ChunkHeader::LENGTH, 0);
        let compressed = payload.len() >= WORTH_COMPRESSING
            && self.compress(payload, breaks).map_err(Error::io("compress a chunk"))?;
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
    fn compress(&mut self, payload: &[u8], breaks: &[usize]) -> io::Result<bool> {
        let room = ChunkHeader::LENGTH + compress_bound(payload.len()) + PART * (breaks.len() + 1);
        self.bytes.resize(room, 0);
        self.compressor.reinit()?;
        self.compressor.set_pledged_src_size(Some(payload.len() as u64))?;
        let mut output = OutBuffer::around(&mut self.bytes[ChunkHeader::LENGTH..]);
        let mut start = 0;
        for &end in breaks {
            if end >= start + LEAST_PART {
                put(&mut self.compressor, &payload[start..end], &mut output)?;
                while self.compressor.flush(&mut output)? != 0 {
                    has_room(&output)?;
                }
                start = end;
            }
        }
        put(&mut self.compressor, &payload[start..], &mut output)?;
        while self.compressor.finish(&mut output, true)? != 0 {
            has_room(&output)?;
        }
        let length = output.pos();
        self.bytes.truncate(ChunkHeader::LENGTH + length);
        Ok(length < payload.len())
    }
}

/// Gives a part to the compressor.
fn put(compressor: &mut Encoder<'_>, part: &[u8], output: &mut OutBuffer<'_, [u8]>) -> io::Result<()> {
    let mut input = InBuffer::around(part);
    while input.pos() < part.len() {
        has_room(output)?;
        compressor.run(&mut input, output)?;
    }
    Ok(())
}

/// Fails where a compressor would ask for more room for ever.
fn has_room(output: &OutBuffer<'_, [u8]>) -> io::Result<()> {
    if output.pos() < output.capacity() { Ok(()) } else { Err(io::Error::other("there was no room for it")) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a reader makes of what was packed.
    fn unpacked(packer: &mut Packer, payload: &[u8], breaks: &[usize]) -> Vec<u8> {
        let label = Label { kind: ChunkKind::ManyEvents, records: 1, first: 0, last: 0 };
        let (header, bytes) = packer.pack(label, payload, breaks).unwrap();
        let mut found = Vec::new();
        Unpacker::new().unwrap().unpack(&header, &bytes[ChunkHeader::LENGTH..], &mut found).unwrap();
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Check that a payload comes back wherever it has breaks, be it like noise or not, and whatever was packed before.
        #[test]
        fn payloads_come_back(
            payloads in proptest::collection::vec(
                (proptest::collection::vec(any::<u8>(), 0..5000), 1..256u16, proptest::collection::vec(0..5000usize, 0..9)),
                1..4,
            ),
        ) {
            let mut packer = Packer::new().unwrap();
            for (noise, values, mut breaks) in payloads {
                let payload: Vec<u8> = noise.iter().map(|byte| (u16::from(*byte) % values) as u8).collect();
                breaks.iter_mut().for_each(|at| *at = (*at).min(payload.len()));
                breaks.sort_unstable();
                prop_assert_eq!(unpacked(&mut packer, &payload, &breaks), payload);
            }
        }
    }

    /// Check that numbers of two kinds take less apart from each other: here sixteen values and noise.
    #[test]
    fn parts_compress_apart() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        };
        let mut payload: Vec<u8> = (0..20_000).map(|_| random() & 15).collect();
        payload.extend((0..20_000).map(|_| random()));
        let mut packer = Packer::new().unwrap();
        let label = Label { kind: ChunkKind::ManyEvents, records: 1, first: 0, last: 0 };
        let mut length = |breaks| packer.pack(label, &payload, breaks).unwrap().1.len();
        let (apart, together) = (length(&[20_000]), length(&[]));
        assert!(apart < 31_000 && apart + 2000 < together, "{apart} and {together} bytes");
    }
}
