//! How debug information is read.

use gimli::{EndianSlice, RunTimeEndian, SectionId};

/// How DWARF is read.
pub(crate) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Whether a section concerns lines and functions; the rest (variables' locations, macros) stays unread.
pub(crate) fn is_needed(id: SectionId) -> bool {
    matches!(
        id,
        SectionId::DebugAbbrev
            | SectionId::DebugAddr
            | SectionId::DebugAranges
            | SectionId::DebugInfo
            | SectionId::DebugLine
            | SectionId::DebugLineStr
            | SectionId::DebugRanges
            | SectionId::DebugRngLists
            | SectionId::DebugStr
            | SectionId::DebugStrOffsets
    )
}
