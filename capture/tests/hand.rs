//! Captures taken apart and assembled by hand, from `FORMAT.md` alone: what a later version, or an attacker, might
//! write.

/// One chunk with its payload uncompressed.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) kind: u16,
    pub(crate) records: u32,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) payload: Vec<u8>,
}

pub(crate) fn header(major: u16, minor: u16, written_by: &str) -> Vec<u8> {
    let mut bytes = b"\x89MEMPROF\x04\x03\x02\x01".to_vec();
    bytes.extend(major.to_le_bytes());
    bytes.extend(minor.to_le_bytes());
    bytes.extend(written_by.bytes());
    bytes.resize(60, 0);
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

pub(crate) fn chunk(chunk: &Chunk) -> Vec<u8> {
    let mut bytes = b"CHNK".to_vec();
    bytes.extend(chunk.kind.to_le_bytes());
    bytes.extend([0, 0]);
    bytes.extend(chunk.records.to_le_bytes());
    bytes.extend((chunk.payload.len() as u32).to_le_bytes());
    bytes.extend((chunk.payload.len() as u32).to_le_bytes());
    bytes.extend(chunk.first.to_le_bytes());
    bytes.extend(chunk.last.to_le_bytes());
    bytes.extend(&chunk.payload);
    let checksum = crc32fast::hash(&bytes);
    bytes.splice(20..20, checksum.to_le_bytes());
    bytes
}

/// As [`chunk`], with its payload compressed, and padded to this length.
pub(crate) fn packed(chunk: &Chunk, least: usize) -> Vec<u8> {
    let mut stored = zstd::bulk::compress(&chunk.payload, 1).unwrap();
    if stored.len() < least {
        let zeros = least.saturating_sub(stored.len() + 8);
        stored.extend([0x50, 0x2a, 0x4d, 0x18]);
        stored.extend((zeros as u32).to_le_bytes());
        stored.resize(stored.len() + zeros, 0);
    }
    let mut bytes = b"CHNK".to_vec();
    bytes.extend(chunk.kind.to_le_bytes());
    bytes.extend([1, 0]);
    for number in [chunk.records, chunk.payload.len() as u32, stored.len() as u32] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(chunk.first.to_le_bytes());
    bytes.extend(chunk.last.to_le_bytes());
    bytes.extend(&stored);
    let checksum = crc32fast::hash(&bytes);
    bytes.splice(20..20, checksum.to_le_bytes());
    bytes
}

/// A file of these chunks, without an index.
pub(crate) fn file(major: u16, minor: u16, chunks: &[Chunk]) -> Vec<u8> {
    let mut bytes = header(major, minor, "9.9.9");
    chunks.iter().for_each(|one| bytes.extend(chunk(one)));
    bytes
}

/// The chunks of a finished file, except indices.
pub(crate) fn chunks(file: &[u8]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut rest = &file[64..];
    while let Some(after) = rest.strip_prefix(b"CHNK") {
        let number = |at: usize| u64::from_le_bytes(after[at..at + 8].try_into().unwrap());
        let (records, raw, stored) =
            (number(4) as u32, number(8) as u32 as usize, number(12) as u32 as usize);
        let payload = match after[2] {
            0 => after[36..36 + stored].to_vec(),
            _ => zstd::bulk::decompress(&after[36..36 + stored], raw).unwrap(),
        };
        let kind = u16::from_le_bytes([after[0], after[1]]);
        if kind != 11 {
            chunks.push(Chunk { kind, records, first: number(20), last: number(28), payload });
        }
        rest = &after[36 + stored..];
    }
    chunks
}

/// Changes each record of a chunk of length-prefixed records.
pub(crate) fn map_records(chunk: &mut Chunk, mut change: impl FnMut(&mut Vec<u8>)) {
    let mut rest = chunk.payload.as_slice();
    let mut payload = Vec::new();
    while !rest.is_empty() {
        let (mut length, mut shift) = (0, 0);
        while let Some(byte) = rest.split_off_first() {
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if *byte < 0x80 {
                break;
            }
        }
        let mut record = rest.split_off(..length).unwrap().to_vec();
        change(&mut record);
        let mut length = record.len();
        while length >= 0x80 {
            payload.push(length as u8 | 0x80);
            length >>= 7;
        }
        payload.push(length as u8);
        payload.extend(record);
    }
    chunk.payload = payload;
}

/// Adds a column after all others.
pub(crate) fn add_column(chunk: &mut Chunk, column: &[u8]) {
    let count = usize::from(chunk.payload[0]);
    chunk.payload[0] += 1;
    let lengths_end = 1 + 4 * count;
    chunk.payload.splice(lengths_end..lengths_end, (column.len() as u32).to_le_bytes());
    chunk.payload.extend(column);
}
