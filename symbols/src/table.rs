//! Which symbol covers an address.
//!
//! The rule, in this order:
//!
//! 1. A symbol with a size that contains the address. Of several the one that starts last; of several that start
//!    at one address (aliases) the best name, see [`Preference`].
//! 2. A function without a size that starts before, if no other symbol starts between and both lie in one section:
//!    hand-written assembly, `_start` of old systems. It ends earlier where the unwind tables list another function,
//!    which only a stripped file has without a symbol ([`crate::function_start`]).
//! 3. None. A gap behind a symbol with a size belongs to no symbol.
//!
//! Variables, which all have a size, are found by the first rule alone. Labels count if they have a size. The rule is
//! worked out once for all addresses; a lookup is a binary search:
//!
//! ```text
//! symbols      [ outer                    )        (zero, a function of size 0
//!                     [ inner  )                                                          end of section
//! segments     [ outer |inner  |outer     )  none  [zero (inexact)                        )  none
//! starts        10     20      30          50      60                                     90
//! ```

use crate::elf::{Elf, ElfSymbol, Section};
use crate::shift::Shift;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

/// The symbols of one module: of its code, or of its variables.
#[derive(Default)]
pub(crate) struct SymbolTable<'a> {
    /// Ascending; each segment ends where the next begins.
    starts: Vec<u64>,
    /// Parallel to `starts`: the symbol that covers the segment.
    owners: Vec<Option<Covering<'a>>>,
}

/// The symbol that covers an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Covering<'a> {
    /// As in the file, mangled.
    pub(crate) name: &'a [u8],
    /// Where the symbol begins.
    pub(crate) start: u64,
    /// The symbol has a size and the address lies within it.
    pub(crate) is_exact: bool,
}

/// A symbol in the addresses of the main file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Placed<'a> {
    start: u64,
    /// Exclusive. For a function without a size: the end of its section.
    end: u64,
    is_sized: bool,
    preference: Preference<'a>,
}

/// Orders aliases: a function before a label, a global (or weak) name before a local one, few leading underscores
/// before many, short before long, then the alphabet. So `malloc` is chosen over `__libc_malloc`, and `write`, which
/// is weak, over `__write`. The vdso's `__vdso_clock_gettime` wins over its `clock_gettime`, since libc has another
/// function of that name, which calls it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Preference<'a> {
    is_not_of_vdso: bool,
    is_label: bool,
    is_local: bool,
    underscores: usize,
    length: usize,
    name: &'a [u8],
}

impl<'a> SymbolTable<'a> {
    /// Collects the symbols of several files, each with the map from its addresses to those of the main file.
    pub(crate) fn of(files: &[(&Elf<'a>, Shift)]) -> SymbolTable<'a> {
        let placed =
            files.iter().flat_map(|(elf, shift)| place_all(&elf.symbols(), elf.code_sections(), shift));
        SymbolTable::from_placed(placed.collect())
    }

    /// As [`Self::of`], for variables.
    pub(crate) fn of_variables(files: &[(&Elf<'a>, Shift)]) -> SymbolTable<'a> {
        let placed =
            files.iter().flat_map(|(elf, shift)| place_all(&elf.variables(), elf.data_sections(), shift));
        SymbolTable::from_placed(placed.collect())
    }

    /// Whether there is no symbol at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The symbol that covers an address of the main file.
    ///
    /// Cost: one binary search.
    pub(crate) fn find(&self, address: u64) -> Option<Covering<'a>> {
        let after = self.starts.partition_point(|&start| start <= address);
        self.owners[..after].last().copied().flatten()
    }

    /// The symbol that covers an address, and the range of addresses with the same answer.
    pub(crate) fn around(&self, address: u64) -> (Range<u64>, Option<Covering<'a>>) {
        let after = self.starts.partition_point(|&start| start <= address);
        let start = after.checked_sub(1).map_or(0, |before| self.starts[before]);
        let end = self.starts.get(after).copied().unwrap_or(u64::MAX);
        (start..end, self.owners[..after].last().copied().flatten())
    }

    /// Sweeps over all starts and ends once, `n log n`, however the symbols overlap.
    fn from_placed(mut symbols: Vec<Placed<'a>>) -> SymbolTable<'a> {
        symbols.sort_unstable_by(|a, b| a.start.cmp(&b.start).then_with(|| a.by_rank(b).reverse()));
        symbols.dedup();
        let mut edges: Vec<u64> = symbols.iter().flat_map(|symbol| [symbol.start, symbol.end]).collect();
        edges.sort_unstable();
        edges.dedup();

        let mut table = SymbolTable::default();
        let mut open: BinaryHeap<Rank<'a>> = BinaryHeap::new();
        let mut unsized_function: Option<Placed<'a>> = None;
        let mut next = symbols.into_iter().peekable();
        for edge in edges {
            while open.peek().is_some_and(|Rank(symbol)| symbol.end <= edge) {
                open.pop();
            }
            unsized_function = unsized_function.filter(|function| edge < function.end);
            while let Some(symbol) = next.next_if(|symbol| symbol.start == edge) {
                if symbol.is_sized {
                    unsized_function = None;
                    open.push(Rank(symbol));
                } else if open.is_empty() {
                    // The best rank comes first: further ones at the same address are its aliases.
                    unsized_function =
                        Some(unsized_function.filter(|best| best.start == edge).unwrap_or(symbol));
                }
            }
            let sized = open.peek().map(|Rank(symbol)| symbol.covering());
            table.push(edge, sized.or_else(|| unsized_function.map(|function| function.covering())));
        }
        table
    }

    fn push(&mut self, start: u64, owner: Option<Covering<'a>>) {
        if self.owners.last().copied().flatten() != owner {
            self.starts.push(start);
            self.owners.push(owner);
        }
    }
}

/// Moves the symbols that lie in some sections.
fn place_all<'a: 's, 's>(
    symbols: &[ElfSymbol<'a>],
    sections: impl Iterator<Item = &'s Section<'a>>,
    shift: &Shift,
) -> Vec<Placed<'a>> {
    let sections: HashMap<usize, (u64, u64)> =
        sections.map(|section| (section.index, (section.address, section.end()))).collect();
    symbols.iter().filter_map(|symbol| place(symbol, &sections, shift)).collect()
}

/// Moves a symbol into the main file's addresses and ends it within its section.
fn place<'a>(
    symbol: &ElfSymbol<'a>,
    sections: &HashMap<usize, (u64, u64)>,
    shift: &Shift,
) -> Option<Placed<'a>> {
    let &(section_start, section_end) = sections.get(&symbol.section)?;
    if symbol.address < section_start || symbol.address >= section_end {
        return None;
    }
    let room = section_end - symbol.address;
    let length = if symbol.size == 0 { room } else { symbol.size.min(room) };
    let start = shift.apply(symbol.address)?;
    Some(Placed {
        start,
        end: start.checked_add(length)?,
        is_sized: symbol.size > 0,
        preference: Preference {
            is_not_of_vdso: !symbol.name.starts_with(b"__vdso_"),
            is_label: !symbol.is_function,
            is_local: symbol.is_local,
            underscores: symbol.name.iter().take_while(|&&byte| byte == b'_').count(),
            length: symbol.name.len(),
            name: symbol.name,
        },
    })
}

impl<'a> Placed<'a> {
    fn covering(&self) -> Covering<'a> {
        Covering { name: self.preference.name, start: self.start, is_exact: self.is_sized }
    }

    /// Greater is better: starts later, then the preferred name.
    fn by_rank(&self, other: &Self) -> Ordering {
        (self.start, Reverse(self.preference)).cmp(&(other.start, Reverse(other.preference)))
    }
}

/// Orders the open symbols of the sweep, so that the heap's top is the one that covers.
struct Rank<'a>(Placed<'a>);

impl Ord for Rank<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.by_rank(&other.0)
    }
}

impl PartialOrd for Rank<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rank<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rank<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECTION: (u64, u64) = (10, 90);

    fn symbol(name: &'static str, address: u64, size: u64) -> ElfSymbol<'static> {
        ElfSymbol { name: name.as_bytes(), address, size, is_function: true, is_local: false, section: 1 }
    }

    fn table(symbols: &[ElfSymbol<'static>]) -> SymbolTable<'static> {
        let sections = HashMap::from([(1, SECTION)]);
        SymbolTable::from_placed(symbols.iter().filter_map(|s| place(s, &sections, &Shift::none())).collect())
    }

    fn check(symbols: &[ElfSymbol<'static>], expected: &[(u64, Option<&str>)]) {
        let table = table(symbols);
        for &(address, name) in expected {
            let found = table.find(address).map(|covering| str::from_utf8(covering.name).unwrap());
            assert_eq!(found, name, "address {address}");
        }
    }

    /// Check the picture of the module: nested symbols, a gap, a function of size 0 up to its section's end.
    #[test]
    fn nested_gap_and_unsized_function() {
        check(
            &[symbol("outer", 10, 40), symbol("inner", 20, 10), symbol("zero", 60, 0)],
            &[
                (9, None),
                (10, Some("outer")),
                (19, Some("outer")),
                (20, Some("inner")),
                (29, Some("inner")),
                (30, Some("outer")),
                (49, Some("outer")),
                (50, None),
                (59, None),
                (60, Some("zero")),
                (89, Some("zero")),
                (90, None),
                (u64::MAX, None),
            ],
        );
    }

    /// Check that a function of size 0 ends at the next symbol, whatever it is, and does not come back behind it.
    #[test]
    fn unsized_function_ends_at_the_next_symbol() {
        check(
            &[
                symbol("first", 10, 0),
                symbol("second", 20, 0),
                symbol("sized", 30, 5),
                symbol("within", 32, 0),
            ],
            &[
                (19, Some("first")),
                (20, Some("second")),
                (29, Some("second")),
                (30, Some("sized")),
                (33, Some("sized")),
                (35, None),
                (89, None),
            ],
        );
    }

    /// Check that a symbol ends with its section, and that one outside of its section does not count.
    #[test]
    fn symbols_end_with_their_section() {
        check(
            &[symbol("long", 80, u64::MAX), symbol("outside", 5, 3), symbol("end", 90, 10)],
            &[(5, None), (79, None), (80, Some("long")), (89, Some("long")), (90, None)],
        );
    }

    /// Check the choice among aliases.
    #[test]
    fn best_alias_wins() {
        let local = |name| ElfSymbol { is_local: true, ..symbol(name, 20, 10) };
        let label = |name| ElfSymbol { is_function: false, ..symbol(name, 20, 10) };
        for (aliases, expected) in [
            ([symbol("__libc_malloc", 20, 10), symbol("malloc", 20, 10)], "malloc"),
            ([symbol("__write", 20, 10), symbol("write", 20, 10)], "write"),
            ([symbol("_IO_puts", 20, 10), symbol("puts", 20, 10)], "puts"),
            ([symbol("__vdso_time", 20, 10), symbol("time", 20, 10)], "__vdso_time"),
            ([local("f"), symbol("exported_name", 20, 10)], "exported_name"),
            ([label("l"), local("function")], "function"),
            ([symbol("bb", 20, 10), symbol("ba", 20, 10)], "ba"),
            ([symbol("longer", 20, 10), symbol("short", 20, 5)], "short"),
            ([symbol("unsized", 20, 0), symbol("sized_name", 20, 10)], "sized_name"),
        ] {
            check(&aliases, &[(22, Some(expected))]);
            let [a, b] = aliases;
            check(&[b, a], &[(22, Some(expected))]);
        }
    }

    /// Check that a function which one table gives a size and another none is found by its size.
    #[test]
    fn size_counts_whichever_table_gives_it() {
        for symbols in [[symbol("f", 80, 0), symbol("f", 80, 10)], [symbol("f", 80, 10), symbol("f", 80, 0)]]
        {
            assert_eq!(table(&symbols).find(85), Some(Covering { name: b"f", start: 80, is_exact: true }));
        }
    }

    /// Check that labels count as `is_function: false` symbols with a size do, and one behind another.
    #[test]
    fn sized_label_counts() {
        let label = ElfSymbol { is_function: false, ..symbol("page_fault", 40, 8) };
        check(&[symbol("f", 30, 10), label], &[(39, Some("f")), (40, Some("page_fault")), (48, None)]);
    }

    /// The rule of the module's documentation, word by word, for one address.
    fn by_the_rule(symbols: &[Placed<'static>], address: u64) -> Option<Covering<'static>> {
        let sized = symbols.iter().filter(|s| s.is_sized && s.start <= address && address < s.end);
        if let Some(best) = sized.max_by(|a, b| a.by_rank(b)) {
            return Some(best.covering());
        }
        let last = symbols.iter().map(|s| s.start).filter(|&start| start <= address).max()?;
        let covered = |start| symbols.iter().any(|s| s.is_sized && s.start <= start && start < s.end);
        let unsized_here = symbols.iter().filter(|s| !s.is_sized && s.start == last && address < s.end);
        let best = unsized_here.max_by(|a, b| a.by_rank(b))?;
        (!covered(last)).then(|| best.covering())
    }

    proptest! {
        /// Check that the sweep gives for any symbols what the rule says address by address.
        #[test]
        fn sweep_follows_the_rule(raw in prop::collection::vec((10_u64..90, 0_u64..30, 0_usize..6, any::<bool>()), 0..24)) {
            const NAMES: [&str; 6] = ["a", "b", "_c", "__d", "ee", "_ff"];
            let symbols: Vec<_> = raw
                .into_iter()
                .map(|(address, size, name, is_local)| ElfSymbol { is_local, ..symbol(NAMES[name], address, size) })
                .collect();
            let sections = HashMap::from([(1, SECTION)]);
            let placed: Vec<_> = symbols.iter().filter_map(|s| place(s, &sections, &Shift::none())).collect();
            let table = SymbolTable::from_placed(placed.clone());
            for address in 0..100 {
                prop_assert_eq!(table.find(address), by_the_rule(&placed, address), "address {}", address);
            }
        }
    }
}
