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
mod line;
mod modules;
mod table;

use crate::reason::Reason;
use line::Line;
use modules::Modules;
use table::{Entry, Table};

/// Longest text that is read: a kernel with everything has a table of 30 MiB.
const LONGEST_KALLSYMS: u64 = 256 << 20;

/// Longest reach of a function: no symbol ends the last one of a module.
const LONGEST_FUNCTION: u64 = 1 << 20;

/// The functions of a kernel and its modules.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    table: Table,
    modules: Modules,
    /// Where the kernel's own code begins and ends, 0 where that is not known.
    start: u64,
    end: u64,
    extent: Extent,
}

/// What a table has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Extent {
    /// All functions of the moment when it was read.
    #[default]
    All,
    /// Those of the kernel itself and of the modules that are loaded, but no generated code.
    Lasting,
    /// Those of the kernel itself: other modules are loaded than those that it has.
    Own,
}

/// A function of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelFunction<'a> {
    /// Its name.
    pub name: &'a str,
    /// The module that it is in, empty for the kernel itself.
    pub module: &'a str,
    /// Where that, or the kernel's code, begins; 0 where that is not known.
    pub base: u64,
}

impl KernelSymbols {
    /// Reads the table of the running kernel.
    pub fn of_this_kernel() -> KernelSymbols {
        use std::io::Read;
        // Modules first: functions of one that comes in between count as generated.
        let modules = Modules::of_this_kernel();
        let mut text = Vec::new();
        // If reading fails half-way, the functions read so far have names.
        let _ = std::fs::File::open("/proc/kallsyms")
            .and_then(|file| file.take(LONGEST_KALLSYMS).read_to_end(&mut text));
        KernelSymbols::new(&text, modules)
    }

    /// Parses a table, and a list of modules as in `/proc/modules`; malformed lines are skipped.
    pub fn parse(text: &[u8], modules: &str) -> KernelSymbols {
        KernelSymbols::new(text, Modules::parse(modules))
    }

    fn new(text: &[u8], modules: Modules) -> KernelSymbols {
        let lines = text.split(|&byte| byte == b'\n').filter_map(Line::read);
        let mut functions: Vec<Line<'_>> = lines.filter(|line| line.address != 0).collect();
        let address = |line: Option<&Line<'_>>| line.map_or(0, |line| line.address);
        let start = address(functions.iter().rev().find(|line| line.name == b"_stext"));
        let end = address(functions.iter().find(|line| line.name == b"_etext"));
        // Of several names for one address, the first in the kernel's order is kept.
        functions.sort_by_key(|line| line.address);
        functions.dedup_by_key(|line| line.address);
        let entries = functions.iter().map(|line| Entry {
            address: line.address,
            name: line.name,
            module: line.module,
        });
        KernelSymbols { table: Table::of(entries), modules, start, end, extent: Extent::All }
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
        if self.table.is_empty() {
            return Err(Reason::KernelRestricted);
        }
        let after = self.table.after(address);
        let entry = after.checked_sub(1).and_then(|last| self.table.get(last)).ok_or(Reason::NoSymbolHere)?;
        if address - entry.address >= LONGEST_FUNCTION || !self.knows(address, &entry, after) {
            return Err(Reason::NoSymbolHere);
        }
        let text = |bytes| std::str::from_utf8(bytes).unwrap_or("");
        let (name, module) = (text(entry.name), text(entry.module));
        let base = if module.is_empty() { self.start } else { self.modules.base(module) };
        Ok(KernelFunction { name, module, base })
    }

    /// Whether an address is in code that the table has, where it has not all: in the kernel's own, or between two
    /// functions of a module, since no generated code is in between. `after` is the index of the next function.
    fn knows(&self, address: u64, last: &Entry<'_>, after: usize) -> bool {
        let is_own = (self.start..self.end).contains(&address) && last.module.is_empty();
        match self.extent {
            Extent::All => true,
            Extent::Own => is_own,
            Extent::Lasting => {
                let is_within = || self.table.get(after).is_some_and(|next| next.module == last.module);
                is_own || (!last.module.is_empty() && is_within())
            }
        }
    }

    /// Gives back the memory of a cached table until the next look-up.
    pub fn release(&self) {
        self.table.release();
    }

    /// Whether the table has only what lasts, and other code must be looked up elsewhere.
    pub fn is_partial(&self) -> bool {
        self.extent != Extent::All
    }

    /// Whether modules came or went since it was stored.
    pub fn is_outdated(&self) -> bool {
        self.extent == Extent::Own
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

    fn parse(text: &str) -> KernelSymbols {
        KernelSymbols::parse(text.as_bytes(), "a_module 4096 0 - Live 0xffffffffc0100000\n")
    }

    /// Check that addresses have the name of the function that covers them, that data names nothing, and that modules
    /// are reported.
    #[test]
    fn addresses_have_names() {
        let symbols = parse(TABLE);
        assert_eq!(symbols.start(), 0xffff_ffff_8100_0000);
        for (address, expected) in [
            (0xffff_ffff_8100_0000, Ok(("startup_64", "", 0xffff_ffff_8100_0000))),
            (0xffff_ffff_8100_003f, Ok(("startup_64", "", 0xffff_ffff_8100_0000))),
            (0xffff_ffff_8100_0090, Ok(("inner", "", 0xffff_ffff_8100_0000))),
            (0xffff_ffff_c020_0001, Ok(("module_function", "a_module", 0xffff_ffff_c010_0000))),
            (0xffff_ffff_c030_0000, Err(Reason::NoSymbolHere)),
            (0xffff_ffff_8000_0000, Err(Reason::NoSymbolHere)),
        ] {
            let found = symbols.find(address).map(|function| (function.name, function.module, function.base));
            assert_eq!(found, expected, "{address:x}");
        }
    }

    /// Check that a table with hidden addresses gives that reason for each of them.
    #[test]
    fn hidden_addresses_have_a_reason() {
        for text in ["", "0000000000000000 T _stext\n0000000000000000 t other\n"] {
            assert_eq!(parse(text).find(0xffff_ffff_8100_0000), Err(Reason::KernelRestricted));
        }
    }

    proptest! {
        /// Check that any text is a table, and any address has a name or a reason.
        #[test]
        fn any_text_is_a_table(text in "([0-9a-f]{0,17}|[tTD \n]|\\PC){0,60}", address: u64) {
            let _either = parse(&text).find(address);
        }

        /// Check that searching the table finds for each address what looking at all lines does.
        #[test]
        fn search_finds_the_last_line(mut starts in prop::collection::vec(1_u64..5000, 1..60), wanted in 0_u64..5100) {
            let line = |start: &u64| format!("{start:x} t f{start}{}\n", "x".repeat((start % 40) as usize));
            let text: String = starts.iter().map(line).collect();
            let symbols = parse(&text);
            starts.sort_unstable();
            let last = starts.iter().rev().find(|start| **start <= wanted).map(line);
            let found = symbols.find(wanted).ok().map(|function| function.name.to_owned());
            prop_assert_eq!(found, last.map(|line| line.split(' ').next_back().unwrap_or("").trim().to_owned()));
        }
    }
}
