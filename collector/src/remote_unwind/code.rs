//! A file with code, parsed once for all processes that map it.

use object::Endianness;
use object::elf::{
    ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID, PF_X, PT_GNU_EH_FRAME, PT_LOAD, SHN_UNDEF, SHT_DYNSYM, Sym64,
};
use object::read::elf::{FileHeader, ProgramHeader, Sym};
use std::cell::OnceCell;
use std::ffi::CStr;
use std::ops::Range;
use symbols::{Binary, ModuleFile, Reason};
use unwind::{CodeWithoutTables, FIRST_OF_GREENLETS, Sections, SharedRules, SharedSlot};

/// Most unwind rules cached for a file: enough for its hot addresses. A small file has one slot per [`CODE_OF_RULE`]
/// bytes of code.
const KEPT: usize = 1 << 13;
const CODE_OF_RULE: u64 = 64;
/// Most program headers that are read.
const MOST_HEADERS: usize = 128;

/// Contents and tables of a file.
pub(crate) struct Code {
    bytes: Bytes,
    /// What is known about the file.
    pub(crate) file: ModuleFile,
    segments: Vec<Segment>,
    /// Address of `.eh_frame_hdr` in the file's own addresses.
    hdr: Option<u64>,
    /// Rules, from the first walk on: a file may be opened only to look at its build id.
    slots: OnceCell<Box<[SharedSlot]>>,
    /// Code to read if there are no tables.
    text: OnceCell<Option<ReadableCode>>,
    /// The function with which a greenlet begins, in the file's own addresses; empty in other files.
    first_of_greenlets: OnceCell<Range<u64>>,
}

/// Code without tables, in the file's own addresses.
#[derive(Clone, Copy)]
struct ReadableCode {
    segment: Segment,
    never_return: [u64; CodeWithoutTables::NEVER_RETURN.len()],
}

enum Bytes {
    File(Binary),
    Copy(Vec<u8>),
}

/// A part of the file that is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    address: u64,
    offset: u64,
    length: u64,
    is_code: bool,
}

impl Code {
    /// Opens the file with this identity, which the capture knows by `path`.
    pub(crate) fn open(module: &ModuleFile, path: &str) -> Result<Code, Reason> {
        let binary = Binary::open(module)?;
        let file = binary.file(path);
        Code::new(Bytes::File(binary), file)
    }

    /// The vDSO, from a copy of its image.
    pub(crate) fn vdso(image: Vec<u8>, path: &str) -> Result<Code, Reason> {
        let read = |address: u64, into: &mut [u8]| {
            let part = usize::try_from(address).ok().and_then(|start| image.get(start..)?.get(..into.len()));
            part.is_some_and(|part| {
                into.copy_from_slice(part);
                true
            })
        };
        let parsed = unwind::module::Image::parse(0, read).map_err(|_| Reason::UnreadableElf)?;
        let build_id = parsed.build_id.map_or_else(Vec::new, |id| id.as_bytes().to_vec());
        let file = ModuleFile { build_id, ..ModuleFile::at(path) };
        Code::new(Bytes::Copy(image), file)
    }

    /// What is mapped of a file that cannot be opened; `None` if it has another build id. It has no names.
    pub(crate) fn copy(bytes: Vec<u8>, build_id: &[u8], path: &str) -> Option<Code> {
        let found = note(&bytes).unwrap_or_default();
        if !build_id.is_empty() && found != build_id {
            return None;
        }
        Code::new(Bytes::Copy(bytes), ModuleFile { build_id: found, ..ModuleFile::at(path) }).ok()
    }

    fn new(bytes: Bytes, file: ModuleFile) -> Result<Code, Reason> {
        let (segments, hdr) = headers(bytes.get()).ok_or(Reason::UnreadableElf)?;
        Ok(Code {
            bytes,
            file,
            segments,
            hdr,
            slots: OnceCell::new(),
            text: OnceCell::new(),
            first_of_greenlets: OnceCell::new(),
        })
    }

    /// What to subtract from an address of a process that maps the file from `offset` on at `start`, to get an
    /// address in the file.
    pub(crate) fn bias(&self, start: u64, offset: u64) -> u64 {
        // Mappings begin on page boundaries, segments anywhere within a page.
        let holds = |segment: &&Segment| {
            offset >= segment.offset & !0xfff && offset < segment.offset.saturating_add(segment.length)
        };
        let mut holding: Vec<&Segment> = self.segments.iter().filter(holds).collect();
        // Two segments may share a page of the file.
        holding.sort_by_key(|segment| !segment.is_code);
        match holding.first() {
            Some(segment) => {
                let address = segment.address.wrapping_add(offset.wrapping_sub(segment.offset));
                start.wrapping_sub(address)
            }
            None => start.wrapping_sub(offset),
        }
    }

    /// The unwind tables, in the file's own addresses.
    pub(crate) fn sections(&self) -> Option<Sections<'_>> {
        let hdr_address = self.hdr?;
        let around = |segment: &&Segment| hdr_address.wrapping_sub(segment.address) < segment.length;
        let segment = self.segments.iter().find(around)?;
        let bytes = self.part(segment.offset, segment.length)?;
        Some(Sections { segment: bytes, segment_address: segment.address, hdr_address })
    }

    /// Whether an address of the file's own is in a function that begins a stack: see [`Modules::begins_stack`].
    ///
    /// [`Modules::begins_stack`]: unwind::Modules::begins_stack
    pub(crate) fn begins_stack(&self, address: u64) -> bool {
        let is_greenlet = || self.file.path.to_string_lossy().contains("greenlet");
        let find = || if is_greenlet() { first_of_greenlets(self.bytes.get()) } else { None };
        self.first_of_greenlets.get_or_init(|| find().unwrap_or_default()).contains(&address)
    }

    /// The code, in addresses of a process, if it has to be read because there are no tables.
    pub(crate) fn text(&self, bias: u64) -> Option<CodeWithoutTables<'_>> {
        let ReadableCode { segment, never_return } =
            (*self.text.get_or_init(|| legible(self.bytes.get(), &self.segments)))?;
        let moved = |address: u64| if address == 0 { 0 } else { address.wrapping_add(bias) };
        Some(CodeWithoutTables {
            code: self.part(segment.offset, segment.length)?,
            address: segment.address.wrapping_add(bias),
            never_return: never_return.map(moved),
        })
    }

    /// The cached rules.
    pub(crate) fn cached_rules(&self) -> SharedRules<'_> {
        SharedRules::new(self.slots.get_or_init(|| {
            let code = self.segments.iter().filter(|segment| segment.is_code);
            let places =
                code.fold(0, |places: u64, segment| places.saturating_add(segment.length / CODE_OF_RULE));
            let most = usize::try_from(places).unwrap_or(KEPT).min(KEPT).next_power_of_two();
            (0..most).map(|_| SharedSlot::new()).collect()
        }))
    }

    /// Sixteen bytes of the file.
    pub(crate) fn sixteen(&self, offset: u64) -> Option<[u8; 16]> {
        self.part(offset, 16)?.first_chunk().copied()
    }

    fn part(&self, offset: u64, length: u64) -> Option<&[u8]> {
        let rest = self.bytes.get().get(usize::try_from(offset).ok()?..)?;
        rest.get(..usize::try_from(length).ok()?)
    }
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Bytes::File(binary) => binary.bytes(),
            Bytes::Copy(bytes) => bytes,
        }
    }
}

/// The loadable segments of a 64-bit file, and where its unwind tables begin.
fn headers(bytes: &[u8]) -> Option<(Vec<Segment>, Option<u64>)> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let (mut segments, mut hdr) = (Vec::new(), None);
    for header in header.program_headers(endian, bytes).ok()?.iter().take(MOST_HEADERS) {
        match header.p_type(endian) {
            PT_LOAD => segments.push(Segment {
                address: header.p_vaddr(endian),
                offset: header.p_offset(endian),
                length: header.p_filesz(endian),
                is_code: header.p_flags(endian) & PF_X != 0,
            }),
            PT_GNU_EH_FRAME => hdr = Some(header.p_vaddr(endian)),
            _ => {}
        }
    }
    Some((segments, hdr))
}

/// The build id that a segment holds: there are no sections in memory.
fn note(bytes: &[u8]) -> Option<Vec<u8>> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, bytes).ok()?.iter().take(MOST_HEADERS);
    headers.filter_map(|header| header.notes(endian, bytes).ok()?).find_map(|mut notes| {
        while let Ok(Some(note)) = notes.next() {
            if note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec());
            }
        }
        None
    })
}

/// The code of musl, which has no tables. musl is recognised by the exported symbol that leads debuggers to its
/// loader's list; no other C library exports it.
fn legible(bytes: &[u8], segments: &[Segment]) -> Option<ReadableCode> {
    let exported = exports(bytes)?;
    exported(c"_dl_debug_addr")?;
    let segment = *segments.iter().find(|segment| segment.is_code)?;
    let never_return = CodeWithoutTables::NEVER_RETURN.map(|name| exported(name).map_or(0, |it| it.start));
    Some(ReadableCode { segment, never_return })
}

fn first_of_greenlets(bytes: &[u8]) -> Option<Range<u64>> {
    FIRST_OF_GREENLETS.into_iter().find_map(exports(bytes)?)
}

/// Finds what a file exports by its name, in the file's own addresses.
fn exports(bytes: &[u8]) -> Option<impl Fn(&CStr) -> Option<Range<u64>>> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let symbols = sections.symbols(endian, bytes, SHT_DYNSYM).ok()?;
    Some(move |name: &CStr| {
        let is_it = |symbol: &&Sym64<Endianness>| {
            symbol.st_shndx(endian) != SHN_UNDEF
                && symbol.name(endian, symbols.strings()).is_ok_and(|other| other == name.to_bytes())
        };
        let symbol = symbols.iter().find(is_it)?;
        let start = symbol.st_value(endian);
        Some(start..start.saturating_add(symbol.st_size(endian)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that this program's own code is found where it is mapped, with its tables and bytes.
    #[test]
    fn own_program_is_found_in_its_file() {
        let path = std::env::current_exe().unwrap();
        let code = Code::open(&ModuleFile::at(&path), "it").unwrap();
        let maps = procfs::process::Process::myself().unwrap().maps().unwrap();
        let here = own_program_is_found_in_its_file as *const () as u64;
        let map = maps.iter().find(|map| (map.address.0..map.address.1).contains(&here)).unwrap();
        let first = maps.iter().find(|other| other.pathname == map.pathname).unwrap();
        assert_eq!(code.bias(map.address.0, map.offset), first.address.0);
        assert!(code.sections().is_some());
        assert!(code.sixteen(here - map.address.0 + map.offset).is_some());
        assert_eq!(code.sixteen(u64::MAX - 3), None);
    }

    /// Check that files without code are refused.
    #[test]
    fn other_files_are_refused() {
        assert_eq!(Code::vdso(vec![0; 100], "x").err(), Some(Reason::UnreadableElf));
        assert_eq!(Code::open(&ModuleFile::at("/proc/self/maps"), "x").err(), Some(Reason::UnreadableElf));
    }
}
