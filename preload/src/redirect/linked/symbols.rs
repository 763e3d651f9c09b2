//! The full symbol table of a file that was not stripped: an allocator inside a program may be invisible from
//! outside.

use super::Function;
use super::code::has_code;
use crate::modules::dynamic::Symbol;
use core::ffi::{CStr, c_void};
use rustix::fs::{Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags};

/// Larger tables are not searched.
const MOST: usize = 1 << 22;

/// The mapped file and its symbols.
pub(super) struct Symbols {
    start: *mut c_void,
    length: usize,
    symbols: &'static [Symbol],
    texts: &'static [u8],
}

/// The header of an ELF file.
#[repr(C)]
struct Header {
    ident: [u8; 16],
    unused: [u32; 6],
    sections: u64,
    flags: u32,
    sizes: [u16; 3],
    section_size: u16,
    section_count: u16,
    names: u16,
}

/// The header of a section.
#[repr(C)]
struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    alignment: u64,
    entry_size: u64,
}

const SHT_SYMTAB: u32 = 2;

impl Symbols {
    /// The symbols of a file, if it can be read and has such a table.
    pub(super) fn of(path: &CStr) -> Option<Self> {
        let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let length = usize::try_from(rustix::fs::fstat(&file).ok()?.st_size).ok()?;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe {
            rustix::mm::mmap(core::ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, &file, 0)
        };
        let mut all = Self { start: start.ok()?, length, symbols: &[], texts: &[] };
        if all.read().is_none() {
            all.give_up();
            return None;
        }
        Some(all)
    }

    fn read(&mut self) -> Option<()> {
        let [header, ..] = self.table::<Header>(0, 1)? else { return None };
        if usize::from(header.section_size) != size_of::<Section>() {
            return None;
        }
        let sections: &[Section] = self.table(header.sections, header.section_count.into())?;
        let symbols = sections.iter().find(|section| section.kind == SHT_SYMTAB)?;
        let texts = sections.get(symbols.link as usize)?;
        let count = symbols.size as usize / size_of::<Symbol>();
        self.symbols = self.table(symbols.offset, count).filter(|_| count <= MOST)?;
        self.texts = self.table(texts.offset, texts.size as usize)?;
        Some(())
    }

    /// `count` elements of a type that has the same layout in files and in memory.
    fn table<T>(&self, offset: u64, count: usize) -> Option<&'static [T]> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(count.checked_mul(size_of::<T>())?)?;
        let first = self.start.cast::<T>().wrapping_byte_add(offset);
        if end > self.length || !first.is_aligned() {
            return None;
        }
        // SAFETY: within the mapping, which nobody writes, and aligned; every bit pattern is valid for these types.
        // Users are done with it before the file is unmapped.
        Some(unsafe { core::slice::from_raw_parts(first, count) })
    }

    /// Lists those of these functions that the file has.
    // Cost: some 5 ns for each symbol, and the time to read the table.
    pub(super) fn find(&self, functions: &[Function], tell: &mut dyn FnMut(&Function, &'static Symbol)) {
        let mut beginnings = Beginnings::default();
        functions.iter().for_each(|function| beginnings.add(function.name.to_bytes_with_nul()));
        for symbol in self.symbols.iter().filter(has_code) {
            let Some(rest) = self.texts.get(symbol.name as usize..) else { continue };
            if !beginnings.may_have(rest) {
                continue;
            }
            let has_name = |function: &&Function| rest.starts_with(function.name.to_bytes_with_nul());
            if let Some(function) = functions.iter().find(has_name) {
                tell(function, symbol);
            }
        }
    }

    /// Unmaps the file.
    pub(super) fn give_up(self) {
        // SAFETY: our own mapping, to which nobody refers any more.
        let _ = unsafe { rustix::mm::munmap(self.start, self.length) };
    }
}

/// A set of the first four bytes of some texts, one bit for each: hardly any other text shares one.
struct Beginnings([u64; 64]);

impl Default for Beginnings {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Beginnings {
    fn add(&mut self, text: &[u8]) {
        let (word, bit) = Self::place(text);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    fn may_have(&self, text: &[u8]) -> bool {
        let (word, bit) = Self::place(text);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    /// A word and a bit in it.
    fn place(text: &[u8]) -> (usize, u64) {
        let first = text.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let hash = first.wrapping_mul(0x9e37_79b9);
        ((hash >> 26) as usize, 1 << (hash >> 20 & 63))
    }
}
