//! Examines all debug information once before it is used.
//!
//! **Is it bounded?** addr2line recurses once per nested inlined function, reads a line program anew for each unit
//! that names it and a list of ranges for each function that does. A file can therefore exhaust the stack with some
//! ten thousand bytes of nested entries, or the memory with a million tiny units that all name one long line
//! program. No compiler writes such things, so they are refused unless
//!
//! - no entry nests deeper than [`DEEPEST`], and none has more than [`MOST_ATTRIBUTES`],
//! - abbreviations, line programs and lists of ranges, counted as often as they will be read, are at most
//!   [`MOST_SHARING`] times as long as the sections they lie in.
//!
//! **Which functions are not there?** A linker that drops an unused function leaves its debug information behind,
//! moved to address 0. A large one then seems to cover code that begins at 0x1000:
//!
//! ```text
//! 0        0x1000             0x3000
//! [ dropped function          )            discarded_end = 0x3000
//!          [ .plt ][ .text: main …         below it, debug information needs a symbol as a witness
//! ```
//!
//! The look skips most attributes without decoding them and costs about 2 ms per megabyte of `.debug_info`.

use crate::dwarf::Slice;
use gimli::{AbbreviationsCacheStrategy, Reader, Section, UnitRef, UnitType};
use serde::{Deserialize, Serialize};

/// Deepest nesting of entries: namespaces, functions, blocks and inlined functions together. Compilers limit
/// nested blocks to 256, and the deepest chain of inlined functions seen in large programs is below 100.
pub(crate) const DEEPEST: isize = 512;
/// Most attributes of one entry; those without contents cost a file nothing. Compilers use up to some thirty.
const MOST_ATTRIBUTES: usize = 256;
/// How often on average a table may be read. Link-time optimization shares one table of abbreviations among all
/// units, and dwz one line program among many partial units.
const MOST_SHARING: u64 = 64;
/// Length of an entry in a list of ranges, between the 3 bytes of short ones and the 16 of those before DWARF 5.
const RANGE_BYTES: usize = 8;
/// Added to each limit, so that small files with much sharing pass.
const ALWAYS_ALLOWED: u64 = 16 << 20;

/// Result of the survey.
#[derive(Serialize, Deserialize)]
pub(crate) struct Survey {
    /// Where the longest dropped function ends; 0 if none reaches into the code.
    pub(crate) discarded_end: u64,
    /// Units refer to each other, so that none can be selected.
    pub(crate) refers_far: bool,
}

/// Surveys everything; `code_start` is the address at which code begins. None if looking up addresses would exceed
/// the bounds. Fills the cache of abbreviations on the way.
pub(crate) fn survey(dwarf: &mut gimli::Dwarf<Slice<'_>>, code_start: u64) -> Option<Survey> {
    look_at(dwarf, code_start, false)
}

/// As [`survey`], for selected units: none, too, if they refer to others.
pub(crate) fn selected(dwarf: &mut gimli::Dwarf<Slice<'_>>, code_start: u64) -> Option<Survey> {
    look_at(dwarf, code_start, true)
}

fn look_at(dwarf: &mut gimli::Dwarf<Slice<'_>>, code_start: u64, is_selected: bool) -> Option<Survey> {
    take_abbreviations(dwarf)?;
    keep_abbreviations(dwarf);
    let ranges = dwarf.ranges.debug_ranges().reader().len() + dwarf.ranges.debug_rnglists().reader().len();
    let mut surveyor = Surveyor {
        line_programs: Allowance::for_section(dwarf.debug_line.reader().len()),
        ranges: Allowance::for_section(ranges),
        code_start,
        discarded_end: 0,
        refers_far: false,
        is_split: false,
        is_selected,
    };
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        // addr2line does not read these.
        if matches!(header.type_(), UnitType::Type { .. } | UnitType::SplitType { .. }) {
            continue;
        }
        if let Ok(unit) = dwarf.unit(header) {
            surveyor.take_unit(unit.unit_ref(dwarf))?;
        }
    }
    let reaches_code = surveyor.discarded_end > code_start;
    Some(Survey {
        discarded_end: if reaches_code { surveyor.discarded_end } else { 0 },
        refers_far: surveyor.refers_far,
    })
}

/// Surveys one split unit. The addresses of its functions are in the file with its skeleton, so any of them may have
/// been dropped.
pub(crate) fn split(dwarf: &mut gimli::Dwarf<Slice<'_>>) -> Option<Survey> {
    take_abbreviations(dwarf)?;
    keep_abbreviations(dwarf);
    let ranges = dwarf.ranges.debug_ranges().reader().len() + dwarf.ranges.debug_rnglists().reader().len();
    let mut surveyor = Surveyor {
        line_programs: Allowance::for_section(dwarf.debug_line.reader().len()),
        ranges: Allowance::for_section(ranges),
        code_start: 0,
        discarded_end: 0,
        refers_far: false,
        is_split: true,
        is_selected: false,
    };
    let header = dwarf.units().next().ok()??;
    if let Ok(unit) = dwarf.unit(header) {
        surveyor.take_unit(unit.unit_ref(dwarf))?;
    }
    Some(Survey { discarded_end: surveyor.discarded_end, refers_far: surveyor.refers_far })
}

/// Fills the cache of abbreviations, of what passed the survey: units that share a table read it once.
pub(crate) fn keep_abbreviations(dwarf: &mut gimli::Dwarf<Slice<'_>>) {
    dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
}

/// What may still be read, in units of whatever is counted. Nothing is left once it is overdrawn.
pub(crate) struct Allowance(u64);

impl Allowance {
    pub(crate) fn for_section(length: usize) -> Self {
        Allowance((length as u64).saturating_mul(MOST_SHARING).saturating_add(ALWAYS_ALLOWED))
    }

    pub(crate) fn take(&mut self, amount: usize) -> Option<()> {
        self.0 = self.0.checked_sub(amount as u64)?;
        Some(())
    }
}

/// Each distinct table is parsed once, thanks to the cache; yet tables can overlap.
fn take_abbreviations(dwarf: &gimli::Dwarf<Slice<'_>>) -> Option<()> {
    let mut offsets = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(unit)) = units.next() {
        offsets.push(unit.debug_abbrev_offset().0);
    }
    offsets.sort_unstable();
    offsets.dedup();
    let section = dwarf.debug_abbrev.reader();
    let mut allowance = Allowance::for_section(section.len());
    for offset in offsets {
        if let Some(table) = section.slice().get(offset..) {
            let mut table = Slice::new(table, section.endian());
            let whole = table.len();
            // gimli does not read beyond damage either.
            let is_bounded = skip_abbreviations(&mut table).unwrap_or(true);
            allowance.take(whole - table.len())?;
            is_bounded.then_some(())?;
        }
    }
    Some(())
}

/// Reads to the end of a table of abbreviations, and says whether each has few enough attributes.
///
/// ```text
/// table         code tag has-children (attribute form [value])… 0 0   code …   0
/// ```
fn skip_abbreviations(table: &mut Slice<'_>) -> gimli::Result<bool> {
    while table.read_uleb128()? != 0 {
        table.skip_leb128()?;
        table.read_u8()?;
        for attributes in 0.. {
            let (attribute, form) = (table.read_uleb128()?, table.read_uleb128()?);
            if (attribute, form) == (0, 0) {
                break;
            }
            if attributes == MOST_ATTRIBUTES {
                return Ok(false);
            }
            if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                table.skip_leb128()?;
            }
        }
    }
    Ok(true)
}

/// What all units together may still read, and what was found in them.
struct Surveyor {
    line_programs: Allowance,
    ranges: Allowance,
    code_start: u64,
    discarded_end: u64,
    refers_far: bool,
    is_split: bool,
    /// Only selected units are there, so references to others are refused.
    is_selected: bool,
}

impl Surveyor {
    /// Walks the entries of a unit. The walk ends at a damaged entry, as addr2line's will.
    fn take_unit<'a>(&mut self, unit: UnitRef<'_, Slice<'a>>) -> Option<()> {
        let program = unit.line_program.as_ref().map_or(0, |program| program.header().unit_length());
        self.line_programs.take(program)?;
        let Ok(mut entries) = unit.entries_raw(None) else { return Some(()) };
        while !entries.is_empty() {
            if entries.next_depth() > DEEPEST {
                return None;
            }
            let entry = match entries.read_abbreviation() {
                Ok(Some(entry)) => entry,
                Ok(None) => continue,
                Err(_) => break,
            };
            let is_far =
                |attribute: &gimli::AttributeSpecification| attribute.form() == gimli::DW_FORM_ref_addr;
            self.refers_far |= entry.attributes().iter().any(is_far);
            if self.is_selected && self.refers_far {
                return None;
            }
            let has = |name| entry.attributes().iter().any(|attribute| attribute.name() == name);
            let is_read = match entry.tag() {
                gimli::DW_TAG_subprogram if has(gimli::DW_AT_low_pc) || has(gimli::DW_AT_ranges) => {
                    self.take_code(unit, &mut entries, entry.attributes())?
                }
                gimli::DW_TAG_inlined_subroutine
                | gimli::DW_TAG_compile_unit
                | gimli::DW_TAG_skeleton_unit
                    if has(gimli::DW_AT_ranges) =>
                {
                    self.take_code(unit, &mut entries, entry.attributes())?
                }
                _ => entries.skip_attributes(entry.attributes()),
            };
            if is_read.is_err() {
                break;
            }
        }
        Some(())
    }

    /// Reads which code an entry claims.
    fn take_code<'a>(
        &mut self,
        unit: UnitRef<'_, Slice<'a>>,
        entries: &mut gimli::EntriesRaw<'_, Slice<'a>>,
        attributes: &[gimli::AttributeSpecification],
    ) -> Option<gimli::Result<()>> {
        let (mut low, mut high) = (None, None);
        for &attribute in attributes {
            let attribute = match entries.read_attribute(attribute) {
                Ok(attribute) => attribute,
                Err(error) => return Some(Err(error)),
            };
            match attribute.name() {
                gimli::DW_AT_low_pc => low = unit.attr_address(attribute.value()).ok().flatten(),
                gimli::DW_AT_high_pc => high = Some(attribute.value()),
                gimli::DW_AT_ranges => {
                    if let Ok(Some(offset)) = unit.attr_ranges_offset(attribute.value()) {
                        self.take_ranges(unit, offset)?;
                    }
                }
                _ => {}
            }
        }
        if let (true, Some(length)) = (self.is_split, high.and_then(|high| high.udata_value())) {
            self.discarded_end = self.discarded_end.max(length);
        } else if let (Some(low), Some(high)) = (low, high) {
            let length = high.udata_value().map(|length| low.saturating_add(length));
            let end = length.or_else(|| unit.attr_address(high).ok().flatten());
            self.take_range(low, end.unwrap_or(low));
        }
        Some(Ok(()))
    }

    fn take_ranges<'a>(
        &mut self,
        unit: UnitRef<'_, Slice<'a>>,
        offset: gimli::RangeListsOffset<usize>,
    ) -> Option<()> {
        // The cooked list skips entries that say nothing about code, so the raw one is counted.
        let Ok(mut raw) = unit.raw_ranges(offset) else { return Some(()) };
        while let Ok(Some(_)) = raw.next() {
            self.ranges.take(RANGE_BYTES)?;
        }
        let Ok(mut ranges) = unit.ranges(offset) else { return Some(()) };
        while let Ok(Some(range)) = ranges.next() {
            self.take_range(range.begin, range.end);
        }
        Some(())
    }

    fn take_range(&mut self, begin: u64, end: u64) {
        if begin < self.code_start {
            self.discarded_end = self.discarded_end.max(end);
        }
    }
}
