//! The linker's identifier of a build.

use super::headers::u32_at;
use core::fmt;
use core::ops::Range;

/// Most notes that are examined in one segment.
const MAX_NOTES: usize = 32;

const NT_GNU_BUILD_ID: u32 = 3;

/// The identifier in the GNU build-id note: usually 20 bytes, at most 64.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildId {
    bytes: [u8; 64],
    len: usize,
}

impl BuildId {
    /// The bytes of the identifier, at least one.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Looks for the build-id among the notes in `range`:
///
/// ```text
///  0        4        8        12      16                      padded to `align`
///  │ u32    │ u32    │ u32    │ "GNU\0"│ identifier …         │ next note
///  │ name 4 │ size   │ type 3 │        │                      │
/// ```
pub(super) fn find(
    range: Range<u64>,
    align: u64,
    read: &mut impl FnMut(u64, &mut [u8]) -> bool,
) -> Option<BuildId> {
    // Every note starts at a multiple of `align`, and so does its identifier.
    let align = if align == 8 { 8 } else { 4 };
    let mut at = range.start;
    for _ in 0..MAX_NOTES {
        let mut head = [0; 16];
        if range.end.checked_sub(at)? < 16 || !read(at, &mut head) {
            return None;
        }
        let [name_size, size] = [0, 4].map(|offset| u64::from(u32_at(&head, offset)));
        let body = at.checked_add(name_size.checked_add(12)?.checked_next_multiple_of(align)?)?;
        let end = body.checked_add(size)?;
        if u32_at(&head, 8) == NT_GNU_BUILD_ID && name_size == 4 && head.ends_with(b"GNU\0") {
            let mut id = BuildId { bytes: [0; 64], len: usize::try_from(size).ok()? };
            let bytes = id.bytes.get_mut(..id.len)?;
            let whole = !bytes.is_empty() && end <= range.end;
            return (whole && read(body, bytes)).then_some(id);
        }
        at = body.checked_add(size.checked_next_multiple_of(align)?)?;
    }
    None
}
