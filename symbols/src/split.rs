//! Split debug information, left beside the object files (`-gsplit-dwarf`).
//!
//! The binary keeps a skeleton: the addresses of a unit, its lines, and where the rest is. The rest is in a `.dwo`
//! file for each unit, or in one package of all units. These places are tried, in this order:
//!
//! ```text
//! BINARY.dwp                beside the binary or its debug file, by that file's name
//! DIR/BINARY.dwp            DIR are the directories of debug files
//! FOLDER/NAME.dwo           where the compiler put it, within the root of a container first
//! HERE/NAME.dwo             beside the binary
//! DIR/NAME.dwo
//! ```
//!
//! A unit counts only if it has the id that its skeleton states: a recompiled file has another.

use crate::arena::Arena;
use crate::debug_files::Home;
use crate::dwarf::{Slice, is_needed};
use crate::elf::Elf;
use crate::image::Image;
use crate::survey;
use addr2line::SplitDwarfLoad;
use gimli::{DwarfPackage, EndianSlice, RunTimeEndian, Section, SectionId};
use std::cell::{Cell, OnceCell};
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most files that are opened for one binary; a browser has some twenty thousand.
const MOST_FILES: u32 = 1 << 15;
/// How often on average the sections of a package may be read: its index could claim all of it for each unit.
const MOST_SHARING: u64 = 4;

/// The split part of one binary's debug information.
pub(crate) struct Split<'a> {
    arena: &'a Arena,
    endian: RunTimeEndian,
    /// The file with the skeletons.
    home: Home,
    package: OnceCell<Option<Package<'a>>>,
    files: Cell<u32>,
    /// End of the longest function of the units read so far, supposing the linker had dropped it, see [`survey`].
    discarded_end: Cell<u64>,
}

struct Package<'a> {
    units: DwarfPackage<Slice<'a>>,
    /// Bytes of sections that may still be read.
    left: Cell<u64>,
}

impl<'a> Split<'a> {
    /// For the skeletons in this file.
    pub(crate) fn new(elf: &Elf<'a>, home: Home, arena: &'a Arena) -> Split<'a> {
        Split {
            arena,
            endian: elf.endian(),
            home,
            package: OnceCell::new(),
            files: Cell::new(0),
            discarded_end: Cell::new(0),
        }
    }

    /// See [`survey::Survey`].
    pub(crate) fn discarded_end(&self) -> u64 {
        self.discarded_end.get()
    }

    /// Whether any file was looked for.
    pub(crate) fn has_looked(&self) -> bool {
        self.files.get() > 0
    }

    /// The unit that a skeleton asks for.
    pub(crate) fn load(&self, wanted: &SplitDwarfLoad<Slice<'a>>) -> Option<Arc<gimli::Dwarf<Slice<'a>>>> {
        let mut dwarf = self.of_package(wanted).or_else(|| self.of_file(wanted))?;
        let header = dwarf.units().next().ok()??;
        let survey = survey::split(&mut dwarf)?;
        let unit = dwarf.unit(header).ok()?;
        if unit.dwo_id != Some(wanted.dwo_id) {
            return None;
        }
        self.discarded_end.set(self.discarded_end.get().max(survey.discarded_end));
        Some(Arc::new(dwarf))
    }

    fn of_package(&self, wanted: &SplitDwarfLoad<Slice<'a>>) -> Option<gimli::Dwarf<Slice<'a>>> {
        let package = self.package.get_or_init(|| self.open_package()).as_ref()?;
        let dwarf = package.units.find_cu(wanted.dwo_id, &wanted.parent).ok()??;
        let bytes = dwarf.debug_info.reader().len() + dwarf.debug_abbrev.reader().len();
        package.left.set(package.left.get().checked_sub(bytes as u64)?);
        Some(dwarf)
    }

    fn open_package(&self) -> Option<Package<'a>> {
        let mut name = self.home.path.clone().into_os_string();
        name.push(".dwp");
        // The package of a binary lies beside it, even where its debug file is `NAME.debug`.
        let mut candidates = vec![PathBuf::from(name), self.home.path.with_extension("dwp")];
        let names: Vec<OsString> =
            candidates.iter().filter_map(|path| path.file_name().map(OsStr::to_owned)).collect();
        for folder in &self.home.debug_dirs {
            candidates.extend(names.iter().map(|name| folder.join(name)));
        }
        let elf = candidates.iter().find_map(|path| self.open(path, b".debug_cu_index"))?;
        let left = Cell::new((elf.length() as u64).saturating_mul(MOST_SHARING));
        // A unit's share of a section must lie within it, even if nobody reads it.
        let section = |id: SectionId| Ok::<_, gimli::Error>(self.section(&elf, id));
        let units = DwarfPackage::load(section, EndianSlice::new(&[], self.endian)).ok()?;
        Some(Package { units, left })
    }

    fn of_file(&self, wanted: &SplitDwarfLoad<Slice<'a>>) -> Option<gimli::Dwarf<Slice<'a>>> {
        let path = |bytes: Slice<'a>| Path::new(OsStr::from_bytes(bytes.slice()));
        let name = path(wanted.path?);
        let whole = wanted.comp_dir.map_or(name.to_owned(), |folder| path(folder).join(name));
        let here = self.home.path.parent().unwrap_or(Path::new("/"));
        let inside = self.home.root.join(whole.strip_prefix("/").unwrap_or(&whole));
        let own = whole.file_name()?;
        let mut candidates = vec![inside, whole.clone(), here.join(own)];
        candidates.extend(self.home.debug_dirs.iter().map(|folder| folder.join(own)));
        let elf = candidates.iter().find_map(|path| self.open(path, b".debug_info.dwo"))?;
        let section = |id: SectionId| match is_needed(id) {
            true => Ok::<_, Infallible>(self.section(&elf, id)),
            false => Ok(EndianSlice::new(&[], self.endian)),
        };
        let Ok(mut dwarf) = gimli::Dwarf::load(section);
        dwarf.make_dwo(&wanted.parent);
        Some(dwarf)
    }

    fn open(&self, path: &Path, section: &[u8]) -> Option<Elf<'a>> {
        if self.files.get() >= MOST_FILES {
            return None;
        }
        self.files.set(self.files.get() + 1);
        let (image, _) = Image::open(path).ok()?;
        let elf = Elf::parse(self.arena.keep(image)).ok()?;
        (elf.has(section) && elf.endian() == self.endian).then_some(elf)
    }

    fn section(&self, elf: &Elf<'a>, id: SectionId) -> Slice<'a> {
        let is_index = matches!(id, SectionId::DebugCuIndex | SectionId::DebugTuIndex);
        let name = if is_index { Some(id.name()) } else { id.dwo_name() };
        let bytes = name.and_then(|name| elf.contents(name, self.arena)).unwrap_or(&[]);
        EndianSlice::new(bytes, self.endian)
    }
}
