//! From an address to its row in the call frame tables.

mod row;

use crate::address::CodeAddress;
use crate::arch;
use crate::expression::Bytes;
use crate::rule::Rule;
use crate::sections::Sections;
use core::mem::MaybeUninit;
use gimli::{
    BaseAddresses, CieOrFde, EhFrame, EhFrameHdr, EhFrameOffset, FrameDescriptionEntry, LittleEndian,
    Register, RegisterRule, UnwindContext, UnwindContextStorage, UnwindSection, UnwindTableRow,
};
use row::Row;

/// Working memory for evaluating tables, almost 4 KiB: too much for a stack that may have 16 KiB in all, so the
/// caller provides it, once per thread.
pub struct Scratch(UnwindContext<usize, Storage>);

const _: () = assert!(size_of::<Scratch>() <= 4096);

impl Scratch {
    /// Fresh working memory.
    pub fn new() -> Self {
        Self(UnwindContext::new_in())
    }

    /// Turns `memory` into fresh working memory, for callers whose memory is mapped, not allocated.
    pub fn init(memory: &mut MaybeUninit<Self>) -> &mut Self {
        memory.write(Self::new())
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// Limits of the evaluation. A signal trampoline's row has 17 registers; a function with the Windows calling
/// convention saves 7, and 10 vector registers. Compilers nest `DW_CFA_remember_state` once, and one level holds the
/// CIE's own row. gimli copies rows through the stack, so generosity has a price.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Storage;

impl UnwindContextStorage<usize> for Storage {
    type Rules = [(Register, RegisterRule<usize>); 24];
    type Stack = [UnwindTableRow<usize, Self>; 4];
}

/// Limit of the linear search, for headers without a table.
const MAX_ENTRIES: usize = 1 << 16;

/// The rule for a frame that executes at `address`.
///
/// Cost: a quarter to half a microsecond, so callers cache the result.
pub(crate) fn rule(sections: Sections<'_>, address: CodeAddress, scratch: &mut Scratch) -> Rule {
    match row(sections, address.lookup(), scratch) {
        Some(row) => row.rule(address.address()),
        None => Rule::NO_INFORMATION,
    }
}

/// The row that covers `address`, evaluated into `scratch`.
pub(crate) fn row<'a>(sections: Sections<'a>, address: u64, scratch: &'a mut Scratch) -> Option<Row<'a>> {
    if !arch::SUPPORTED {
        return None;
    }
    let tables = Tables::open(sections)?;
    let fde = tables.fde(address)?;
    let signal = fde.is_signal_trampoline();
    let columns =
        fde.unwind_info_for_address(&tables.eh_frame, &tables.bases, &mut scratch.0, address).ok()?;
    Some(Row::new(columns, tables.eh_frame, signal))
}

/// The two sections, found in their segment.
struct Tables<'a> {
    eh_frame: EhFrame<Bytes<'a>>,
    eh_frame_address: u64,
    bases: BaseAddresses,
    hdr_address: u64,
    /// The header's binary search table, sorted by function: the addresses of the function and of its FDE, each as an
    /// `i32` relative to `hdr_address`.
    index: Option<&'a [[u8; 8]]>,
}

impl<'a> Tables<'a> {
    fn open(sections: Sections<'a>) -> Option<Self> {
        let Sections { segment, segment_address, hdr_address } = sections;
        let within = |address: u64| {
            let offset = usize::try_from(address.checked_sub(segment_address)?).ok()?;
            segment.get(offset..)
        };
        let hdr = within(hdr_address)?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(hdr_address);
        let parsed = EhFrameHdr::new(hdr, LittleEndian).parse(&bases, 8).ok()?;
        let eh_frame_address = parsed.eh_frame_ptr().direct().ok()?;
        let mut eh_frame = EhFrame::new(within(eh_frame_address)?, LittleEndian);
        eh_frame.set_vendor(arch::VENDOR);
        Some(Self {
            eh_frame,
            eh_frame_address,
            bases: bases.set_eh_frame(eh_frame_address),
            hdr_address,
            index: index(hdr),
        })
    }

    /// The entry whose function contains `address`.
    fn fde(&self, address: u64) -> Option<FrameDescriptionEntry<Bytes<'a>>> {
        let fde = match self.index {
            Some(index) => self.search(index, address)?,
            None => self.scan(address)?,
        };
        fde.contains(address).then_some(fde)
    }

    /// Finds the last function at or before `address`.
    fn search(&self, index: &[[u8; 8]], address: u64) -> Option<FrameDescriptionEntry<Bytes<'a>>> {
        let wanted = address.wrapping_sub(self.hdr_address).cast_signed();
        let after = index.partition_point(|entry| i64::from(function_of(entry)) <= wanted);
        let entry = index.get(after.checked_sub(1)?)?;
        let fde = self.hdr_address.wrapping_add_signed(i64::from(fde_of(entry)));
        let offset = usize::try_from(fde.checked_sub(self.eh_frame_address)?).ok()?;
        self.eh_frame.fde_from_offset(&self.bases, EhFrameOffset(offset), EhFrame::cie_from_offset).ok()
    }

    /// Walks `.eh_frame` from its beginning: linkers omit the table when they could not read an entry.
    fn scan(&self, address: u64) -> Option<FrameDescriptionEntry<Bytes<'a>>> {
        let mut entries = self.eh_frame.entries(&self.bases);
        for _ in 0..MAX_ENTRIES {
            match entries.next().ok()?? {
                CieOrFde::Cie(_) => {}
                CieOrFde::Fde(partial) => match partial.parse(EhFrame::cie_from_offset) {
                    Ok(fde) if fde.contains(address) => return Some(fde),
                    _ => {}
                },
            }
        }
        None
    }
}

/// The binary search table of a header in the one form that linkers write:
///
/// ```text
///  0        1               2               3                4                8          12
/// ┌────────┬───────────────┬───────────────┬────────────────┬────────────────┬──────────┬───────────────────
/// │ 1      │ 0x1b          │ 0x03          │ 0x3b           │ .eh_frame      │ entries  │ i32 i32 │ i32 i32 …
/// │ version│ pcrel, sdata4 │ udata4        │ datarel, sdata4│ i32            │ u32      │
/// └────────┴───────────────┴───────────────┴────────────────┴────────────────┴──────────┴───────────────────
/// ```
fn index(hdr: &[u8]) -> Option<&[[u8; 8]]> {
    let (start, table) = hdr.split_at_checked(12)?;
    if !start.starts_with(&[1, 0x1b, 0x03, 0x3b]) {
        return None;
    }
    let (_, count) = start.split_last_chunk::<4>()?;
    let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
    let (entries, _) = table.as_chunks::<8>();
    match entries.get(..count)? {
        [] => None,
        entries => Some(entries),
    }
}

fn function_of(entry: &[u8; 8]) -> i32 {
    let [a, b, c, d, ..] = *entry;
    i32::from_le_bytes([a, b, c, d])
}

fn fde_of(entry: &[u8; 8]) -> i32 {
    let [.., a, b, c, d] = *entry;
    i32::from_le_bytes([a, b, c, d])
}

// The made-up tables are those of x86-64.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
