//! Shows where the bytes of a capture are: `cargo run --release -p capture --example columns FILE`. Prints the size
//! of each column of the event chunks, compressed separately, and of each other kind of chunk as stored in the file.

use std::collections::BTreeMap;

/// Columns of event chunks, in file order; see `FORMAT.md`.
const COLUMNS: [&str; 16] = [
    "kind",
    "thread",
    "time",
    "placement",
    "address",
    "freed",
    "freed address",
    "size",
    "stack",
    "alignment",
    "free stack",
    "serial",
    "rare",
    "stack number",
    "size groups",
    "placement groups",
];
const EVENTS: [u16; 5] = [9, 12, 27, 30, 32];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: columns FILE")?;
    let file = std::fs::read(path)?;
    let mut columns = BTreeMap::<usize, (usize, usize)>::new();
    let mut chunks = BTreeMap::<u16, usize>::new();
    let mut events = 0;
    let mut rest = file.get(64..).ok_or("no capture")?;
    while let Some(header) = rest.get(..40).filter(|header| header.starts_with(b"CHNK")) {
        let kind = u16::from_le_bytes([header[4], header[5]]);
        let number = |at: usize| {
            header[at..at + 4].iter().rev().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte))
        };
        let (records, raw, stored) = (number(8), number(12), number(16));
        let payload = rest.get(40..40 + stored).ok_or("the file is cut")?;
        *chunks.entry(kind).or_default() += 40 + stored;
        if EVENTS.contains(&kind) {
            events += records;
            let payload =
                if header[6] == 0 { payload.to_vec() } else { zstd::bulk::decompress(payload, raw)? };
            let count = usize::from(payload[0]);
            let mut start = 1 + 4 * count;
            for column in 0..count {
                let at = 1 + 4 * column;
                let length = u32::from_le_bytes(payload[at..at + 4].try_into()?) as usize;
                let packed = zstd::bulk::compress(&payload[start..start + length], 3)?.len();
                let sum = columns.entry(column).or_default();
                *sum = (sum.0 + length, sum.1 + packed);
                start += length;
            }
        }
        rest = &rest[40 + stored..];
    }
    println!("{events} events, {} bytes, {:.3} each", file.len(), file.len() as f64 / events as f64);
    for (column, (raw, packed)) in columns {
        let name = COLUMNS.get(column).unwrap_or(&"?");
        let each = |bytes: usize| bytes as f64 / events as f64;
        println!("  {name:14} {:8.3} {packed:10} bytes {:8.3}", each(raw), each(packed));
    }
    for (kind, bytes) in chunks {
        println!("  chunks of kind {kind:2} {bytes:10} bytes");
    }
    Ok(())
}
