//! The parts of an ELF file that we read, each within bounds.

mod dynamic;

use crate::arena::Arena;
use crate::compression::inflate;
use crate::image::Image;
use crate::reason::Reason;
use crate::xz;
use dynamic::Dynamic;
pub(crate) use dynamic::Target;
use gimli::RunTimeEndian;
use object::elf;
use object::read::elf::{Dyn, ElfFile, FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use object::{
    CompressedData, CompressionFormat, Endianness, Object, ObjectKind, ObjectSection, SectionIndex,
};

/// Longest name that is read; longer ones are cut. Mangled names of heavy templates reach some ten thousand bytes.
const LONGEST_NAME: usize = 1 << 16;
/// Most sections of a file; executables have some dozens.
const MOST_SECTIONS: usize = 1 << 16;
/// Most entries of a dynamic section; linkers write about thirty, and one for each needed library.
const MOST_DYNAMIC: usize = 1 << 12;
/// Most notes looked at in one section or segment; linkers write two or three.
const MOST_NOTES: usize = 64;

/// A parsed file. Nothing is guaranteed except that reading it cannot go wrong.
pub(crate) struct Elf<'a> {
    file: object::File<'a>,
    tables: Tables<'a>,
    length: usize,
}

/// What the headers say.
struct Tables<'a> {
    sections: Vec<Section<'a>>,
    /// Whether there are section headers. Without them each loaded segment counts as a section without a name.
    has_headers: bool,
    segments: Vec<CodeRange>,
    /// Where `.eh_frame_hdr` is, if a segment has to tell.
    unwind_header: Option<u64>,
    dynamic: Dynamic,
    /// Address of the file's first byte, as if it were mapped with the rest.
    origin: u64,
    build_id: &'a [u8],
}

/// A section as its header describes it.
pub(crate) struct Section<'a> {
    pub(crate) name: &'a [u8],
    /// Position in the section table, which symbols refer to.
    pub(crate) index: usize,
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// Holds instructions and is loaded, though its bytes need not be in this file (NOBITS in a debug file).
    pub(crate) is_code: bool,
    /// Holds variables: loaded, not executable, not thread-local.
    pub(crate) is_data: bool,
    /// The bytes as they are in the file; none for NOBITS, whose offset and size mean nothing.
    pub(crate) data: &'a [u8],
}

/// An executable `PT_LOAD`.
#[derive(Clone, Copy)]
pub(crate) struct CodeRange {
    pub(crate) address: u64,
    pub(crate) size: u64,
}

/// A symbol that can name code (a function, or a label with a size), or a variable with a size.
#[derive(Clone, Copy)]
pub(crate) struct ElfSymbol<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) address: u64,
    /// 0 where hand-written assembly gives none.
    pub(crate) size: u64,
    pub(crate) is_function: bool,
    pub(crate) is_local: bool,
    pub(crate) section: usize,
}

impl<'a> Elf<'a> {
    /// Parses headers and the section table.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Elf<'a>, Reason> {
        let file = object::File::parse(bytes).map_err(|_| Reason::UnreadableElf)?;
        let tables = match &file {
            object::File::Elf32(elf) => tables(elf, bytes),
            object::File::Elf64(elf) => tables(elf, bytes),
            _ => None,
        };
        Ok(Elf { file, tables: tables.ok_or(Reason::UnreadableElf)?, length: bytes.len() })
    }

    /// Contents of the build-id note, empty without one.
    pub(crate) fn build_id(&self) -> &'a [u8] {
        self.tables.build_id
    }

    /// The sections that hold code.
    pub(crate) fn code_sections(&self) -> impl Iterator<Item = &Section<'a>> {
        self.tables.sections.iter().filter(|section| section.is_code)
    }

    /// The sections that hold variables.
    pub(crate) fn data_sections(&self) -> impl Iterator<Item = &Section<'a>> {
        self.tables.sections.iter().filter(|section| section.is_data)
    }

    /// The address of the file's first byte, if it is mapped as the rest is.
    pub(crate) fn origin(&self) -> u64 {
        self.tables.origin
    }

    /// Whether the instructions are in this file; a debug file only says where they are in the binary.
    pub(crate) fn holds_code(&self) -> bool {
        self.code_sections().next().is_none() || self.code_sections().any(|section| !section.data.is_empty())
    }

    /// Whether the file has section headers.
    pub(crate) fn has_section_headers(&self) -> bool {
        self.tables.has_headers
    }

    /// The executable segments.
    pub(crate) fn code_segments(&self) -> &[CodeRange] {
        &self.tables.segments
    }

    /// The first address that holds code.
    pub(crate) fn code_start(&self) -> u64 {
        let sections = self.code_sections().map(|section| section.address);
        let segments = self.tables.segments.iter().map(|segment| segment.address);
        sections.min().or(segments.min()).unwrap_or(0)
    }

    /// Whether a section exists and has contents in this file.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.section(name).is_some_and(|section| !section.data.is_empty())
    }

    /// Whether the file has DWARF debug information of its own.
    pub(crate) fn has_debug_info(&self) -> bool {
        self.has(b".debug_info") || self.has(b".zdebug_info")
    }

    /// Bytes in the file that are read before the first address can be named.
    pub(crate) fn table_bytes(&self) -> usize {
        const TABLES: [&[u8]; 4] = [b".debug_info", b".zdebug_info", b".symtab", b".gnu_debugdata"];
        TABLES.iter().filter_map(|name| self.section(name)).map(|section| section.data.len()).sum()
    }

    /// Name and CRC in `.gnu_debuglink`.
    ///
    /// ```text
    /// | name | 0 | padding to 4 | CRC-32 |
    /// ```
    pub(crate) fn debug_link(&self) -> Option<(&'a [u8], u32)> {
        let data = self.section(b".gnu_debuglink")?.data;
        let name = until_nul(data);
        let crc = data.get((name.len() + 1).next_multiple_of(4)..)?.first_chunk()?;
        let crc =
            if self.file.is_little_endian() { u32::from_le_bytes(*crc) } else { u32::from_be_bytes(*crc) };
        Some((name, crc))
    }

    /// Path and build id in `.gnu_debugaltlink`: a file with what several debug files share.
    pub(crate) fn alternate_link(&self) -> Option<(&'a [u8], &'a [u8])> {
        let data = self.section(b".gnu_debugaltlink")?.data;
        let path = until_nul(data);
        Some((path, data.get(path.len() + 1..)?))
    }

    /// Contents of a section, inflated into the arena if they are compressed; none if absent or damaged.
    pub(crate) fn contents(&self, name: &str, arena: &'a Arena) -> Option<&'a [u8]> {
        let raw = self.raw(name)?;
        match raw.format {
            CompressionFormat::None => Some(raw.data),
            _ => Some(arena.keep(Image::Owned(inflate(&raw)?))),
        }
    }

    /// Contents of a section as stored in the file; none if it has none.
    pub(crate) fn raw(&self, name: &str) -> Option<CompressedData<'a>> {
        let section = match self.section(name.as_bytes()) {
            Some(section) => section,
            None => self.section(name.replacen(".debug_", ".zdebug_", 1).as_bytes())?,
        };
        if section.data.is_empty() {
            return None;
        }
        self.file.section_by_index(SectionIndex(section.index)).ok()?.compressed_data().ok()
    }

    /// The ELF file packed into `.gnu_debugdata`, which some distributions leave in each stripped binary: a table of
    /// the functions that are not in `.dynsym`.
    pub(crate) fn mini_debug_file(&self, arena: &'a Arena) -> Option<Elf<'a>> {
        let packed = self.section(b".gnu_debugdata").filter(|section| !section.data.is_empty())?;
        Elf::parse(arena.keep(Image::Owned(xz::unpack(packed.data)?))).ok()
    }

    /// Byte order of everything in the file.
    pub(crate) fn endian(&self) -> RunTimeEndian {
        if self.file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big }
    }

    /// Length of the file in bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// True for code of x86-64 with its 64-bit addresses.
    pub(crate) fn is_x86_64(&self) -> bool {
        self.file.architecture() == object::Architecture::X86_64
    }

    /// The file's contents from this address to the end of its section; none where it has none.
    pub(crate) fn bytes_at(&self, address: u64) -> Option<&'a [u8]> {
        let mapped = self.tables.sections.iter();
        // With headers, sections that are not loaded are at address 0.
        let mapped = mapped.filter(|section| section.address != 0 || !self.has_section_headers());
        let holding = mapped.filter_map(|section| {
            let offset = address.checked_sub(section.address)?;
            section.data.get(usize::try_from(offset).ok()?..)
        });
        holding.into_iter().find(|bytes| !bytes.is_empty())
    }

    /// `.eh_frame_hdr` and `.eh_frame`, each with its address, if they are in this file; they may be followed by other
    /// contents of their segment.
    pub(crate) fn unwind_tables(&self) -> Option<[(&'a [u8], u64); 2]> {
        if let Some(head) = self.table_at(b".eh_frame_hdr") {
            return Some([head, self.table_at(b".eh_frame")?]);
        }
        let address = self.tables.unwind_header?;
        let head = self.bytes_at(address)?;
        // The usual encoding: relative to the place itself.
        let (place, distance) = (address.checked_add(4)?, self.word(head.get(4..8)?)?.cast_signed());
        let rows = place.checked_add_signed(i64::from(distance as i32))?;
        Some([(head, address), (self.bytes_at(rows)?, rows)])
    }

    /// Contents and address of a section that is loaded into memory; none where it is absent or not in this file.
    fn table_at(&self, name: &[u8]) -> Option<(&'a [u8], u64)> {
        let section = self.section(name)?;
        (!section.data.is_empty() && section.address != 0).then_some((section.data, section.address))
    }

    /// Where a 64-bit program is entered; none for a library, which may have an entry of another name.
    pub(crate) fn program_entry(&self) -> Option<u64> {
        let is_pie = || self.tables.dynamic.flag(elf::DT_FLAGS_1, elf::DF_1_PIE.into());
        let is_program = self.file.kind() == ObjectKind::Executable || is_pie();
        (self.file.is_64() && is_program).then(|| self.file.entry())
    }

    /// What the dynamic loader reads.
    pub(crate) fn dynamic(&self) -> &Dynamic {
        &self.tables.dynamic
    }

    /// The number that some bytes hold, at most eight, in the file's byte order.
    pub(crate) fn word(&self, bytes: &[u8]) -> Option<u64> {
        let mut word = [0; 8];
        if self.file.is_little_endian() {
            word.get_mut(..bytes.len())?.copy_from_slice(bytes);
            Some(u64::from_le_bytes(word))
        } else {
            let start = word.len().checked_sub(bytes.len())?;
            word[start..].copy_from_slice(bytes);
            Some(u64::from_be_bytes(word))
        }
    }

    /// True for code of 64-bit ARM.
    pub(crate) fn is_aarch64(&self) -> bool {
        self.file.architecture() == object::Architecture::Aarch64
    }

    /// Size of an address in bytes.
    pub(crate) fn address_size(&self) -> u8 {
        if self.file.is_64() { 8 } else { 4 }
    }

    /// All symbols that can name code, of `.symtab` and `.dynsym`.
    pub(crate) fn symbols(&self) -> Vec<ElfSymbol<'a>> {
        self.symbols_of(Kind::Code)
    }

    /// All symbols that can name a variable, of `.symtab` and `.dynsym`.
    pub(crate) fn variables(&self) -> Vec<ElfSymbol<'a>> {
        self.symbols_of(Kind::Variable)
    }

    fn symbols_of(&self, kind: Kind) -> Vec<ElfSymbol<'a>> {
        match &self.file {
            object::File::Elf32(elf) => self.collect(elf, kind),
            object::File::Elf64(elf) => self.collect(elf, kind),
            _ => Vec::new(),
        }
    }

    fn section(&self, name: &[u8]) -> Option<&Section<'a>> {
        self.tables.sections.iter().find(|section| section.name == name)
    }

    fn collect<E: FileHeader<Endian = Endianness>>(
        &self,
        file: &ElfFile<'a, E>,
        kind: Kind,
    ) -> Vec<ElfSymbol<'a>> {
        let endian = file.endian();
        let mut symbols = Vec::new();
        for table in [file.elf_symbol_table(), file.elf_dynamic_symbol_table()] {
            let strings = self.tables.sections.get(table.string_section().0);
            let Some(strings) = strings.map(|section| section.data) else { continue };
            symbols.extend(table.enumerate().filter_map(|(index, symbol)| {
                let section = || table.symbol_section(endian, symbol, index).ok()?.map(|section| section.0);
                named(symbol, endian, kind, strings, section)
            }));
        }
        if !self.has_section_headers() {
            let (table, strings) = self.tables.dynamic.symbols::<E>(self, endian);
            symbols.extend(table.iter().filter_map(|symbol| {
                let section = || self.section_at(symbol.st_value(endian).into());
                named(symbol, endian, kind, strings, section)
            }));
        }
        symbols.retain(|symbol| {
            self.tables.sections.get(symbol.section).is_some_and(|section| kind.is_in(section))
        });
        symbols
    }

    /// The index of the section around an address.
    fn section_at(&self, address: u64) -> Option<usize> {
        self.tables.sections.iter().position(|section| (section.address..section.end()).contains(&address))
    }
}

/// A symbol as it is in a table, if it is of the wanted kind.
fn named<'a, S: Sym<Endian = Endianness>>(
    symbol: &S,
    endian: Endianness,
    kind: Kind,
    strings: &'a [u8],
    section: impl FnOnce() -> Option<usize>,
) -> Option<ElfSymbol<'a>> {
    let size = symbol.st_size(endian).into();
    let is_function = matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC);
    let has_size = |of: u8| symbol.st_type() == of && size > 0;
    let is_wanted = match kind {
        Kind::Code => is_function || has_size(elf::STT_NOTYPE),
        Kind::Variable => has_size(elf::STT_OBJECT),
    };
    if !is_wanted || symbol.st_shndx(endian) == elf::SHN_UNDEF {
        return None;
    }
    let name = strings.get(symbol.st_name(endian) as usize..).map_or(&[][..], until_nul);
    (!name.is_empty()).then_some(ElfSymbol {
        name: without_version(name),
        address: symbol.st_value(endian).into(),
        size,
        is_function,
        is_local: symbol.st_bind() == elf::STB_LOCAL,
        section: section()?,
    })
}

/// What a symbol names.
#[derive(Clone, Copy)]
enum Kind {
    Code,
    Variable,
}

impl Kind {
    /// Whether a section holds symbols of this kind.
    fn is_in(self, section: &Section<'_>) -> bool {
        match self {
            Kind::Code => section.is_code,
            Kind::Variable => section.is_data,
        }
    }
}

impl Section<'_> {
    /// The first address behind the section.
    pub(crate) fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

fn tables<'a, E: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'a, E>,
    bytes: &'a [u8],
) -> Option<Tables<'a>> {
    let endian = file.endian();
    let headers = file.elf_section_table();
    if headers.len() > MOST_SECTIONS {
        return None;
    }
    let names = file.elf_header().section_strings_index(endian, bytes).ok();
    let names = names.and_then(|index| headers.section(index).ok()).and_then(|s| s.data(endian, bytes).ok());
    let names = names.unwrap_or(&[]);
    let mut build_id = &[][..];
    let mut sections = Vec::with_capacity(headers.len());
    for (index, header) in headers.iter().enumerate() {
        let flags: u64 = header.sh_flags(endian).into();
        let code_flags = u64::from(elf::SHF_ALLOC | elf::SHF_EXECINSTR);
        let data_flags = code_flags | u64::from(elf::SHF_TLS);
        if let Ok(Some(notes)) = header.notes(endian, bytes) {
            build_id = find_build_id(notes, endian).unwrap_or(build_id);
        }
        sections.push(Section {
            name: names.get(header.sh_name(endian) as usize..).map_or(&[][..], until_nul),
            index,
            address: header.sh_addr(endian).into(),
            size: header.sh_size(endian).into(),
            is_code: flags & code_flags == code_flags,
            is_data: flags & data_flags == elf::SHF_ALLOC.into(),
            data: header.data(endian, bytes).unwrap_or(&[]),
        });
    }
    // Sections first: in a debug file the offsets of segments lead elsewhere.
    let has_headers = !headers.is_empty();
    let (mut segments, mut origin, mut unwind_header) = (Vec::new(), None, None);
    for header in file.elf_program_headers().iter().take(MOST_SECTIONS) {
        let (address, size) = (header.p_vaddr(endian).into(), header.p_memsz(endian).into());
        let is_code = header.p_flags(endian) & elf::PF_X != 0;
        match header.p_type(endian) {
            elf::PT_LOAD => {
                if is_code {
                    segments.push(CodeRange { address, size });
                }
                origin.get_or_insert(address.wrapping_sub(header.p_offset(endian).into()));
                if !has_headers {
                    let data = header.data(endian, bytes).unwrap_or(&[]);
                    let (name, index) = (&[][..], sections.len());
                    sections.push(Section { name, index, address, size, is_code, is_data: !is_code, data });
                }
            }
            elf::PT_GNU_EH_FRAME if !has_headers => unwind_header = Some(address),
            _ => {}
        }
        if build_id.is_empty()
            && !has_headers
            && let Ok(Some(notes)) = header.notes(endian, bytes)
        {
            build_id = find_build_id(notes, endian).unwrap_or(build_id);
        }
    }
    let dynamic = Dynamic::new(dynamic_entries(file, headers, bytes));
    let origin = origin.unwrap_or(0);
    Some(Tables { sections, has_headers, segments, unwind_header, dynamic, origin, build_id })
}

/// Tags and values of the dynamic section.
fn dynamic_entries<'a, E: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'a, E>,
    headers: &SectionTable<'a, E>,
    bytes: &'a [u8],
) -> Vec<(i64, u64)> {
    let endian = file.endian();
    let entries = if headers.is_empty() {
        file.elf_program_headers().iter().find_map(|header| header.dynamic(endian, bytes).ok().flatten())
    } else {
        headers.dynamic(endian, bytes).ok().flatten().map(|(entries, _)| entries)
    };
    let entries = entries.unwrap_or(&[]).iter().take(MOST_DYNAMIC);
    entries.map(|entry| (entry.d_tag(endian).into(), entry.d_val(endian).into())).collect()
}

fn find_build_id<'a, E: FileHeader>(
    mut notes: object::read::elf::NoteIterator<'a, E>,
    endian: E::Endian,
) -> Option<&'a [u8]> {
    for _ in 0..MOST_NOTES {
        let note = notes.next().ok()??;
        if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
            return Some(note.desc());
        }
    }
    None
}

/// The string at the start of `bytes`, at most [`LONGEST_NAME`] of it.
fn until_nul(bytes: &[u8]) -> &[u8] {
    let bytes = &bytes[..bytes.len().min(LONGEST_NAME)];
    &bytes[..bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len())]
}

/// `memcpy` for `memcpy@@GLIBC_2.14`, as `.symtab` spells symbols with a version.
fn without_version(name: &[u8]) -> &[u8] {
    match name.iter().position(|&byte| byte == b'@') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that names end at their NUL, at the limit, or at the end of the bytes.
    #[test]
    fn names_end_somewhere() {
        let endless = vec![b'x'; LONGEST_NAME + 10];
        for (bytes, expected) in [
            (&b"name\0rest"[..], &b"name"[..]),
            (b"name", b"name"),
            (b"", b""),
            (b"\0", b""),
            (&endless, &endless[..LONGEST_NAME]),
        ] {
            assert_eq!(until_nul(bytes), expected);
        }
    }

    /// Check that a version is cut off a name, and that a name which begins with `@` stays.
    #[test]
    fn versions_are_cut_off() {
        for (name, expected) in [
            (&b"memcpy@@GLIBC_2.14"[..], &b"memcpy"[..]),
            (b"memcpy@GLIBC_2.2.5", b"memcpy"),
            (b"memcpy", b"memcpy"),
            (b"@odd", b"@odd"),
        ] {
            assert_eq!(without_version(name), expected);
        }
    }
}
