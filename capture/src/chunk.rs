//! Whole chunks: payload to bytes of the file and back, with compression and checksum.

use std::io;
use std::ops::RangeInclusive;

use zstd::bulk::Decompressor;
use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use crate::error::{Error, Malformed};
use crate::format::{ChunkHeader, ChunkKind, Compression, MAX_RAW, MAX_STORED, least_stored};

/// Where one chunk is and what its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where its header begins.
    pub offset: u64,
    pub(crate) header: ChunkHeader,
}

impl Chunk {
    /// What it holds; `None` for kinds of later versions.
    pub fn kind(&self) -> Option<ChunkKind> {
        ChunkKind::from_number(self.header.kind)
    }

    /// The number of its kind in the file.
    pub fn kind_number(&self) -> u16 {
        self.header.kind
    }

    /// Events, rows or entries in it.
    pub fn records(&self) -> u32 {
        self.header.records
    }

    /// Bytes it takes in the file, its header included.
    pub fn length(&self) -> u64 {
        ChunkHeader::LENGTH as u64 + u64::from(self.header.stored_length)
    }

    /// Bytes of its payload before compression.
    pub fn raw_length(&self) -> u32 {
        self.header.raw_length
    }

    /// True when it holds events.
    pub fn holds_events(&self) -> bool {
        self.kind() == Some(ChunkKind::Events)
    }

    /// Bounds of the stored times of an event chunk, nanoseconds since the recording began.
    pub fn times(&self) -> Option<RangeInclusive<u64>> {
        self.holds_events().then_some(self.header.first..=self.header.last)
    }

    pub(crate) fn is(&self, kind: ChunkKind) -> bool {
        self.header.kind == kind as u16
    }

    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.length())
    }
}

/// How well zstd compresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Level {
    /// Levels 1 and 2 take the next best repetition, which in columns of few different bytes is often a short one: sizes
    /// that repeat with a period of thirteen take fifty times as much there, for a fifteenth less of the writer's time.
    Fast = 3,
    /// Saves 4 to 8 % of most files, for up to 5 ns an event. Level 7 would save 3 % more for another 8 ns.
    #[default]
    Small = 5,
}

/// log₂ of the bytes in which the compressor looks for repetitions, and of the places that it remembers. By itself it
/// would take 2 MiB and 2²⁰ places for chunks as long as these, a fifth of a recording's memory, to save less than a
/// thousandth.
const WINDOW: u32 = 18;
const PLACES: u32 = 17;

/// Parts of a payload are compressed separately if they have this many bytes; shorter ones are joined with the next.
const LEAST_PART: usize = 1024;

/// Output room given to the compressor at a time.
const ROOM: usize = 64 << 10;

/// Payloads below this length are stored as they are: a zstd frame saves nothing there, and they are readable in a
/// hex dump.
const WORTH_COMPRESSING: usize = 128;

/// How a frame begins that decompressors skip, before the length of its content.
const SKIPPABLE: u32 = 0x184d_2a50;
const SKIPPABLE_HEADER: usize = 8;

/// What the header says besides lengths and checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    pub(crate) kind: ChunkKind,
    pub(crate) records: u32,
    /// Depending on the kind: first id, earliest time, or offset of the previous index chunk.
    pub(crate) first: u64,
    /// Latest time of a chunk whose rows have times, the scan of pointers and objects, else 0.
    pub(crate) last: u64,
}

/// Makes chunks. The compressor and the buffer are reused.
pub(crate) struct Packer {
    compressor: Encoder<'static>,
    bytes: Vec<u8>,
    pub(crate) level: Level,
}

impl Packer {
    pub(crate) fn new() -> Result<Self, Error> {
        let level = Level::default();
        let mut compressor = Encoder::new(level as i32).map_err(Error::io("start the compressor"))?;
        for limit in [CParameter::WindowLog(WINDOW), CParameter::HashLog(PLACES)] {
            compressor.set_parameter(limit).map_err(Error::io("limit the compressor"))?;
        }
        Ok(Packer { compressor, bytes: Vec::new(), level })
    }

    /// Returns the chunk's header and its bytes, header included, to be written in one piece. Each part of the
    /// payload has numbers of one kind.
    // The payload is one frame, but each part has blocks of its own, so that the statistics of one kind do not mix
    // with others.
    pub(crate) fn pack(&mut self, label: Label, parts: &[&[u8]]) -> Result<(ChunkHeader, &[u8]), Error> {
        let raw_length = parts.iter().map(|part| part.len()).sum();
        assert!(raw_length <= MAX_RAW, "the writer ends chunks long before the limit");
        self.bytes.clear();
        self.bytes.resize(ChunkHeader::LENGTH, 0);
        // What is short in the file and long in memory is padded, which only a frame can be.
        let least = least_stored(label.records as usize, raw_length);
        let must_compress = least > raw_length;
        let compressed = (raw_length >= WORTH_COMPRESSING || must_compress)
            && self.compress(parts, raw_length).map_err(Error::io("compress a chunk"))?;
        let compressed = compressed || must_compress;
        if compressed {
            self.pad(least);
        } else {
            self.bytes.truncate(ChunkHeader::LENGTH);
            parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        }
        let stored = &self.bytes[ChunkHeader::LENGTH..];
        let header = ChunkHeader {
            kind: label.kind as u16,
            compression: if compressed { Compression::Zstd } else { Compression::Stored } as u8,
            flags: 0,
            records: label.records,
            raw_length: raw_length as u32,
            stored_length: stored.len() as u32,
            first: label.first,
            last: label.last,
        };
        let encoded = header.encode(stored);
        self.bytes[..ChunkHeader::LENGTH].copy_from_slice(&encoded);
        Ok((header, &self.bytes))
    }

    /// Appends a frame that readers skip, if the payload has fewer than `least` bytes.
    fn pad(&mut self, least: usize) {
        let missing = (ChunkHeader::LENGTH + least).saturating_sub(self.bytes.len());
        if missing > 0 {
            let zeros = missing.saturating_sub(SKIPPABLE_HEADER);
            self.bytes.extend_from_slice(&SKIPPABLE.to_le_bytes());
            self.bytes.extend_from_slice(&(zeros as u32).to_le_bytes());
            self.bytes.resize(self.bytes.len() + zeros, 0);
        }
    }

    /// Appends the compressed payload; false when it is not shorter.
    fn compress(&mut self, parts: &[&[u8]], raw_length: usize) -> io::Result<bool> {
        let Packer { compressor, bytes, level } = self;
        compressor.reinit()?;
        compressor.set_parameter(CParameter::CompressionLevel(*level as i32))?;
        compressor.set_pledged_src_size(Some(raw_length as u64))?;
        let mut together = 0;
        for part in parts {
            let mut input = InBuffer::around(part);
            while input.pos() < part.len() {
                append(bytes, |output| compressor.run(&mut input, output))?;
            }
            together += part.len();
            if together >= LEAST_PART {
                while append(bytes, |output| compressor.flush(output))? != 0 {}
                together = 0;
            }
        }
        while append(bytes, |output| compressor.finish(output, true))? != 0 {}
        Ok(bytes.len() - ChunkHeader::LENGTH < raw_length)
    }
}

/// Lets the compressor append to `bytes`, and returns its result. Most payloads shrink to a hundredth, so room for
/// the worst case, whose pages would have to be touched, is never reserved.
fn append(
    bytes: &mut Vec<u8>,
    step: impl FnOnce(&mut OutBuffer<'_, Vec<u8>>) -> io::Result<usize>,
) -> io::Result<usize> {
    bytes.reserve(ROOM);
    let length = bytes.len();
    step(&mut OutBuffer::around_pos(bytes, length))
}

/// Unpacks chunks.
pub(crate) struct Unpacker(Decompressor<'static>);

impl Unpacker {
    pub(crate) fn new() -> Result<Self, Error> {
        Decompressor::new().map(Unpacker).map_err(Error::io("start the decompressor"))
    }

    /// Replaces `payload` by the content of `stored`. The lengths were checked when `header` was decoded.
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

    /// What a reader unpacks from what was packed.
    fn unpacked(packer: &mut Packer, parts: &[&[u8]]) -> Vec<u8> {
        let label = Label { kind: ChunkKind::Events, records: 1, first: 0, last: 0 };
        let (header, bytes) = packer.pack(label, parts).unwrap();
        let mut found = Vec::new();
        Unpacker::new().unwrap().unpack(&header, &bytes[ChunkHeader::LENGTH..], &mut found).unwrap();
        found
    }

    /// Bytes that nothing compresses.
    fn noise() -> impl Iterator<Item = u8> {
        let next = |state: &u64| Some(state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
        std::iter::successors(Some(1u64), next).skip(1).map(|state| (state >> 56) as u8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Check that a payload comes back whatever its parts are, like noise or not, and whatever was packed before.
        #[test]
        fn payloads_come_back(
            payloads in proptest::collection::vec(
                proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..3000), 1..256u16), 0..6),
                1..4,
            ),
        ) {
            let mut packer = Packer::new().unwrap();
            for parts in payloads {
                let part = |(noise, values): &(Vec<u8>, u16)| -> Vec<u8> {
                    noise.iter().map(|byte| (u16::from(*byte) % values) as u8).collect()
                };
                let parts: Vec<Vec<u8>> = parts.iter().map(part).collect();
                let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
                prop_assert_eq!(unpacked(&mut packer, &slices), parts.concat());
            }
        }
    }

    /// Check that room is made for what is needed, not for the worst case, and that noise longer than one piece of
    /// room is stored.
    #[test]
    fn room_is_what_is_needed() {
        let mut packer = Packer::new().unwrap();
        let zeros = vec![0; 4 << 20];
        assert_eq!(unpacked(&mut packer, &[&zeros]), zeros);
        assert!(packer.bytes.capacity() < 4 * ROOM, "{}", packer.bytes.capacity());
        let noise: Vec<u8> = noise().take(300_000).collect();
        assert_eq!(unpacked(&mut packer, &[&noise, &noise[..1]]), [noise.as_slice(), &noise[..1]].concat());
    }

    /// Check that a chunk which holds much in few bytes is padded, so that its length bounds what a reader does, that it
    /// comes back, and that without the padding it is refused.
    #[test]
    fn chunks_are_as_long_as_what_they_hold() {
        let mut packer = Packer::new().unwrap();
        for (records, raw) in [(1, 16 << 20), (1 << 20, 40), (1 << 20, 4 << 20), (5000, 0), (4096, 64 << 10)]
        {
            let label = Label { kind: ChunkKind::Events, records, first: 0, last: 0 };
            let payload = vec![0; raw];
            let (header, bytes) = packer.pack(label, &[&payload]).unwrap();
            let least = least_stored(records as usize, raw);
            assert!(
                (least..least + 100).contains(&(header.stored_length as usize)),
                "{records}, {raw}: {header:?}"
            );
            let stored = &bytes[ChunkHeader::LENGTH..];
            let mut found = Vec::new();
            Unpacker::new().unwrap().unpack(&header, stored, &mut found).unwrap();
            assert_eq!(found, payload);
            assert_eq!(ChunkHeader::decode(&header.encode(stored)), Ok(header));
            let shorter = ChunkHeader { stored_length: least.saturating_sub(1) as u32, ..header };
            assert_eq!(ChunkHeader::decode(&shorter.encode(stored)).is_err(), least > 0, "{records}, {raw}");
        }
    }

    /// Check that two kinds of numbers take less when compressed apart: here sixteen values and noise.
    #[test]
    fn parts_compress_apart() {
        let mut noise = noise();
        let few: Vec<u8> = noise.by_ref().take(20_000).map(|byte| byte & 15).collect();
        let noise: Vec<u8> = noise.take(20_000).collect();
        let mut packer = Packer::new().unwrap();
        let label = Label { kind: ChunkKind::Events, records: 1, first: 0, last: 0 };
        let mut length = |parts: &[&[u8]]| packer.pack(label, parts).unwrap().1.len();
        let (apart, together) = (length(&[&few, &noise]), length(&[&[few.as_slice(), &noise].concat()]));
        assert!(apart < 31_000 && apart + 2000 < together, "{apart} and {together} bytes");
    }
}
