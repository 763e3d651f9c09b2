//! How another process's modules are linked: the functions they define, and the words through which they call
//! functions of others.
//!
//! Everything is read from the process's memory, so it does not matter if its files have been replaced since.

use crate::proc::mapped_file::{Identity, MappedFile};
use crate::ptrace::arch::{ABSOLUTE, IN_TABLE, LAZY, MACHINE};
use crate::ptrace::memory::Memory;
use object::elf::{
    DT_DEBUG, DT_GNU_HASH, DT_JMPREL, DT_NULL, DT_PLTRELSZ, DT_RELA, DT_RELASZ, DT_STRSZ, DT_STRTAB,
    DT_SYMTAB, PT_DYNAMIC, PT_GNU_RELRO, PT_LOAD, STT_FUNC, STT_GNU_IFUNC,
};
use procfs::process::{MMPermissions, MMapPath, MemoryMap, MemoryMaps};
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;

/// Bytes of a program header, a dynamic entry, a symbol and a relocation.
const PROGRAM_HEADER: usize = 56;
const ENTRY: usize = 16;
const SYMBOL: usize = 24;
const RELOCATION: usize = 24;
/// Limits on dynamic entries and on symbols, beyond which tables are not trusted.
const MOST_ENTRIES: u64 = 1024;
const MOST_SYMBOLS: u64 = 1 << 22;
/// The same on the loader's list of modules.
const MOST_MODULES: usize = 1 << 14;
/// Offsets in the loader's `struct r_debug` of its list, and in `struct link_map` of a module's name and of the next
/// module.
const LIST: u64 = 8;
const NAME: u64 = 8;
const NEXT: u64 = 24;

/// A loaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Module {
    pub(super) path: PathBuf,
    pub(super) inode: u64,
    /// From its first mapping to its last.
    pub(super) range: Range<u64>,
}

/// Start address and file of a module. Its end does not identify it: adjoining mappings may make it seem to end
/// elsewhere.
pub(super) type Loaded = (u64, u64);

impl Module {
    pub(super) fn loaded(&self) -> Loaded {
        (self.inode, self.range.start)
    }

    /// The mapped files that have code, in order of address.
    pub(super) fn all(maps: &MemoryMaps) -> Vec<Module> {
        let mut modules: Vec<Module> = Vec::new();
        let mut has_code = Vec::new();
        for map in maps {
            let MMapPath::Path(path) = &map.pathname else { continue };
            // Upgraded libraries are there still, under the paths that they had.
            let MappedFile { path, .. } = MappedFile::listed(path, Identity::of_map(map));
            let goes_on = modules.last().is_some_and(|last| last.inode == map.inode && last.path == path);
            if map.offset == 0 && !(goes_on && is_next(&modules, map)) {
                modules.push(Module { path, inode: map.inode, range: map.address.0..map.address.1 });
                has_code.push(false);
            } else if !goes_on {
                continue;
            }
            if let (Some(last), Some(has_code)) = (modules.last_mut(), has_code.last_mut()) {
                last.range.end = map.address.1;
                *has_code |= map.perms.contains(MMPermissions::EXECUTE);
            }
        }
        let mut code = has_code.into_iter();
        modules.retain(|_| code.next() == Some(true));
        modules
    }

    /// True for a file of this name, or with this prefix.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name))
    }
}

/// The first page of a file is mapped twice in a row if the loader's protection has split its first segment.
fn is_next(modules: &[Module], map: &MemoryMap) -> bool {
    modules.last().is_some_and(|last| last.range.end == map.address.0)
}

/// The tables by which a module is linked.
#[derive(Debug)]
pub(super) struct Linkage<'m> {
    memory: &'m Memory,
    bias: u64,
    symbols: u64,
    texts: Vec<u8>,
    hash: Option<u64>,
    /// In an executable: what the loader tells debuggers.
    debug: Option<u64>,
    /// Address and size in bytes of each relocation table.
    relocations: [(u64, u64); 2],
    /// What the loader makes read-only when it is done.
    relro: Range<u64>,
}

/// A function of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) range: Range<u64>,
}

/// A word that holds the address of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) address: u64,
    /// Index of the function among those asked for.
    pub(super) function: usize,
    /// The loader may fill it only at the first call; until then it points into the module itself.
    pub(super) is_lazy: bool,
}

impl<'m> Linkage<'m> {
    /// Reads a module's tables; `None` if it is not a module for this processor, or has no tables.
    pub(super) fn read(memory: &'m Memory, module: &Module) -> Option<Linkage<'m>> {
        let start = module.range.start;
        let header = memory.bytes(start, 64)?;
        let is_ours = header.starts_with(b"\x7fELF\x02\x01") && half(&header, 18)? == MACHINE;
        if !is_ours {
            return None;
        }
        let count = u64::from(half(&header, 56)?);
        let headers = memory.bytes(start.wrapping_add(word(&header, 32)?), count * PROGRAM_HEADER as u64)?;
        let (headers, _) = headers.as_chunks::<PROGRAM_HEADER>();
        let of_kind = |kind: u32| headers.iter().find(move |header| quarter(*header, 0) == Some(kind));
        let first = word(of_kind(PT_LOAD)?, 16)?;
        let page = rustix::param::page_size() as u64;
        let bias = start.wrapping_sub(first & !(page - 1));
        let dynamic = bias.wrapping_add(word(of_kind(PT_DYNAMIC)?, 16)?);
        let length = word(of_kind(PT_DYNAMIC)?, 40)?.min(MOST_ENTRIES * ENTRY as u64);
        let dynamic = memory.bytes(dynamic, length)?;
        let mut entries = HashMap::new();
        for entry in dynamic.as_chunks::<ENTRY>().0 {
            match (word(entry, 0)?, word(entry, 8)?) {
                (tag, _) if tag.cast_signed() == DT_NULL => break,
                (tag, value) => entries.insert(tag.cast_signed(), value),
            };
        }
        let value = |tag: i64| entries.get(&tag).copied();
        // The loader replaces the file's addresses with absolute ones.
        let address = |tag: i64| {
            value(tag).map(|address| if address < start { address.wrapping_add(bias) } else { address })
        };
        let table = |at: i64, length: i64| (address(at).unwrap_or(0), value(length).unwrap_or(0));
        let (texts, length) = table(DT_STRTAB, DT_STRSZ);
        let relro = of_kind(PT_GNU_RELRO).and_then(|header| Some((word(header, 16)?, word(header, 40)?)));
        let (relro, relro_length) = relro.unwrap_or_default();
        let relro = bias.wrapping_add(relro);
        Some(Linkage {
            memory,
            // The loader rounds both ends down to pages.
            relro: relro & !(page - 1)..relro.wrapping_add(relro_length) & !(page - 1),
            bias,
            symbols: address(DT_SYMTAB)?,
            texts: memory.bytes(texts, length)?,
            hash: address(DT_GNU_HASH),
            debug: value(DT_DEBUG),
            relocations: [table(DT_RELA, DT_RELASZ), table(DT_JMPREL, DT_PLTRELSZ)],
        })
    }

    /// True unless the loader is still filling the module's words.
    pub(super) fn is_done(&self, maps: &MemoryMaps) -> bool {
        self.relro.is_empty()
            || protection(maps, self.relro.start)
                .is_some_and(|protection| !protection.contains(MMPermissions::WRITE))
    }

    /// The paths of all modules, in the order in which the loader searches them: for an executable.
    pub(super) fn search_order(&self) -> impl Iterator<Item = PathBuf> {
        let first = self.debug.and_then(|debug| self.memory.word(debug.wrapping_add(LIST)));
        let next = |map: &u64| self.memory.word(map.wrapping_add(NEXT));
        let maps = std::iter::successors(first, next).take_while(|map| *map != 0).take(MOST_MODULES);
        maps.map_while(|map| Some(self.memory.text(self.memory.word(map.wrapping_add(NAME))?).into()))
    }

    /// All functions that the module exports.
    pub(super) fn functions(&self) -> Vec<Function> {
        let symbols = self.table();
        symbols.as_chunks().0.iter().filter_map(|symbol| self.function(symbol)).collect()
    }

    /// True if the module exports a function of this name. Takes a millisecond per 100,000 other names.
    pub(super) fn defines(&self, name: &[u8]) -> bool {
        let is_it = |symbol: &[u8; SYMBOL]| {
            let rest = self.text(symbol).and_then(|text| text.strip_prefix(name));
            rest.is_some_and(|rest| rest.first() == Some(&0)) && is_function(symbol)
        };
        self.table().as_chunks().0.iter().any(is_it)
    }

    /// The dynamic symbol table.
    fn table(&self) -> Vec<u8> {
        let bytes = self.count().and_then(|count| self.memory.bytes(self.symbols, count * SYMBOL as u64));
        bytes.unwrap_or_default()
    }

    fn function(&self, symbol: &[u8; SYMBOL]) -> Option<Function> {
        if !is_function(symbol) {
            return None;
        }
        let start = self.bias.wrapping_add(word(symbol, 8)?);
        let name = String::from_utf8_lossy(self.name(symbol)?).into_owned();
        Some(Function { name, range: start..start.wrapping_add(word(symbol, 16).unwrap_or(0)) })
    }

    fn name(&self, symbol: &[u8; SYMBOL]) -> Option<&[u8]> {
        self.text(symbol)?.split(|byte| *byte == 0).next()
    }

    /// The bytes from a symbol's name on, including what follows it.
    fn text(&self, symbol: &[u8; SYMBOL]) -> Option<&[u8]> {
        self.texts.get(quarter(symbol, 0)? as usize..)
    }

    /// The number of symbols, from the hash table: the exported symbols come last, and it covers them.
    fn count(&self) -> Option<u64> {
        let hash = self.hash?;
        let header = self.memory.bytes(hash, 16)?;
        let (buckets, first) = (u64::from(quarter(&header, 0)?), u64::from(quarter(&header, 4)?));
        let filters = u64::from(quarter(&header, 8)?);
        let start = hash.wrapping_add(16 + filters * 8);
        let last = self.memory.bytes(start, buckets * 4)?;
        let mut last = last.as_chunks::<4>().0.iter().map(|bucket| u32::from_le_bytes(*bucket)).max()?.into();
        if last < first {
            return Some(first);
        }
        let chains = start.wrapping_add(buckets * 4);
        while last < MOST_SYMBOLS {
            let link = self.memory.bytes(chains.wrapping_add((last - first) * 4), 4)?;
            last += 1;
            if quarter(&link, 0)? & 1 != 0 {
                return Some(last);
            }
        }
        None
    }

    /// The words that hold addresses of these functions.
    // Cost: a millisecond for 10,000 relocations with symbols.
    pub(super) fn slots(&self, functions: &HashMap<Vec<u8>, usize>) -> Vec<Slot> {
        let tables = self.relocations.iter();
        let tables = tables.filter_map(|(address, length)| self.memory.bytes(*address, *length));
        let mut slots = Vec::new();
        let mut known: HashMap<u32, Option<(usize, bool)>> = HashMap::new();
        for table in tables {
            for relocation in table.as_chunks::<RELOCATION>().0 {
                let Some((offset, kind, symbol)) = symbolic(relocation) else { continue };
                let found = known.entry(symbol).or_insert_with(|| self.meant(symbol, functions));
                let Some((function, is_foreign)) = *found else { continue };
                let is_lazy = kind == LAZY && is_foreign;
                let address = self.bias.wrapping_add(offset);
                // An unaligned word would not be written atomically.
                if address.is_multiple_of(8) {
                    slots.push(Slot { address, function, is_lazy });
                }
            }
        }
        slots
    }

    /// The function that a symbol refers to, and whether it is in another module.
    fn meant(&self, symbol: u32, functions: &HashMap<Vec<u8>, usize>) -> Option<(usize, bool)> {
        let address = self.symbols.wrapping_add(u64::from(symbol) * SYMBOL as u64);
        let symbol = self.memory.bytes(address, SYMBOL as u64)?;
        let symbol = symbol.first_chunk()?;
        Some((*functions.get(self.name(symbol)?)?, half(symbol, 6)? == 0))
    }
}

/// True for a function that the module defines itself.
fn is_function(symbol: &[u8; SYMBOL]) -> bool {
    matches!(symbol[4] & 15, STT_FUNC | STT_GNU_IFUNC) && half(symbol, 6).is_some_and(|section| section != 0)
}

/// The protection of the memory at an address; `None` if nothing is mapped there.
pub(super) fn protection(maps: &MemoryMaps, address: u64) -> Option<MMPermissions> {
    let map = maps.iter().find(|map| (map.address.0..map.address.1).contains(&address));
    map.map(|map| map.perms)
}

/// Offset, type and symbol of a relocation that stores a symbol's plain address.
fn symbolic(relocation: &[u8; RELOCATION]) -> Option<(u64, u32, u32)> {
    let (kind, symbol) = (quarter(relocation, 8)?, quarter(relocation, 12)?);
    let is_plain = match kind {
        LAZY | IN_TABLE => true,
        ABSOLUTE => word(relocation, 16)? == 0,
        _ => false,
    };
    (is_plain && symbol != 0).then_some((word(relocation, 0)?, kind, symbol))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

fn quarter(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::process::Process;
    use proptest::prelude::*;
    use std::io::Write;

    fn own_modules() -> Vec<Module> {
        Module::all(&Process::myself().unwrap().maps().unwrap())
    }

    /// Check that functions of our own libraries are found at the addresses that a search by name gives.
    #[test]
    fn functions_are_where_they_are() {
        let memory = Memory::of(std::process::id()).unwrap();
        let modules = own_modules();
        for (library, name, address) in [
            (super::super::host::LIBC, "getpid", libc::getpid as *const () as u64),
            (super::super::host::LIBC, "dlopen", libc::dlopen as *const () as u64),
        ] {
            let module = modules.iter().find(|module| module.is_named(library)).unwrap();
            let linkage = Linkage::read(&memory, module).unwrap();
            let functions = linkage.functions();
            let found = functions.iter().find(|function| function.name == name).unwrap();
            assert!(linkage.defines(name.as_bytes()) && !linkage.defines(&name.as_bytes()[1..]), "{name}");
            assert_eq!(found.range.start, address, "{name}");
            assert!(!found.range.is_empty() && module.range.contains(&address));
        }
    }

    /// Check that a module counts as done once the loader has protected what it fills, and not before.
    #[test]
    fn modules_that_are_being_loaded_are_not_done() {
        let memory = Memory::of(std::process::id()).unwrap();
        let maps = Process::myself().unwrap().maps().unwrap();
        let mut filling = maps.clone();
        filling.0.iter_mut().for_each(|map| map.perms |= MMPermissions::WRITE);
        let modules = own_modules();
        let libc = modules.iter().find(|module| module.is_named(super::super::host::LIBC)).unwrap();
        let linkage = Linkage::read(&memory, libc).unwrap();
        assert!(linkage.is_done(&maps) && !linkage.is_done(&filling));
    }

    /// A file that stands in for a process's memory, and the module that fills it.
    fn memory(bytes: &[u8]) -> (Memory, Module) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        (Memory::in_file(file), Module { path: "it".into(), inode: 1, range: 0..bytes.len() as u64 })
    }

    /// The loader's file as it would lie in memory from 0 on, before any word is filled.
    fn image() -> Vec<u8> {
        use object::{Object, ObjectSegment};
        let modules = own_modules();
        let loader = modules.iter().find(|module| module.is_named(super::super::host::LOADER)).unwrap();
        let file = std::fs::read(&loader.path).unwrap();
        let mut image = Vec::new();
        for segment in object::File::parse(&*file).unwrap().segments() {
            image.resize(segment.address() as usize, 0);
            image.extend(segment.data().unwrap());
        }
        image
    }

    /// Check that the tables of an unchanged file are read.
    #[test]
    fn tables_of_a_file_are_read() {
        let (memory, module) = memory(&image());
        let linkage = Linkage::read(&memory, &module).unwrap();
        assert!(linkage.functions().iter().any(|function| function.name == "__tls_get_addr"));
        let wanted = HashMap::from([(b"_dl_catch_exception".to_vec(), 7)]);
        let slots = linkage.slots(&wanted);
        assert!(
            slots.iter().all(|slot| slot.function == 7 && module.range.contains(&slot.address)),
            "{slots:?}"
        );
        assert_eq!(slots.len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Check that reading ends for arbitrary memory contents, with no more results than can exist.
        #[test]
        fn strange_tables_are_read(
            changes in prop::collection::vec((0usize..1 << 12, any::<u64>()), 0..40),
            near in any::<bool>(),
        ) {
            let mut bytes = image();
            for (place, value) in changes {
                // In the headers or close to them, or anywhere.
                let place = if near { place } else { place * 251 } % (bytes.len() - 8);
                bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
            }
            bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            let (memory, module) = memory(&bytes);
            if let Some(linkage) = Linkage::read(&memory, &module) {
                let functions = linkage.functions();
                prop_assert!(functions.len() * SYMBOL <= bytes.len() * 8);
                linkage.slots(&HashMap::from([(b"malloc".to_vec(), 0)]));
            }
        }
    }
}
