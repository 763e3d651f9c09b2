//! Refuses debug information that no compiler writes.
//!
//! addr2line recurses once per nested inlined function and reads a unit's abbreviations and line program anew for
//! each unit. A file can therefore exhaust the stack with some ten thousand bytes of nested entries, or the memory
//! with a million tiny units that all point at one long line program. So before any address is looked up, one pass
//! over the entries proves:
//!
//! - no entry nests deeper than [`DEEPEST`],
//! - abbreviations and line programs, counted once per unit that uses them, are at most [`MOST_SHARING`] times as
//!   long as their sections.
//!
//! The pass skips attributes without decoding them and costs about 3 ms per megabyte of `.debug_info`.

use crate::lines::Slice;
use gimli::{AbbreviationsCacheStrategy, Reader, Section, UnitType};

/// Deepest nesting of entries: namespaces, functions, blocks and inlined functions together. Compilers limit
/// nested blocks to 256, and the deepest chain of inlined functions seen in large programs is below 100.
pub(crate) const DEEPEST: isize = 512;
/// How often on average abbreviations and line programs may be shared by units. Link-time optimization shares
/// one table among all units, and dwz one line program among many partial units.
const MOST_SHARING: u64 = 64;
/// Added to each limit, so that small files with much sharing pass.
const ALWAYS_ALLOWED: u64 = 16 << 20;

/// Whether looking up addresses stays within bounds. Fills the cache of abbreviations on the way.
pub(crate) fn check(dwarf: &mut gimli::Dwarf<Slice<'_>>) -> bool {
    if !abbreviations_are_bounded(dwarf) {
        return false;
    }
    dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
    entries_are_bounded(dwarf).unwrap_or(true)
}

/// Each distinct table is parsed once, thanks to the cache; yet tables can overlap.
fn abbreviations_are_bounded(dwarf: &gimli::Dwarf<Slice<'_>>) -> bool {
    let mut offsets = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(unit)) = units.next() {
        offsets.push(unit.debug_abbrev_offset().0);
    }
    offsets.sort_unstable();
    offsets.dedup();
    let section = dwarf.debug_abbrev.reader();
    let mut left = budget(section.len());
    for offset in offsets {
        let Some(table) = section.slice().get(offset..) else { continue };
        let length = abbreviations_length(Slice::new(table, section.endian())).unwrap_or(table.len());
        match left.checked_sub(length as u64) {
            Some(rest) => left = rest,
            None => return false,
        }
    }
    true
}

/// Length of the table of abbreviations at the start of `table`; none if it does not end.
///
/// ```text
/// table         code tag has-children (attribute form [value])… 0 0   code …   0
/// ```
fn abbreviations_length(mut table: Slice<'_>) -> Option<usize> {
    let whole = table.len();
    while table.read_uleb128().ok()? != 0 {
        table.skip_leb128().ok()?;
        table.read_u8().ok()?;
        loop {
            let attribute = table.read_uleb128().ok()?;
            let form = table.read_uleb128().ok()?;
            if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                table.skip_leb128().ok()?;
            }
            if attribute == 0 && form == 0 {
                break;
            }
        }
    }
    Some(whole - table.len())
}

/// Whether entries nest and line programs are shared within bounds. An error means that addr2line will meet the
/// same error at the same place and go no further.
fn entries_are_bounded(dwarf: &gimli::Dwarf<Slice<'_>>) -> gimli::Result<bool> {
    let mut lines_left = budget(dwarf.debug_line.reader().len());
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        if matches!(header.type_(), UnitType::Type { .. } | UnitType::SplitType { .. }) {
            continue;
        }
        let Ok(unit) = dwarf.unit(header) else { continue };
        let program = unit.line_program.as_ref().map_or(0, |program| program.header().unit_length() as u64);
        match lines_left.checked_sub(program) {
            Some(rest) => lines_left = rest,
            None => return Ok(false),
        }
        if !nesting_is_bounded(unit.entries_raw(None)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn nesting_is_bounded(mut entries: gimli::EntriesRaw<'_, Slice<'_>>) -> bool {
    while !entries.is_empty() {
        if entries.next_depth() > DEEPEST {
            return false;
        }
        match entries.read_abbreviation() {
            Ok(Some(entry)) if entries.skip_attributes(entry.attributes()).is_ok() => {}
            Ok(None) => {}
            // The unit is unreadable from here on.
            _ => break,
        }
    }
    true
}

fn budget(section: usize) -> u64 {
    (section as u64).saturating_mul(MOST_SHARING).saturating_add(ALWAYS_ALLOWED)
}
