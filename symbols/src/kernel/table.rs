//! Functions by address, in a form that is used as it lies in a file.
//!
//! ```text
//!  addresses   8 bytes each, ascending
//!  ends        4 bytes each: where the name ends among the names
//!  names       _stext do_one_initcall hook⇥nf_tables …      one after the other, with a tab before a module
//! ```
//!
//! A search reads some twenty addresses and a name or two, so of a mapped file hardly anything else is touched.

use crate::image::Image;
use std::ops::Range;

/// Bytes of an address and of an end.
const ADDRESS: usize = 8;
const END: usize = 4;

/// A function, and what has no name in front of its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) address: u64,
    pub(super) name: &'a [u8],
    /// Empty for the kernel itself.
    pub(super) module: &'a [u8],
}

/// The functions.
pub(super) struct Table {
    image: Image,
    /// Where the table begins in the image.
    from: usize,
    count: usize,
}

impl Default for Table {
    fn default() -> Table {
        Table { image: Image::Owned(Vec::new()), from: 0, count: 0 }
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(text, "{} functions", self.count)
    }
}

impl Table {
    /// A table of these functions, which are in order.
    pub(super) fn of<'e>(entries: impl Iterator<Item = Entry<'e>> + Clone) -> Table {
        let (bytes, count) = bytes(entries);
        Table { image: Image::Owned(bytes), from: 0, count }
    }

    /// The table of so many functions in a file, from this place to its end. None if it is too short for them.
    pub(super) fn within(image: Image, from: usize, count: usize) -> Option<Table> {
        let length = count.checked_mul(ADDRESS + END)?.checked_add(from)?;
        (length <= image.bytes().len()).then_some(Table { image, from, count })
    }

    /// Gives back the memory of a mapped file until the next search.
    pub(super) fn release(&self) {
        self.image.release();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All functions.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<'_>> + Clone {
        (0..self.count).filter_map(|index| self.get(index))
    }

    /// The index of the first function behind an address.
    ///
    /// Cost: one binary search.
    pub(super) fn after(&self, address: u64) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.address(middle).is_some_and(|start| start <= address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The function with this index; none behind the last one, and where the file is no table.
    pub(super) fn get(&self, index: usize) -> Option<Entry<'_>> {
        let address = self.address(index)?;
        let names = self.count * (ADDRESS + END);
        let begin = index.checked_sub(1).map_or(Some(0), |before| self.end(before))?;
        let text = self.bytes(names.checked_add(begin)?..names.checked_add(self.end(index)?)?)?;
        let tab = text.iter().position(|&byte| byte == b'\t');
        let (name, module) = tab.map_or((text, &[][..]), |tab| (&text[..tab], &text[tab + 1..]));
        Some(Entry { address, name, module })
    }

    fn address(&self, index: usize) -> Option<u64> {
        let at = (index < self.count).then_some(index * ADDRESS)?;
        Some(u64::from_le_bytes(*self.bytes(at..at + ADDRESS)?.first_chunk()?))
    }

    fn end(&self, index: usize) -> Option<usize> {
        let at = self.count * ADDRESS + index * END;
        Some(u32::from_le_bytes(*self.bytes(at..at + END)?.first_chunk()?) as usize)
    }

    fn bytes(&self, range: Range<usize>) -> Option<&[u8]> {
        self.image.bytes().get(self.from..)?.get(range)
    }
}

/// The table of these functions, which are in order, and how many they are.
pub(super) fn bytes<'e>(entries: impl Iterator<Item = Entry<'e>> + Clone) -> (Vec<u8>, usize) {
    let mut table: Vec<u8> = entries.clone().flat_map(|entry| entry.address.to_le_bytes()).collect();
    let (count, mut names) = (table.len() / ADDRESS, Vec::new());
    for Entry { name, module, .. } in entries {
        names.extend_from_slice(name);
        if !module.is_empty() {
            names.push(b'\t');
            names.extend_from_slice(module);
        }
        table.extend_from_slice(&(names.len() as u32).to_le_bytes());
    }
    table.append(&mut names);
    (table, count)
}
