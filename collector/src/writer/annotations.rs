//! What programs say about themselves: names of pools, and marks.
//!
//! Names come from recorded processes, so any bytes are accepted: invalid UTF-8 is replaced, and the number of
//! different names is bounded.

use crate::base::capture_writer::Writer;
use crate::tables::missed_allocators::UnseenLibraries;
use capture::{Action, Error, NodeId, StringId};
use rustc_hash::FxHashMap;
use shared_ring::record::Record;
use shared_ring::record::name::MAX_NAME;

/// Most different names in a recording.
const MOST_NAMES: usize = 1 << 16;
/// Stands for all further names.
const OTHER: &str = "[too many names]";

/// The names seen so far.
#[derive(Debug, Default)]
pub(crate) struct Names {
    ids: FxHashMap<Box<str>, StringId>,
    /// Names beyond the limit.
    pub(crate) refused: u64,
    /// Names of libraries.
    pub(crate) unseen: UnseenLibraries,
}

impl Names {
    /// The capture's id for these bytes.
    pub(crate) fn enter(&mut self, name: &[u8], writer: &mut Writer) -> Result<StringId, Error> {
        let text = text(name);
        if let Some(known) = self.ids.get(&*text) {
            return Ok(*known);
        }
        if self.ids.len() >= MOST_NAMES {
            self.refused += 1;
            return writer.string(OTHER);
        }
        let id = writer.string(&text)?;
        self.ids.insert(text.into(), id);
        Ok(id)
    }

    /// Remark for the user about refused names.
    pub(crate) fn remark(&self) -> Option<String> {
        (self.refused > 0).then(|| {
            format!(
                "Names of marks and pools that could not be kept: {}. They show as {OTHER}: a recording holds {MOST_NAMES} \
                 different ones.",
                self.refused
            )
        })
    }
}

/// A name as text. A name cut in the middle of a character loses that character.
pub(crate) fn text(name: &[u8]) -> std::borrow::Cow<'_, str> {
    match str::from_utf8(name) {
        Err(error) if name.len() == MAX_NAME && error.error_len().is_none() => {
            String::from_utf8_lossy(name.get(..error.valid_up_to()).unwrap_or(name))
        }
        _ => String::from_utf8_lossy(name),
    }
}

/// Names of the pools of an image's processes, by slot and number.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    names: FxHashMap<(u32, u32), StringId>,
}

impl Pools {
    /// The action for a process's report about a block of a pool; `None` for a pool without a name, and for any other
    /// record. `stack` translates ids.
    pub(crate) fn action(
        &self,
        slot: u32,
        record: &Record,
        mut stack: impl FnMut(u32) -> Result<NodeId, Error>,
    ) -> Result<Option<Action>, Error> {
        let name = |pool: u32| self.names.get(&(slot, pool)).copied();
        Ok(match *record {
            Record::ReportAlloc { pool, address, size, stack: id } => match name(pool) {
                Some(pool) => Some(Action::PoolAlloc { pool, address, size, stack: stack(id)? }),
                None => None,
            },
            Record::ReportRealloc { pool, old, address, size, stack: id } => match name(pool) {
                Some(pool) => Some(Action::PoolRealloc { pool, old, address, size, stack: stack(id)? }),
                None => None,
            },
            Record::ReportFree { pool, address } => name(pool).map(|pool| Action::PoolFree { pool, address }),
            _ => None,
        })
    }

    /// Names a pool of a process.
    pub(crate) fn name(&mut self, slot: u32, pool: u32, name: StringId) {
        self.names.insert((slot, pool), name);
    }

    /// Forgets the pools of a process that ended: the next one in the slot has pools of its own.
    pub(crate) fn forget(&mut self, slot: u32) {
        self.names.retain(|(of, _), _| *of != slot);
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    /// Check that text comes through unchanged, that invalid bytes are replaced, and that a cut leaves whole
    /// characters.
    #[test]
    fn any_bytes_are_a_text() {
        let cut = |end: &str| [&[b'x'; 253], end.as_bytes()].concat()[..255].to_vec();
        let xs = "x".repeat(253);
        for (name, expected) in [
            (b"".to_vec(), String::new()),
            ("Zürich".into(), "Zürich".into()),
            (vec![b'a', 0xff, b'b', 0xc3], "a\u{fffd}b\u{fffd}".into()),
            (cut("ab"), format!("{xs}ab")),
            (cut("a€"), format!("{xs}a")),
            (cut("ü!"), format!("{xs}ü")),
        ] {
            assert_eq!(text(&name), expected, "{name:?}");
        }
    }
}
