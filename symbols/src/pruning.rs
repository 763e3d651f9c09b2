//! Hides from copies of units what the wanted addresses do not need.
//!
//! A unit of debug information is mostly types, variables and other functions, and whoever reads it passes over each of
//! them one by one. So in a copy, what is inside of these is hidden behind one entry, whose only attribute is a block of
//! bytes: it is passed over at once, and everything else stays where it is, so references hold.
//!
//! ```text
//! unit      [root][struct [member][member] 0][function [variable][block … 0] 0][wanted [inlined …] 0] 0
//! pruned    [root][struct [hidden        ] 0][function [hidden             ] 0][wanted [inlined …] 0] 0
//! ```
//!
//! What the functions of wanted addresses refer to is not hidden: names of inlined functions are there. A unit with a
//! wanted address in none of its functions is left as it is: the function may be within another one.

use crate::dwarf::Slice;
use crate::survey::Allowance;
use gimli::{
    Abbreviations, AttributeValue, DwTag, EndianSlice, Format, Reader, RunTimeEndian, Section, Unit, UnitRef,
};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// What the hidden entry's table says of it: `DW_TAG_lo_user`, no children, `DW_AT_lo_user` as `DW_FORM_block4`.
const HIDDEN: [u8; 9] = [0x80, 0x81, 0x01, 0, 0x80, 0x40, 0x04, 0, 0];
/// Bytes of a block's length.
const LENGTH: usize = 4;

/// Prunes units one after the other.
pub(crate) struct Pruner<'d, 'a> {
    dwarf: &'d gimli::Dwarf<Slice<'a>>,
    tables: HashMap<usize, Table>,
    /// The tables of the pruned units, as they are to be put into `.debug_abbrev`.
    pub(crate) abbreviations: Vec<u8>,
    /// Bytes of tables, and entries of lists of ranges, that may still be read.
    allowance: Allowance,
}

/// A table of abbreviations.
#[derive(Clone)]
struct Table {
    parsed: Arc<Abbreviations>,
    /// Where its copy begins, which has the hidden entry, too.
    offset: usize,
    /// The hidden entry's code.
    code: Vec<u8>,
}

/// A part of a unit, in bytes from its beginning.
type Part = Range<usize>;

impl<'d, 'a> Pruner<'d, 'a> {
    pub(crate) fn new(dwarf: &'d gimli::Dwarf<Slice<'a>>) -> Pruner<'d, 'a> {
        let sections = [dwarf.debug_abbrev.reader().len(), dwarf.ranges.debug_rnglists().reader().len()];
        Pruner {
            dwarf,
            tables: HashMap::new(),
            abbreviations: Vec::new(),
            allowance: Allowance::for_section(sections.iter().sum()),
        }
    }

    /// Prunes the copy of the unit at an offset for these sorted addresses, and has it use a table of
    /// [`Self::abbreviations`]. None if it is damaged, or its tables are read too often.
    pub(crate) fn prune(&mut self, offset: usize, addresses: &[u64], copy: &mut [u8]) -> Option<()> {
        let header = self.dwarf.debug_info.header_from_offset(gimli::DebugInfoOffset(offset)).ok()?;
        let table = self.table(header.debug_abbrev_offset().0)?;
        let (format, version) = (header.format(), header.version());
        let unit = Unit::new_with_abbreviations(self.dwarf, header, table.parsed.clone()).ok()?;
        let endian = self.dwarf.debug_info.reader().endian();
        let mut walk = Walk::new(unit.unit_ref(self.dwarf), addresses, &mut self.allowance)?;
        walk.all()?;
        for Part { start, end } in walk.hidden() {
            let length = (end - start).checked_sub(table.code.len() + LENGTH);
            if let Some(length) = length.and_then(|length| u32::try_from(length).ok()) {
                let head = [&table.code[..], &word(length, endian)].concat();
                copy.get_mut(start..)?.get_mut(..head.len())?.copy_from_slice(&head);
            }
        }
        // Behind the unit's length and its version; behind its type and the size of addresses since DWARF 5.
        let before = if version >= 5 { 4 } else { 2 };
        let place = format.initial_length_size() as usize + before;
        let low = word(u32::try_from(table.offset).ok()?, endian);
        let new = match (format, endian) {
            (Format::Dwarf32, _) => low.to_vec(),
            (Format::Dwarf64, RunTimeEndian::Little) => [low, [0; 4]].concat(),
            (Format::Dwarf64, RunTimeEndian::Big) => [[0; 4], low].concat(),
        };
        copy.get_mut(place..)?.get_mut(..new.len())?.copy_from_slice(&new);
        Some(())
    }

    /// The table at an offset, copied and parsed once.
    fn table(&mut self, offset: usize) -> Option<Table> {
        if let Some(known) = self.tables.get(&offset) {
            return Some(known.clone());
        }
        let section = self.dwarf.debug_abbrev.reader();
        let bytes = section.slice().get(offset..)?;
        let (length, code) = length_and_free_code(EndianSlice::new(bytes, section.endian()))?;
        self.allowance.take(length)?;
        let parsed = Arc::new(self.dwarf.debug_abbrev.abbreviations(gimli::DebugAbbrevOffset(offset)).ok()?);
        let table = Table { parsed, offset: self.abbreviations.len(), code: uleb(code) };
        // In front of the code 0 that ends the table.
        self.abbreviations.extend_from_slice(&bytes[..length - 1]);
        self.abbreviations.extend([&table.code[..], &HIDDEN, &[0]].concat());
        self.tables.insert(offset, table.clone());
        Some(table)
    }
}

fn word(number: u32, endian: RunTimeEndian) -> [u8; LENGTH] {
    match endian {
        RunTimeEndian::Little => number.to_le_bytes(),
        RunTimeEndian::Big => number.to_be_bytes(),
    }
}

fn uleb(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// The length of a table with the code 0 at its end, and a code that it does not use.
fn length_and_free_code(mut table: Slice<'_>) -> Option<(usize, u64)> {
    let (whole, mut most) = (table.len(), 0);
    loop {
        let code = table.read_uleb128().ok()?;
        if code == 0 {
            return Some((whole - table.len(), u64::checked_add(most, 1)?));
        }
        most = most.max(code);
        table.skip_leb128().ok()?;
        table.read_u8().ok()?;
        loop {
            let (attribute, form) = (table.read_uleb128().ok()?, table.read_uleb128().ok()?);
            if (attribute, form) == (0, 0) {
                break;
            }
            if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                table.skip_leb128().ok()?;
            }
        }
    }
}

/// A walk over the entries of a unit.
struct Walk<'u, 'a> {
    unit: UnitRef<'u, Slice<'a>>,
    addresses: &'u [u64],
    allowance: &'u mut Allowance,
    entries: gimli::EntriesRaw<'u, Slice<'a>>,
    /// Structures have no functions in them: only their members' types refer to anything.
    is_c: bool,
    /// Which addresses are in a function.
    is_found: Vec<bool>,
    /// What may be hidden, in ascending order.
    parts: Vec<Part>,
    /// What wanted functions refer to.
    references: BTreeSet<usize>,
}

/// What an entry says of itself.
#[derive(Default)]
struct EntryAttributes {
    sibling: Option<usize>,
    is_wanted: bool,
    reference: Option<usize>,
    is_c: bool,
}

impl<'u, 'a> Walk<'u, 'a> {
    fn new(
        unit: UnitRef<'u, Slice<'a>>,
        addresses: &'u [u64],
        allowance: &'u mut Allowance,
    ) -> Option<Walk<'u, 'a>> {
        let entries = unit.unit.entries_raw(None).ok()?;
        let is_found = vec![false; addresses.len()];
        let (parts, references) = (Vec::new(), BTreeSet::new());
        let mut walk = Walk { unit, addresses, allowance, entries, is_c: false, is_found, parts, references };
        let root = walk.entries.read_abbreviation().ok()??;
        walk.is_c = walk.read(root.attributes(), false)?.is_c;
        Some(walk)
    }

    /// Passes over the whole unit.
    fn all(&mut self) -> Option<()> {
        while !self.entries.is_empty() {
            let depth = self.entries.next_depth();
            let Some(entry) = self.entries.read_abbreviation().ok()? else { continue };
            let is_function = entry.tag() == gimli::DW_TAG_subprogram;
            if !(is_function || entry.has_children() && self.hides(entry.tag())) {
                self.entries.skip_attributes(entry.attributes()).ok()?;
                continue;
            }
            let said = self.read(entry.attributes(), is_function)?;
            if said.is_wanted {
                self.references.extend(said.reference);
                self.note_references(depth)?;
            } else if entry.has_children() {
                let start = self.entries.next_offset().0;
                self.pass_over(depth, said.sibling)?;
                // The code 0 behind the last child stays.
                self.parts.extend(self.entries.next_offset().0.checked_sub(1).map(|end| start..end));
            }
        }
        Some(())
    }

    /// Whether nothing that is looked for is within such entries.
    fn hides(&self, tag: DwTag) -> bool {
        match tag {
            gimli::DW_TAG_enumeration_type | gimli::DW_TAG_array_type | gimli::DW_TAG_subroutine_type => true,
            gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type => self.is_c,
            _ => false,
        }
    }

    /// Goes on behind the children of the entry at this depth that has just been read.
    fn pass_over(&mut self, depth: isize, sibling: Option<usize>) -> Option<()> {
        if let Some(sibling) = sibling.filter(|&sibling| sibling > self.entries.next_offset().0) {
            // Depths count from where the reading begins.
            self.entries = self.unit.unit.entries_raw(Some(gimli::UnitOffset(sibling))).ok()?;
            return Some(());
        }
        while !self.entries.is_empty() && self.entries.next_depth() > depth {
            if let Some(entry) = self.entries.read_abbreviation().ok()? {
                self.entries.skip_attributes(entry.attributes()).ok()?;
            }
        }
        Some(())
    }

    /// Passes over the children of a wanted function, and notes what they refer to.
    fn note_references(&mut self, depth: isize) -> Option<()> {
        while !self.entries.is_empty() && self.entries.next_depth() > depth {
            let Some(entry) = self.entries.read_abbreviation().ok()? else { continue };
            match entry.tag() {
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine => {
                    let said = self.read(entry.attributes(), false)?;
                    self.references.extend(said.reference);
                }
                _ => self.entries.skip_attributes(entry.attributes()).ok()?,
            }
        }
        Some(())
    }

    /// Reads the attributes of an entry, and if it is a function, whether it has wanted addresses.
    fn read(
        &mut self,
        attributes: &[gimli::AttributeSpecification],
        is_function: bool,
    ) -> Option<EntryAttributes> {
        let (mut said, mut low, mut high, mut ranges) = (EntryAttributes::default(), None, None, None);
        for attribute in attributes {
            let attribute = self.entries.read_attribute(*attribute).ok()?;
            match (attribute.name(), attribute.value()) {
                (gimli::DW_AT_sibling, AttributeValue::UnitRef(offset)) => said.sibling = Some(offset.0),
                (
                    gimli::DW_AT_abstract_origin | gimli::DW_AT_specification,
                    AttributeValue::UnitRef(offset),
                ) => said.reference = Some(offset.0),
                (gimli::DW_AT_language, AttributeValue::Language(language)) => said.is_c = is_c(language),
                (gimli::DW_AT_low_pc, value) => low = Some(value),
                (gimli::DW_AT_high_pc, value) => high = Some(value),
                (gimli::DW_AT_ranges, value) => ranges = Some(value),
                _ => {}
            }
        }
        if is_function {
            let low = low.and_then(|low| self.unit.attr_address(low).ok()?);
            let high = high.and_then(|high| match high.udata_value() {
                Some(length) => low?.checked_add(length),
                None => self.unit.attr_address(high).ok()?,
            });
            said.is_wanted |= low.zip(high).is_some_and(|(low, high)| self.take(low, high));
            if let Some(offset) = ranges.and_then(|ranges| self.unit.attr_ranges_offset(ranges).ok()?) {
                let mut ranges = self.unit.ranges(offset).ok()?;
                while let Some(range) = ranges.next().ok()? {
                    self.allowance.take(1)?;
                    said.is_wanted |= self.take(range.begin, range.end);
                }
            }
        }
        Some(said)
    }

    /// Notes which addresses are in a range; true if there is any.
    fn take(&mut self, low: u64, high: u64) -> bool {
        let first = self.addresses.partition_point(|&address| address < low);
        let last = self.addresses.partition_point(|&address| address < high);
        let Some(found) = self.is_found.get_mut(first..last) else { return false };
        found.fill(true);
        !found.is_empty()
    }

    /// What is hidden.
    fn hidden(mut self) -> Vec<Part> {
        if !self.is_found.iter().all(|&found| found) {
            return Vec::new();
        }
        // What is referred to may refer to others.
        let (mut shown, mut open) = (BTreeSet::new(), std::mem::take(&mut self.references));
        while let Some(offset) = open.pop_first() {
            if shown.insert(offset) {
                open.extend(self.reference_at(offset));
            }
        }
        let is_referred_to = |part: &Part| shown.range(part.clone()).next().is_some();
        self.parts.retain(|part| part.start < part.end && !is_referred_to(part));
        self.parts
    }

    /// What the entry at an offset refers to.
    fn reference_at(&mut self, offset: usize) -> Option<usize> {
        self.entries = self.unit.unit.entries_raw(Some(gimli::UnitOffset(offset))).ok()?;
        let entry = self.entries.read_abbreviation().ok()??;
        self.read(entry.attributes(), false)?.reference
    }
}

fn is_c(language: gimli::DwLang) -> bool {
    matches!(
        language,
        gimli::DW_LANG_C89 | gimli::DW_LANG_C | gimli::DW_LANG_C99 | gimli::DW_LANG_C11 | gimli::DW_LANG_C17
    )
}
