//! The tables that the dynamic loader reads.
//!
//! They are found without section headers, which some tools remove (`llvm-strip --strip-sections`, sstrip). The loader
//! looks symbols up by name and never asks how many there are, so their number is that of the hash table:
//!
//! ```text
//! PT_DYNAMIC ─► DT_SYMTAB ─► symbol 0 │ 1 │ … │ n-1
//!               DT_HASH ─► buckets, n │ …                 or
//!               DT_GNU_HASH ─► …, the last chain ends with symbol n-1
//!               DT_STRTAB, DT_STRSZ ─► names
//! ```

use super::Elf;
use object::elf;
use object::pod;
use object::read::elf::{FileHeader, GnuHashTable, HashTable};

/// Most symbols; the largest libraries export some hundred thousand.
const MOST_SYMBOLS: u64 = 1 << 24;

/// Bytes of an `Elf64_Rela`.
const RELOCATION: usize = 24;

/// Tags and values of the dynamic section.
#[derive(Default)]
pub(crate) struct Dynamic(Vec<(i64, u64)>);

/// What the loader puts into a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// An address of the file.
    Address(u64),
    /// What a symbol of this name stands for.
    Symbol(&'a [u8]),
}

impl Dynamic {
    pub(crate) fn new(entries: Vec<(i64, u64)>) -> Dynamic {
        Dynamic(entries)
    }

    fn value(&self, tag: i64) -> Option<u64> {
        self.0.iter().find(|(known, _)| *known == tag).map(|(_, value)| *value)
    }

    /// Whether a flag is set.
    pub(crate) fn flag(&self, tag: i64, flag: u64) -> bool {
        self.value(tag).is_some_and(|flags| flags & flag != 0)
    }

    /// The symbols, and the bytes that their names are in; both may be empty.
    pub(crate) fn symbols<'a, E: FileHeader>(
        &self,
        elf: &Elf<'a>,
        endian: E::Endian,
    ) -> (&'a [E::Sym], &'a [u8]) {
        let table = || {
            let count = self.symbol_count::<E>(elf, endian)?.min(MOST_SYMBOLS);
            let bytes = elf.bytes_at(self.value(elf::DT_SYMTAB)?)?;
            let count = usize::try_from(count).ok()?.min(bytes.len() / size_of::<E::Sym>());
            let (symbols, _) = pod::slice_from_bytes::<E::Sym>(bytes, count).ok()?;
            Some((symbols, self.strings(elf)?))
        };
        table().unwrap_or((&[], &[]))
    }

    fn symbol_count<E: FileHeader>(&self, elf: &Elf<'_>, endian: E::Endian) -> Option<u64> {
        let at = |tag| elf.bytes_at(self.value(tag)?);
        let by_hash = || Some(HashTable::<E>::parse(endian, at(elf::DT_HASH)?).ok()?.symbol_table_length());
        let by_gnu_hash =
            || GnuHashTable::<E>::parse(endian, at(elf::DT_GNU_HASH)?).ok()?.symbol_table_length(endian);
        if let Some(count) = by_hash().or_else(by_gnu_hash) {
            return Some(count.into());
        }
        // With no exported symbol the chains are empty. Linkers put the names right behind the symbols.
        let bytes = self.value(elf::DT_STRTAB)?.checked_sub(self.value(elf::DT_SYMTAB)?)?;
        Some(bytes / size_of::<E::Sym>() as u64)
    }

    fn strings<'a>(&self, elf: &Elf<'a>) -> Option<&'a [u8]> {
        let bytes = elf.bytes_at(self.value(elf::DT_STRTAB)?)?;
        let size = self.value(elf::DT_STRSZ).and_then(|size| usize::try_from(size).ok());
        Some(&bytes[..size.unwrap_or(bytes.len()).min(bytes.len())])
    }

    /// What the loader puts into the word at an address of a 64-bit file; none if the word stays as it is.
    pub(crate) fn relocation<'a>(&self, elf: &Elf<'a>, address: u64) -> Option<Target<'a>> {
        let tables = [(elf::DT_RELA, elf::DT_RELASZ), (elf::DT_JMPREL, elf::DT_PLTRELSZ)];
        tables.iter().find_map(|&(table, size)| {
            let bytes = elf.bytes_at(self.value(table)?)?;
            let size = usize::try_from(self.value(size)?).ok()?.min(bytes.len());
            let (entries, _) = bytes[..size].as_chunks::<RELOCATION>();
            let is_it = |entry: &&[u8; RELOCATION]| elf.word(&entry[..8]) == Some(address);
            let entry = entries.iter().find(is_it)?;
            let (kind, addend) = (elf.word(&entry[8..16])?, elf.word(&entry[16..])?);
            match u32::try_from(kind >> 32).ok()? {
                0 => Some(Target::Address(addend)),
                symbol => Some(Target::Symbol(self.symbol_name(elf, symbol)?)),
            }
        })
    }

    /// The name of a symbol of a 64-bit file.
    fn symbol_name<'a>(&self, elf: &Elf<'a>, index: u32) -> Option<&'a [u8]> {
        let table = elf.bytes_at(self.value(elf::DT_SYMTAB)?)?;
        let at = usize::try_from(index).ok()?.checked_mul(RELOCATION)?;
        let name = usize::try_from(elf.word(table.get(at..)?.get(..4)?)?).ok()?;
        self.strings(elf)?.get(name..)?.split(|byte| *byte == 0).next()
    }
}
