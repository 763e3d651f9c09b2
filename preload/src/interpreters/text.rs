//! Text in an interpreter's memory.

use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::name::Name;
use shared_ring::record::name::MAX_NAME;

/// Where the text of a string is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) start: u64,
    pub(crate) length: u64,
}

impl Text {
    /// The word that has its last byte; `None` if it has none.
    pub(crate) fn last_word(self) -> Option<u64> {
        Some(self.start.checked_add(self.length.checked_sub(1)?)? & !7)
    }

    /// Appends it, from the byte `from` on, as much of it as a name has room for.
    pub(crate) fn append_to(
        self,
        name: &mut Name,
        range: core::ops::Range<u64>,
        memory: &mut KnownMemory,
    ) -> Option<()> {
        let end = range.end.min(self.length).min(range.start.saturating_add(MAX_NAME as u64));
        for index in range.start..end {
            name.append(&[memory.byte(self.start.checked_add(index)?)?]);
        }
        Some(())
    }

    /// True if both say the same, as far as names go.
    pub(crate) fn equals(self, other: Self, memory: &mut KnownMemory) -> Option<bool> {
        if self.length != other.length {
            return Some(false);
        }
        for index in 0..self.length.min(MAX_NAME as u64) {
            let mut byte = |text: Self| memory.byte(text.start.checked_add(index)?);
            if byte(self)? != byte(other)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// A number that tells it from others at its address by what it says.
    pub(crate) fn fingerprint(self, memory: &mut KnownMemory) -> Option<u64> {
        if self.length == 0 {
            Some(0)
        } else {
            memory.fingerprint(self.start, self.length.min(MAX_NAME as u64))
        }
    }
}
