//! The file header, and what it says about the rest.
//!
//! ```text
//!  0           8        16        24             40             56               72                 104
//!  +-----------+--------+---------+--------------+--------------+----------------+------------------+
//!  | "PERFILE2"| length | of each | events: from,| records: from| (event types)  | bits of features |
//!  |           | of this| event   | length       | length       |                |                  |
//!  +-----------+--------+---------+--------------+--------------+----------------+------------------+
//!
//!  an event:   attributes, then where its identifiers are: from u64, length u64
//!  features:   behind the records, for each bit from u64, length u64
//! ```

use super::fields::{Fields, Short};
use super::layout::Layout;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// First bytes of a file that perf wrote to disk.
pub(in crate::import) const MAGIC: [u8; 8] = *b"PERFILE2";
const LENGTH: usize = 104;
/// Header length of a file that perf wrote to a pipe.
const PIPE: u64 = 16;
/// Number of the feature that lists build ids.
const BUILD_IDS: u32 = 2;
/// Limits on events, on identifiers of all events, and on bytes of build ids.
const MOST: (u64, u64, u64) = (1 << 12, 1 << 20, 64 << 20);

/// What is known before the first record.
#[derive(Debug)]
pub(super) struct Header {
    /// Events; there is at least one.
    pub(super) layouts: Vec<Layout>,
    /// The event of each identifier.
    identifiers: HashMap<u64, usize>,
    /// Where the records begin and end.
    pub(super) records: (u64, u64),
    /// Build ids of files, by path.
    pub(super) build_ids: HashMap<Vec<u8>, Vec<u8>>,
}

/// Why a header cannot be read.
#[derive(Debug)]
pub(super) enum Bad {
    Read(io::Error),
    What(&'static str),
}

impl From<Short> for Bad {
    fn from(_: Short) -> Bad {
        Bad::What("the file ends inside its list of events. Record again.")
    }
}

impl Header {
    /// Reads the header.
    pub(super) fn read(file: &File, file_length: u64) -> Result<Header, Bad> {
        let bytes = part(file, 0, (LENGTH as u64).min(file_length))?;
        let mut fields = Fields(&bytes);
        fields.u64()?;
        if fields.u64()? == PIPE {
            return Err(Bad::What(
                "recordings written to a pipe are not supported: record with `perf record -o FILE`",
            ));
        }
        let each = fields.u64()?;
        let mut section = || Ok::<_, Short>((fields.u64()?, fields.u64()?));
        let (events, records, _) = (section()?, section()?, section()?);
        let features = [fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?];
        let end = records.0.checked_add(records.1).filter(|end| *end <= file_length);
        // perf writes the length last, so it is 0 if perf was killed.
        let end = end.filter(|_| records.1 > 0).unwrap_or(file_length);
        let mut header = Header {
            layouts: Vec::new(),
            identifiers: HashMap::new(),
            records: (records.0, end),
            build_ids: HashMap::new(),
        };
        header.read_events(file, each, events)?;
        // Features follow the records; if perf was killed there are none.
        if end == records.0.saturating_add(records.1) {
            header.read_build_ids(file, end, features)?;
        }
        Ok(header)
    }

    /// The layout of a sample, or of any other record.
    pub(super) fn layout(&self, body: &[u8], is_sample: bool) -> Layout {
        let first = self.layouts.first().copied().unwrap_or_default();
        if !first.has_identifier() {
            return first;
        }
        let place = if is_sample { Some(0) } else { body.len().checked_sub(8) };
        let identifier = place.and_then(|place| Fields(body.get(place..)?).u64().ok());
        let known = identifier.and_then(|identifier| self.identifiers.get(&identifier));
        known.and_then(|event| self.layouts.get(*event)).copied().unwrap_or(first)
    }

    fn read_events(&mut self, file: &File, each: u64, (from, length): (u64, u64)) -> Result<(), Bad> {
        if !(48 + 16..=4096).contains(&each) || length / each > MOST.0 {
            return Err(Bad::What("malformed list of events"));
        }
        let (mut left, bytes) = (MOST.1, part(file, from, length / each * each)?);
        for (event, bytes) in bytes.chunks_exact(each as usize).enumerate() {
            let (attributes, identifiers) = bytes.split_at(bytes.len() - 16);
            self.layouts.push(Layout::parse(attributes)?);
            let mut identifiers = Fields(identifiers);
            let (from, length) = (identifiers.u64()?, identifiers.u64()?);
            left = left.checked_sub(length / 8).ok_or(Bad::What("malformed list of events"))?;
            let bytes = part(file, from, length)?;
            let (words, _) = bytes.as_chunks::<8>();
            self.identifiers.extend(words.iter().map(|word| (u64::from_le_bytes(*word), event)));
        }
        let Some((first, others)) = self.layouts.split_first() else {
            return Err(Bad::What("it has no events"));
        };
        let are_told_apart = first.has_identifier();
        if !are_told_apart && !others.iter().all(|other| other.is_like(first)) {
            return Err(Bad::What(
                "it has several events, but no ids that tell their samples apart: record one event at a time",
            ));
        }
        Ok(())
    }

    /// Entries: header u32 u16 and its length u16, pid u32, build id of 24 bytes with its length in the 21st, path.
    fn read_build_ids(&mut self, file: &File, sections: u64, features: [u64; 4]) -> Result<(), Bad> {
        if features[0] & (1 << BUILD_IDS) == 0 {
            return Ok(());
        }
        let before = (features[0] & ((1 << BUILD_IDS) - 1)).count_ones();
        let section = part(file, sections + 16 * u64::from(before), 16)?;
        let mut section = Fields(&section);
        let (from, length) = (section.u64()?, section.u64()?);
        let bytes = part(file, from, length.min(MOST.2))?;
        let mut rest = Fields(&bytes);
        while rest.0.len() > 8 {
            rest.u32()?;
            let has_length = rest.u16()? & (1 << 15) != 0;
            let length = u64::from(rest.u16()?);
            let mut entry = Fields(rest.many(length.checked_sub(8).ok_or(Short)?, 1)?);
            entry.u32()?;
            let id = entry.many(24, 1)?;
            let length = if has_length { usize::from(id[20]).min(20) } else { 20 };
            self.build_ids.insert(entry.text().to_vec(), id[..length].to_vec());
        }
        Ok(())
    }
}

/// Bytes from a file, which may be shorter than it claims.
fn part(file: &File, from: u64, length: u64) -> Result<Vec<u8>, Bad> {
    let file_length = file.metadata().map_err(Bad::Read)?.len();
    if from.checked_add(length).is_none_or(|end| end > file_length) {
        return Err(Short.into());
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| Short)?];
    file.read_exact_at(&mut bytes, from).map_err(Bad::Read)?;
    Ok(bytes)
}
