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

/// Version and encodings as all linkers write them: 32-bit offsets, in the list relative to the header's address.
const HEAD: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
/// Bytes before the list.
const BEFORE_LIST: usize = 12;

/// The first address of the function that covers an address, in a file linked with unwind tables. Cold code that the
/// compiler moved out of a function counts as a function of its own.
// Cost: a search in the list, and the parsing of one row.
pub(crate) fn function_start(binary: &Elf<'_>, address: u64) -> Option<u64> {
    let (head, head_address) = binary.table_at(b".eh_frame_hdr")?;
    let (rows, rows_address) = binary.table_at(b".eh_frame")?;
    let is_little = matches!(binary.endian(), gimli::RunTimeEndian::Little);
    let (list, _) = head.strip_prefix(&HEAD).and_then(|_| head.get(BEFORE_LIST..))?.as_chunks::<8>();
    // The first half of an entry is where a function begins, the second where its row is.
    let half = |entry: &[u8; 8], at: usize| {
        let bytes = [entry[at], entry[at + 1], entry[at + 2], entry[at + 3]];
        let offset = if is_little { i32::from_le_bytes(bytes) } else { i32::from_be_bytes(bytes) };
        head_address.wrapping_add_signed(offset.into())
    };
    let after = list.partition_point(|entry| half(entry, 0) <= address);
    let row = half(list.get(after.checked_sub(1)?)?, 4).checked_sub(rows_address)?;

    let bases = BaseAddresses::default().set_eh_frame_hdr(head_address).set_eh_frame(rows_address);
    let mut table = EhFrame::new(rows, binary.endian());
    table.set_address_size(binary.address_size());
    let row = EhFrameOffset(usize::try_from(row).ok()?);
    let row = table.fde_from_offset(&bases, row, EhFrame::cie_from_offset).ok()?;
    let start = row.initial_address();
    (address.checked_sub(start)? < row.len()).then_some(start)
}
