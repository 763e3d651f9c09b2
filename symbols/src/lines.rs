//! Lines and inlined functions from DWARF.

use crate::arena::Arena;
use crate::debug_cache::DebugCache;
use crate::debug_files::Home;
use crate::dwarf::{Slice, is_needed};
use crate::elf::Elf;
use crate::image::Image;

use crate::selection::{self, Selection};
use crate::split::Split;
use crate::survey::{self, Survey};
use addr2line::{LookupContinuation, LookupResult};
use gimli::{DebugAbbrev, DebugAranges, DebugInfo, EndianSlice, SectionId};
use std::convert::Infallible;
use std::sync::Arc;

/// Most frames of one address; debug information that nests deeper was refused earlier.
const MOST_FRAMES: usize = survey::DEEPEST as usize;

/// The debug information of one file, in that file's addresses. Units are read when an address first needs them.
pub(crate) struct Lines<'a> {
    context: addr2line::Context<Slice<'a>>,
    survey: Survey,
    split: Split<'a>,
}

/// A frame as DWARF has it.
pub(crate) struct LineFrame {
    /// Linkage name where there is one, else the plain name.
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

impl<'a> Lines<'a> {
    /// Reads which units a file with debug information has. None if it is damaged, or unlike what compilers write,
    /// see [`survey`].
    pub(crate) fn load(
        elf: &Elf<'a>,
        cache: &DebugCache<'_>,
        home: &Home,
        alternate: Option<&Elf<'a>>,
        arena: &'a Arena,
    ) -> Option<Lines<'a>> {
        let mut dwarf = sections(elf, cache, arena);
        let survey = match cache.survey(elf) {
            Some(known) => {
                survey::keep_abbreviations(&mut dwarf);
                known
            }
            None => {
                let survey = survey::survey(&mut dwarf, elf.code_start());
                cache.keep_survey(elf, survey.as_ref());
                survey
            }
        }?;
        dwarf.sup = alternate.and_then(|alternate| {
            let mut dwarf = sections(alternate, &DebugCache::new(None, None), arena);
            survey::survey(&mut dwarf, alternate.code_start())?;
            Some(Arc::new(dwarf))
        });
        Lines::new(dwarf, survey, elf, home, arena)
    }

    /// As [`Self::load`], but only the units that these addresses need; the addresses are sorted and those of this
    /// file. None where the units cannot be selected, or refer to others.
    pub(crate) fn select(
        addresses: &[u64],
        elf: &Elf<'a>,
        cache: &DebugCache<'_>,
        home: &Home,
        arena: &'a Arena,
    ) -> Option<Lines<'a>> {
        let mut dwarf = sections(elf, cache, arena);
        let Selection { info, abbreviations } = selection::of(&dwarf, addresses)?;
        let kept = |bytes| EndianSlice::new(arena.keep(Image::Owned(bytes)), elf.endian());
        dwarf.debug_info = DebugInfo::from(kept(info));
        if let Some(abbreviations) = abbreviations {
            dwarf.debug_abbrev = DebugAbbrev::from(kept(abbreviations));
        }
        dwarf.debug_aranges = DebugAranges::from(EndianSlice::new(&[], elf.endian()));
        let survey = survey::selected(&mut dwarf, elf.code_start())?;
        Lines::new(dwarf, survey, elf, home, arena)
    }

    fn new(
        dwarf: gimli::Dwarf<Slice<'a>>,
        survey: Survey,
        elf: &Elf<'a>,
        home: &Home,
        arena: &'a Arena,
    ) -> Option<Lines<'a>> {
        let split = Split::new(elf, home.clone(), arena);
        Some(Lines { context: addr2line::Context::from_dwarf(dwarf).ok()?, survey, split })
    }

    /// Whether a function that the linker dropped may seem to cover the address.
    pub(crate) fn is_doubtful(&self, address: u64) -> bool {
        address < self.survey.discarded_end.max(self.split.discarded_end())
    }

    /// Whether files other than the one it was loaded from were opened or looked for.
    pub(crate) fn has_read_others(&self) -> bool {
        self.split.has_looked()
    }

    /// The frames at an address, innermost inlined function first.
    pub(crate) fn frames(&self, address: u64) -> Vec<LineFrame> {
        if address == u64::MAX {
            // addr2line looks up the range up to the next address.
            return Vec::new();
        }
        let mut lookup = self.context.find_frames(address);
        let found = loop {
            lookup = match lookup {
                LookupResult::Output(found) => break found,
                LookupResult::Load { load, continuation } => continuation.resume(self.split.load(&load)),
            };
        };
        let Ok(mut found) = found else { return Vec::new() };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next()
            && frames.len() < MOST_FRAMES
        {
            let location = frame.location;
            frames.push(LineFrame {
                function: frame
                    .function
                    .map(|function| String::from_utf8_lossy(function.name.slice()).into_owned()),
                file: location.as_ref().and_then(|location| location.file).map(str::to_owned),
                line: location.and_then(|location| location.line),
            });
        }
        frames
    }
}

/// Opens the sections that lines and functions need.
fn sections<'a>(elf: &Elf<'a>, cache: &DebugCache<'_>, arena: &'a Arena) -> gimli::Dwarf<Slice<'a>> {
    let section = |id: SectionId| {
        let bytes = if is_needed(id) { cache.contents(elf, id.name(), arena) } else { None };
        Ok::<_, Infallible>(EndianSlice::new(bytes.unwrap_or(&[]), elf.endian()))
    };
    let Ok(dwarf) = gimli::Dwarf::load(section);
    dwarf
}
