//! The tables of a loaded module, as its dynamic section describes them.

use crate::modules::loader::LinkMap;
use crate::platform::elf::{DT_GNU_HASH, DT_NEEDED, DT_NULL, DT_STRTAB, DT_SYMTAB};
use core::ffi::{CStr, c_char, c_void};

/// An entry of a dynamic section.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    tag: u64,
    value: u64,
}

/// A name that a module defines or needs.
#[repr(C)]
pub(crate) struct Symbol {
    pub(crate) name: u32,
    pub(crate) kind: u8,
    pub(crate) other: u8,
    /// 0 when another module defines it.
    pub(crate) section: u16,
    pub(crate) value: u64,
    pub(crate) size: u64,
}

impl Symbol {
    /// Whether it is a variable of which each thread has its own: its value is an offset in the module's block.
    pub(crate) fn is_thread_local(&self) -> bool {
        const STT_TLS: u8 = 6;
        self.kind & 15 == STT_TLS && self.section != 0
    }

    /// Whether it is a function that the module defines, other than an indirect function (`STT_GNU_IFUNC`).
    pub(crate) fn is_function(&self) -> bool {
        const STT_FUNC: u8 = 2;
        self.kind & 15 == STT_FUNC && self.section != 0
    }
}

/// A word that the loader fills in.
#[repr(C)]
pub(crate) struct Relocation {
    pub(crate) offset: u64,
    pub(crate) kind: u32,
    pub(crate) symbol: u32,
    pub(crate) addend: i64,
}

/// The tables of a module, which stays loaded for `'m`.
#[derive(Clone, Copy)]
pub(crate) struct Dynamic<'m> {
    bias: u64,
    entries: &'m [Entry],
}

impl<'m> Dynamic<'m> {
    /// The tables of a module that the loader has described.
    pub(crate) fn of(map: &'m LinkMap) -> Self {
        // SAFETY: the module is loaded.
        unsafe { Self::at(map.address, map.dynamic) }
    }

    /// The tables behind a dynamic section.
    ///
    /// # Safety
    /// The section is that of a module which is loaded for `'m`, at the load bias `bias`.
    pub(crate) unsafe fn at(bias: u64, section: *const c_void) -> Self {
        let first = section.cast::<Entry>();
        // SAFETY: the section of a loaded module, which ends with a `DT_NULL` entry.
        let length = (0..).take_while(|at| unsafe { (*first.wrapping_add(*at)).tag } != DT_NULL).count();
        // SAFETY: so many entries were just seen.
        Self { bias, entries: unsafe { core::slice::from_raw_parts(first, length) } }
    }

    /// The load bias: how far the module lies from the addresses in its file.
    pub(crate) fn bias(self) -> u64 {
        self.bias
    }

    fn value(self, tag: u64) -> Option<u64> {
        self.entries.iter().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }

    /// The table that an entry points to. Where the section is writable, the loader has replaced the file's addresses
    /// by those in memory.
    fn table<T>(self, tag: u64) -> Option<*const T> {
        let value = self.value(tag)?;
        let address = if value < self.bias { value.wrapping_add(self.bias) } else { value };
        Some(core::ptr::with_exposed_provenance(address as usize))
    }

    /// A string of the module.
    pub(crate) fn text(self, offset: u64) -> Option<&'m CStr> {
        let texts = self.table::<c_char>(DT_STRTAB)?;
        // SAFETY: the module is loaded, and its string table has terminated strings.
        Some(unsafe { CStr::from_ptr(texts.wrapping_add(offset as usize)) })
    }

    /// Names of the modules that this one needs.
    pub(crate) fn needed(self) -> impl Iterator<Item = &'m CStr> {
        self.entries
            .iter()
            .filter(|entry| entry.tag == DT_NEEDED)
            .filter_map(move |entry| self.text(entry.value))
    }

    /// The relocations of the table that two entries describe.
    pub(crate) fn relocations(self, table: u64, length: u64) -> &'m [Relocation] {
        let (Some(first), Some(bytes)) = (self.table::<Relocation>(table), self.value(length)) else {
            return &[];
        };
        // SAFETY: the module is loaded, and the table is as long as it says.
        unsafe { core::slice::from_raw_parts(first, bytes as usize / size_of::<Relocation>()) }
    }

    /// A symbol by its index, which comes from a table of the module.
    pub(crate) fn symbol(self, number: u32) -> Option<&'m Symbol> {
        let symbols = self.table::<Symbol>(DT_SYMTAB)?;
        // SAFETY: the module is loaded, and the indices in its tables are those of symbols that it has.
        Some(unsafe { &*symbols.wrapping_add(number as usize) })
    }

    /// The symbol by which other modules find a name in this one. A module without GNU's hash table counts as
    /// exporting none.
    pub(crate) fn exported(self, name: &CStr) -> Option<&'m Symbol> {
        let table = Hashes::of(self.table::<u32>(DT_GNU_HASH)?);
        table.numbers(name).filter_map(|number| self.symbol(number)).find(|symbol| {
            symbol.section != 0 && self.text(symbol.name.into()).is_some_and(|other| other == name)
        })
    }
}

impl Dynamic<'static> {
    /// The address of a function that the module exports by this name.
    pub(crate) fn function(self, name: &CStr) -> Option<*mut c_void> {
        let symbol = self.exported(name).filter(|symbol| symbol.is_function())?;
        let address = self.bias.wrapping_add(symbol.value) as usize;
        Some(core::ptr::with_exposed_provenance_mut(address))
    }
}

/// GNU's hash table: symbol indices by the hashes of their names.
///
/// ```text
///  buckets │ first │ words │ shift │ filter: words of 8 bytes │ bucket → its first symbol │ a hash for each symbol from `first` on
/// ```
///
/// The symbols of one bucket are adjacent; the hash of the last one is odd.
struct Hashes {
    buckets: *const u32,
    count: u32,
    chains: *const u32,
    first: u32,
}

impl Hashes {
    /// The hash table of a loaded module.
    fn of(table: *const u32) -> Self {
        // SAFETY: the table begins with four numbers.
        let [count, first, words, _] = unsafe { table.cast::<[u32; 4]>().read() };
        let buckets = table.wrapping_add(4).wrapping_add(words as usize * 2);
        Self { buckets, count, chains: buckets.wrapping_add(count as usize), first }
    }

    /// Indices of the symbols that may have this name.
    fn numbers(&self, name: &CStr) -> impl Iterator<Item = u32> {
        let hash = name
            .to_bytes()
            .iter()
            .fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)));
        let start = match hash.checked_rem(self.count) {
            // SAFETY: the table has so many buckets.
            Some(bucket) => unsafe { self.buckets.wrapping_add(bucket as usize).read() },
            None => 0,
        };
        // An empty bucket has 0.
        let mut next = start.checked_sub(self.first).filter(|_| start != 0);
        core::iter::from_fn(move || {
            loop {
                let place = next?;
                // SAFETY: a symbol of the bucket: its first, or one after a symbol that was not the last.
                let other = unsafe { self.chains.wrapping_add(place as usize).read() };
                next = (other & 1 == 0).then(|| place.wrapping_add(1));
                if other | 1 == hash | 1 {
                    return Some(place.wrapping_add(self.first));
                }
            }
        })
    }
}
