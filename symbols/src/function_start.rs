//! Where a function without a name begins.
//!
//! A stripped file still has its unwind tables, with a row for each function. They tell two nameless functions apart,
//! and show a disassembler which one is meant.
//!
//! ```text
//!  .eh_frame_hdr   01 1b 03 3b | .eh_frame | count | 0x4a2b0 row | 0x4a300 row | …     sorted by where functions begin
//!  .eh_frame                                          └─► from 0x4a2b0, 0x3e bytes: covers 0x4a2c7, and not 0x4a2ff
//! ```

use crate::elf::Elf;
use gimli::{BaseAddresses, EhFrame, EhFrameOffset, UnwindSection};
use std::ops::Range;

/// Version and encodings as all linkers write them: 32-bit offsets, in the list relative to the header's address.
const HEAD: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
/// Bytes before the list.
const BEFORE_LIST: usize = 12;

/// The first address of the function that covers an address, in a file linked with unwind tables. Cold code that the
/// compiler moved out of a function counts as a function of its own.
pub(crate) fn function_start(binary: &Elf<'_>, address: u64) -> Option<u64> {
    last_function(binary, address)
        .filter(|function| function.contains(&address))
        .map(|function| function.start)
}

/// Whether code may go on from one address to a later one without a function that begins or ends between them.
pub(crate) fn is_one_function(binary: &Elf<'_>, from: u64, to: u64) -> bool {
    let function = last_function(binary, to);
    function == last_function(binary, from)
        && function.is_none_or(|function| function.contains(&from) == function.contains(&to))
}

/// The last function that begins at or before an address.
// Cost: a search in the list, and the parsing of one row.
fn last_function(binary: &Elf<'_>, address: u64) -> Option<Range<u64>> {
    let [(head, head_address), (rows, rows_address)] = binary.unwind_tables()?;
    let (count, list) = head.strip_prefix(&HEAD).and(head.get(BEFORE_LIST - 4..))?.split_at_checked(4)?;
    let count = usize::try_from(binary.word(count)?).ok()?;
    let (list, _) = list.as_chunks::<8>();
    let list = &list[..count.min(list.len())];
    // The first half of an entry is where a function begins, the second where its row is.
    let half = |entry: &[u8; 8], at: usize| {
        let offset = binary.word(&entry[at..at + 4]).unwrap_or(0) as u32;
        head_address.wrapping_add_signed(offset.cast_signed().into())
    };
    let after = list.partition_point(|entry| half(entry, 0) <= address);
    let row = half(list.get(after.checked_sub(1)?)?, 4).checked_sub(rows_address)?;

    let bases = BaseAddresses::default().set_eh_frame_hdr(head_address).set_eh_frame(rows_address);
    let mut table = EhFrame::new(rows, binary.endian());
    table.set_address_size(binary.address_size());
    let row = EhFrameOffset(usize::try_from(row).ok()?);
    let row = table.fde_from_offset(&bases, row, EhFrame::cie_from_offset).ok()?;
    let start = row.initial_address();
    Some(start..start.saturating_add(row.len()))
}
