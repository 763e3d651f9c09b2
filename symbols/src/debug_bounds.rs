//! Refuses debug information that no compiler writes.
//!
//! addr2line recurses once per nested inlined function, reads a line program anew for each unit that names it and
//! a list of ranges for each function that does. A file can therefore exhaust the stack with some ten thousand
//! bytes of nested entries, or the memory with a million tiny units that all name one long line program. So before
//! any address is looked up, one pass over the entries proves that
//!
//! - no entry nests deeper than [`DEEPEST`], and none has more than [`MOST_ATTRIBUTES`],
//! - abbreviations, line programs and lists of ranges, counted as often as they will be read, are at most
//!   [`MOST_SHARING`] times as long as the sections they lie in.
//!
//! The pass skips almost all attributes without decoding them and costs 1.6 ms per megabyte of `.debug_info`.

use crate::lines::Slice;
use gimli::{AbbreviationsCacheStrategy, Reader, Section, UnitRef, UnitType};

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

/// Whether looking up addresses stays within bounds. Fills the cache of abbreviations on the way.
pub(crate) fn check(dwarf: &mut gimli::Dwarf<Slice<'_>>) -> bool {
    if abbreviations_are_bounded(dwarf).is_none() {
        return false;
    }
    dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
    units_are_bounded(dwarf).is_some()
}

/// What may still be read, in units of what is counted. Nothing is left once it is overdrawn.
struct Allowance(u64);

impl Allowance {
    fn for_section(length: usize) -> Self {
        Allowance((length as u64).saturating_mul(MOST_SHARING).saturating_add(ALWAYS_ALLOWED))
    }

    fn take(&mut self, amount: usize) -> Option<()> {
        self.0 = self.0.checked_sub(amount as u64)?;
        Some(())
    }
}

/// Each distinct table is parsed once, thanks to the cache; yet tables can overlap.
fn abbreviations_are_bounded(dwarf: &gimli::Dwarf<Slice<'_>>) -> Option<()> {
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
            // What follows damage is not read by gimli either.
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

/// Walks all units that addr2line reads. Where an entry is damaged the walk of its unit ends, as addr2line's will.
fn units_are_bounded(dwarf: &gimli::Dwarf<Slice<'_>>) -> Option<()> {
    let ranges = dwarf.ranges.debug_ranges().reader().len() + dwarf.ranges.debug_rnglists().reader().len();
    let mut bounds = Bounds {
        line_programs: Allowance::for_section(dwarf.debug_line.reader().len()),
        ranges: Allowance::for_section(ranges),
    };
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        if matches!(header.type_(), UnitType::Type { .. } | UnitType::SplitType { .. }) {
            continue;
        }
        if let Ok(unit) = dwarf.unit(header) {
            bounds.take_unit(unit.unit_ref(dwarf))?;
        }
    }
    Some(())
}

/// What all units together may read.
struct Bounds {
    line_programs: Allowance,
    ranges: Allowance,
}

impl Bounds {
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
            let attributes = entry.attributes();
            let is_read = match entry.tag() {
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine | gimli::DW_TAG_compile_unit
                    if attributes.iter().any(|attribute| attribute.name() == gimli::DW_AT_ranges) =>
                {
                    self.take_ranges(unit, &mut entries, attributes)?
                }
                _ => entries.skip_attributes(attributes),
            };
            if is_read.is_err() {
                break;
            }
        }
        Some(())
    }

    /// Reads an entry's attributes and counts its list of ranges.
    fn take_ranges<'a>(
        &mut self,
        unit: UnitRef<'_, Slice<'a>>,
        entries: &mut gimli::EntriesRaw<'_, Slice<'a>>,
        attributes: &[gimli::AttributeSpecification],
    ) -> Option<gimli::Result<()>> {
        for &attribute in attributes {
            let attribute = match entries.read_attribute(attribute) {
                Ok(attribute) => attribute,
                Err(error) => return Some(Err(error)),
            };
            if attribute.name() == gimli::DW_AT_ranges
                && let Ok(Some(offset)) = unit.attr_ranges_offset(attribute.value())
                && let Ok(mut list) = unit.raw_ranges(offset)
            {
                while let Ok(Some(_)) = list.next() {
                    self.ranges.take(RANGE_BYTES)?;
                }
            }
        }
        Some(Ok(()))
    }
}
