//! What programs say about themselves: names of pools, and marks.
//!
//! Names come from recorded processes, so any bytes are accepted: invalid UTF-8 is replaced, and the number of
//! different names is bounded.

use super::orders;
use super::pipeline::Pipeline;
use crate::image::ImageId;
use crate::tables::missed_allocators::UnseenLibraries;
use capture::{Action, Error, Mark, MarkKind, NodeId, StringId, ThreadId, Writer};
use rustc_hash::FxHashMap;
use shared_ring::name::{self, MAX_NAME, MAX_POOLS, Name, Named};
use shared_ring::record::Record;

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
    fn enter(&mut self, name: &[u8], writer: &mut Writer) -> Result<StringId, Error> {
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
fn text(name: &[u8]) -> std::borrow::Cow<'_, str> {
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

    /// Forgets the pools of a process that ended: the next one in the slot has pools of its own.
    pub(crate) fn forget(&mut self, slot: u32) {
        self.names.retain(|(of, _), _| *of != slot);
    }
}

impl Pipeline {
    /// Takes in a name reported by a thread.
    pub(crate) fn told(
        &mut self,
        (image, slot, thread): (ImageId, u32, ThreadId),
        named: Named,
        name: &Name,
    ) -> Result<(), Error> {
        match named {
            Named::Pool(pool @ 1..=MAX_POOLS) => {
                let name = self.names.enter(name.bytes(), &mut self.writer)?;
                if let Some(pools) = self.pools(image) {
                    pools.names.insert((slot, pool), name);
                }
                Ok(())
            }
            Named::Pool(_) => {
                self.totals.corrupt += 1;
                Ok(())
            }
            Named::Mark(kind) => match of_wire(kind) {
                Some(kind) => self.set_mark(thread, kind, name.bytes()),
                None => {
                    self.names.unseen.add(&text(name.bytes()));
                    Ok(())
                }
            },
        }
    }

    /// Sets a mark that was requested from outside; false if there is no thread yet that could have it.
    pub(crate) fn mark(&mut self, mark: &orders::Mark) -> Result<bool, Error> {
        let Some(thread) = self.processes.speaker(mark.pid) else { return Ok(false) };
        self.timeline.advance(mark.time);
        self.set_mark(thread, MarkKind::Instant, mark.name.as_bytes())?;
        Ok(true)
    }

    /// Sets a mark after all events so far.
    fn set_mark(&mut self, thread: ThreadId, kind: MarkKind, name: &[u8]) -> Result<(), Error> {
        let name = self.names.enter(name, &mut self.writer)?;
        let mark = self.writer.mark(Mark { time: self.timeline.last(), thread, kind, name })?;
        self.write(thread, Action::Mark { mark })
    }
}

fn of_wire(kind: name::MarkKind) -> Option<MarkKind> {
    Some(match kind {
        name::MarkKind::Instant => MarkKind::Instant,
        name::MarkKind::Begin => MarkKind::Begin,
        name::MarkKind::End => MarkKind::End,
        name::MarkKind::Unseen => return None,
    })
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
