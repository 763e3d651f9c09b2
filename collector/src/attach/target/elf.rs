//! Properties of an ELF executable that decide whether an agent can be loaded into it.

use super::Refusal;
use super::allocator::{self, Allocators};
use object::elf::{
    DF_1_PIE, DT_FLAGS_1, DT_NEEDED, DT_SONAME, FileHeader64, PT_DYNAMIC, PT_GNU_EH_FRAME, PT_INTERP,
    SHT_DYNAMIC, SHT_DYNSYM, SHT_SYMTAB, Sym64,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, SectionTable};
use object::read::{ReadCache, ReadCacheOps, SectionIndex};
use object::{LittleEndian, ReadRef};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

type Header = FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// Longest path of a dynamic loader that Linux accepts.
const MAX_INTERPRETER: u64 = 4096;
/// Largest `.dynamic` section that is read; real ones have a few hundred bytes.
const MAX_DYNAMIC: u64 = 1 << 20;
/// Largest symbol or string table that is searched for allocators: about ten million symbols.
const MAX_SYMBOLS: u64 = 256 << 20;

/// The start of an ELF header, checked before anything else of the file is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ident {
    /// True for `ELFCLASS64`.
    pub(super) bits64: bool,
    /// True for `ELFDATA2LSB`.
    pub(super) little_endian: bool,
    /// `e_type`.
    pub(super) kind: u16,
    /// `e_machine`.
    pub(super) machine: u16,
}

/// Properties of an executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Elf {
    /// The header's start. For other architectures nothing else was read.
    pub(super) ident: Ident,
    /// The dynamic loader; without one nothing loads an agent.
    pub(super) interpreter: Option<PathBuf>,
    /// Linked as a position independent executable (`DF_1_PIE`), which distinguishes a static-pie from a library.
    pub(super) pie: bool,
    /// A program header locates its unwind tables.
    pub(super) has_unwind_tables: bool,
    /// Its name as a library.
    pub(super) soname: Option<Vec<u8>>,
    /// Libraries it needs.
    pub(super) needed: Vec<Vec<u8>>,
    /// Allocators built into it.
    pub(super) allocators: Allocators,
}

impl Elf {
    /// Reads the properties of a file that begins with the ELF magic.
    pub(super) fn read(file: File, path: &Path) -> Result<Elf, Refusal> {
        parse(&ReadCache::new(file))
            .map_err(|Malformed(what)| Refusal::Malformed { path: path.to_path_buf(), what })
    }
}

/// A part of the file that is malformed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

/// Reads the properties from `data`.
pub(super) fn parse<R: ReadCacheOps>(data: &ReadCache<R>) -> Result<Elf, Malformed> {
    let ident = ident(data)?;
    let mut elf = Elf {
        ident,
        interpreter: None,
        pie: false,
        has_unwind_tables: false,
        soname: None,
        needed: Vec::new(),
        allocators: Allocators::default(),
    };
    if !ident.bits64 || !ident.little_endian {
        return Ok(elf);
    }
    let header = Header::parse(data).map_err(|_| Malformed("its header"))?;
    let segments = header.program_headers(LE, data).map_err(|_| Malformed("its program headers"))?;
    for segment in segments {
        match segment.p_type(LE) {
            PT_INTERP if segment.p_filesz(LE) <= MAX_INTERPRETER => {
                let name = segment
                    .interpreter(LE, data)
                    .ok()
                    .flatten()
                    .ok_or(Malformed("its program interpreter"))?;
                elf.interpreter = Some(PathBuf::from(OsStr::from_bytes(name)));
            }
            PT_INTERP => return Err(Malformed("its program interpreter")),
            PT_GNU_EH_FRAME => elf.has_unwind_tables = true,
            PT_DYNAMIC if segment.p_filesz(LE) <= MAX_DYNAMIC => {
                let entries = segment.dynamic(LE, data).ok().flatten().unwrap_or_default();
                let flags = entries.iter().find(|entry| entry.tag(LE) == DT_FLAGS_1);
                elf.pie = flags.is_some_and(|entry| entry.d_val(LE) & u64::from(DF_1_PIE) != 0);
            }
            _ => {}
        }
    }
    // A program runs without section headers; then there is less to say about it.
    if let Ok(sections) = header.sections(LE, data) {
        read_names(&sections, data, &mut elf);
        elf.allocators = find_allocators(&sections, data);
    }
    Ok(elf)
}

/// The fields at the same place in every class and byte order.
fn ident<R: ReadCacheOps>(data: &ReadCache<R>) -> Result<Ident, Malformed> {
    let bytes = data.read_bytes_at(0, 20).map_err(|()| Malformed("its header"))?;
    let little_endian = bytes[5] == object::elf::ELFDATA2LSB;
    let half = |at: usize| {
        let pair = [bytes[at], bytes[at + 1]];
        if little_endian { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
    };
    Ok(Ident {
        bits64: bytes[4] == object::elf::ELFCLASS64,
        little_endian,
        kind: half(16),
        machine: half(18),
    })
}

/// Reads soname and needed libraries from the dynamic section.
fn read_names<'data, R: ReadCacheOps>(
    sections: &SectionTable<'data, Header, &'data ReadCache<R>>,
    data: &'data ReadCache<R>,
    elf: &mut Elf,
) {
    for section in sections.iter().filter(|section| section.sh_type(LE) == SHT_DYNAMIC) {
        if section.sh_size(LE) > MAX_DYNAMIC {
            continue;
        }
        let Ok(Some((entries, link))) = section.dynamic(LE, data) else { continue };
        let Some(strings) = string_bytes(sections, data, link) else { continue };
        for entry in entries {
            let name = || string_at(strings, entry.d_val(LE)).map(<[u8]>::to_vec);
            match entry.tag(LE) {
                DT_SONAME => elf.soname = name(),
                DT_NEEDED => elf.needed.extend(name()),
                _ => {}
            }
        }
    }
}

/// Searches the symbol tables for allocators defined in the program itself.
fn find_allocators<'data, R: ReadCacheOps>(
    sections: &SectionTable<'data, Header, &'data ReadCache<R>>,
    data: &'data ReadCache<R>,
) -> Allocators {
    let mut found = Allocators::default();
    for section in sections.iter() {
        let exported = match section.sh_type(LE) {
            SHT_DYNSYM => true,
            SHT_SYMTAB => false,
            _ => continue,
        };
        if section.sh_size(LE) > MAX_SYMBOLS {
            continue;
        }
        let Ok(symbols) = section.data_as_array::<Sym64<LittleEndian>, _>(LE, data) else { continue };
        let Some(strings) = string_bytes(sections, data, SectionIndex(section.sh_link(LE) as usize)) else {
            continue;
        };
        for symbol in symbols.iter().filter(|symbol| is_defined_function(symbol)) {
            if let Some(name) = string_at(strings, u64::from(symbol.st_name.get(LE))) {
                allocator::note(&mut found, name, exported);
            }
        }
    }
    found
}

fn is_defined_function(symbol: &Sym64<LittleEndian>) -> bool {
    symbol.st_shndx.get(LE) != object::elf::SHN_UNDEF && symbol.st_info & 0xf == object::elf::STT_FUNC
}

/// The contents of a string table of bounded size.
fn string_bytes<'data, R: ReadCacheOps>(
    sections: &SectionTable<'data, Header, &'data ReadCache<R>>,
    data: &'data ReadCache<R>,
    index: SectionIndex,
) -> Option<&'data [u8]> {
    let section = sections.section(index).ok()?;
    if section.sh_size(LE) > MAX_SYMBOLS {
        return None;
    }
    section.data(LE, data).ok()
}

/// The string that begins at `offset`.
fn string_at(strings: &[u8], offset: u64) -> Option<&[u8]> {
    let rest = strings.get(usize::try_from(offset).ok()?..)?;
    rest.split(|byte| *byte == 0).next()
}
