//! Names of the running kernel's functions, from its own table (`/proc/kallsyms`).
//!
//! ```text
//!  ffffffff81000000 T _stext
//!  ffffffff81001000 t do_one_initcall
//!  ffffffffc0201000 t nf_hook_entry   [nf_tables]
//! ```
//!
//! A function extends to the next symbol. Code has the type `t`, `T`, `w` or `W`; everything else is data. Where the
//! kernel hides its addresses (`kptr_restrict`), all of them are 0.

mod cached_symbols;

use crate::reason::Reason;

/// Longest text that is read: a kernel with everything has a table of 30 MiB.
const LONGEST_KALLSYMS: u64 = 256 << 20;

/// Longest reach of a function: no symbol ends the last one of a module.
const LONGEST_FUNCTION: u64 = 1 << 20;

/// The functions of a kernel and its modules.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    /// The kernel's lines for functions, one per address, sorted by address.
    lines: Vec<u8>,
    start: u64,
    /// End of the known part, if only functions from the start to here are known; 0 if all are.
    partial_end: u64,
}

/// A function of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelFunction<'a> {
    /// Its name.
    pub name: &'a str,
    /// The module that it is in, empty for the kernel itself.
    pub module: &'a str,
}

impl KernelSymbols {
    /// Reads the table of the running kernel.
    pub fn of_this_kernel() -> KernelSymbols {
        use std::io::Read;
        let mut text = Vec::new();
        // If reading fails half-way, the functions read so far have names.
        let _ = std::fs::File::open("/proc/kallsyms")
            .and_then(|file| file.take(LONGEST_KALLSYMS).read_to_end(&mut text));
        KernelSymbols::parse(&text)
    }

    /// Parses a table; malformed lines are skipped.
    pub fn parse(text: &[u8]) -> KernelSymbols {
        let lines = text.split_inclusive(|&byte| byte == b'\n').filter_map(Line::read);
        let mut functions: Vec<Line<'_>> = lines.filter(|line| line.address != 0 && line.is_code()).collect();
        let start =
            functions.iter().rev().find(|line| line.name() == b"_stext").map_or(0, |line| line.address);
        // Of several names for one address, the first in the kernel's order is kept.
        functions.sort_by_key(|line| line.address);
        functions.dedup_by_key(|line| line.address);
        let mut lines = Vec::with_capacity(text.len());
        for line in functions {
            lines.extend_from_slice(line.whole.trim_ascii_end());
            lines.push(b'\n');
        }
        lines.shrink_to_fit();
        KernelSymbols { lines, start, partial_end: 0 }
    }

    /// Where the kernel's code begins, 0 where that is not known.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The function that contains an address.
    ///
    /// # Errors
    /// Why there is none.
    pub fn find(&self, address: u64) -> Result<KernelFunction<'_>, Reason> {
        if self.lines.is_empty() {
            return Err(Reason::KernelRestricted);
        }
        if self.is_partial() && !(self.start..self.partial_end).contains(&address) {
            return Err(Reason::NoSymbolHere);
        }
        let line = self.last_line_until(address).ok_or(Reason::NoSymbolHere)?;
        if address - line.address >= LONGEST_FUNCTION {
            return Err(Reason::NoSymbolHere);
        }
        let text = |bytes| std::str::from_utf8(bytes).unwrap_or("");
        Ok(KernelFunction { name: text(line.name()), module: text(line.module()) })
    }

    /// Whether the table has only the kernel itself, and modules must be looked up elsewhere.
    pub fn is_partial(&self) -> bool {
        self.partial_end != 0
    }

    /// The last line whose address is not above this one. The lines are not indexed: hardly any of them is ever
    /// needed.
    ///
    /// ```text
    /// ffffffff81000000 T _stext ⏎ ffffffff81001000 t do_one_initcall ⏎ ffffffff81001400 t …
    ///                             begin ◄───────────────── middle
    /// ```
    fn last_line_until(&self, address: u64) -> Option<Line<'_>> {
        let (mut low, mut high, mut found) = (0, self.lines.len(), None);
        while low < high {
            let middle = low + (high - low) / 2;
            let is_end = |byte: &u8| *byte == b'\n';
            let begin = self.lines[low..middle].iter().rposition(is_end).map_or(low, |end| low + end + 1);
            let end =
                self.lines[middle..].iter().position(is_end).map_or(self.lines.len(), |end| middle + end + 1);
            match Line::read(&self.lines[begin..end]).filter(|line| line.address <= address) {
                Some(line) => (found, low) = (Some(line), end),
                None => high = begin,
            }
        }
        found
    }
}

/// A line of the table.
#[derive(Clone, Copy)]
struct Line<'a> {
    address: u64,
    whole: &'a [u8],
}

impl<'a> Line<'a> {
    fn read(whole: &'a [u8]) -> Option<Line<'a>> {
        let mut line = Line { address: 0, whole };
        let digits = line.word(0);
        line.address = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        (!line.name().is_empty()).then_some(line)
    }

    fn is_code(&self) -> bool {
        matches!(self.word(1), b"t" | b"T" | b"w" | b"W")
    }

    fn name(&self) -> &'a [u8] {
        self.word(2)
    }

    /// Empty for the kernel itself.
    fn module(&self) -> &'a [u8] {
        let word = self.word(3);
        word.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]")).unwrap_or(word)
    }

    fn word(&self, place: usize) -> &'a [u8] {
        let words = self.whole.split(u8::is_ascii_whitespace);
        words.filter(|word| !word.is_empty()).nth(place).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T startup_64
ffffffff81000000 T _stext
ffffffff81000040 t inner\n\
not a line
ffffffff81000080 D data
ffffffffc0200000 t module_function\t[a_module]
";

    /// Check that addresses have the name of the function that covers them, that data names nothing, and that modules
    /// are reported.
    #[test]
    fn addresses_have_names() {
        let symbols = KernelSymbols::parse(TABLE.as_bytes());
        assert_eq!(symbols.start(), 0xffff_ffff_8100_0000);
        for (address, expected) in [
            (0xffff_ffff_8100_0000, Ok(("startup_64", ""))),
            (0xffff_ffff_8100_003f, Ok(("startup_64", ""))),
            (0xffff_ffff_8100_0090, Ok(("inner", ""))),
            (0xffff_ffff_c020_0001, Ok(("module_function", "a_module"))),
            (0xffff_ffff_c030_0000, Err(Reason::NoSymbolHere)),
            (0xffff_ffff_8000_0000, Err(Reason::NoSymbolHere)),
        ] {
            let found = symbols.find(address).map(|function| (function.name, function.module));
            assert_eq!(found, expected, "{address:x}");
        }
    }

    /// Check that a table with hidden addresses gives that reason for each of them.
    #[test]
    fn hidden_addresses_have_a_reason() {
        for text in ["", "0000000000000000 T _stext\n0000000000000000 t other\n"] {
            let symbols = KernelSymbols::parse(text.as_bytes());
            assert_eq!(symbols.find(0xffff_ffff_8100_0000), Err(Reason::KernelRestricted));
        }
    }

    proptest! {
        /// Check that any text is a table, and any address has a name or a reason.
        #[test]
        fn any_text_is_a_table(text in "([0-9a-f]{0,17}|[tTD \n]|\\PC){0,60}", address: u64) {
            let symbols = KernelSymbols::parse(text.as_bytes());
            let _either = symbols.find(address);
        }

        /// Check that searching the lines finds for each address what looking at all of them does.
        #[test]
        fn search_finds_the_last_line(mut starts in prop::collection::vec(1_u64..5000, 1..60), wanted in 0_u64..5100) {
            let line = |start: &u64| format!("{start:x} t f{start}{}\n", "x".repeat((start % 40) as usize));
            let text: String = starts.iter().map(line).collect();
            let symbols = KernelSymbols::parse(text.as_bytes());
            starts.sort_unstable();
            let last = starts.iter().rev().find(|start| **start <= wanted).map(line);
            let found = symbols.find(wanted).ok().map(|function| function.name.to_owned());
            prop_assert_eq!(found, last.map(|line| line.split(' ').next_back().unwrap_or("").trim().to_owned()));
        }
    }
}
