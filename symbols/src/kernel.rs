//! Names of the running kernel's functions, from its own table (`/proc/kallsyms`).
//!
//! ```text
//!  ffffffff81000000 T _stext
//!  ffffffff81001000 t do_one_initcall
//!  ffffffffc0201000 t nf_hook_entry   [nf_tables]
//! ```
//!
//! A name reaches up to the next one. Code begins with `t`, `T`, `w` or `W`; everything else is data. Where the kernel hides
//! its addresses (`kptr_restrict`) all of them are 0.

use crate::Reason;
use std::ops::Range;

/// Longest text that is read: the table of a kernel with everything has 30 MiB.
const LONGEST_KALLSYMS: u64 = 256 << 20;

/// A function reaches this far at most: the last one of a module has no next one that would end it.
const LONGEST_FUNCTION: u64 = 1 << 20;

/// The functions of a kernel and its modules.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    text: String,
    /// Sorted by address.
    functions: Vec<Function>,
    start: u64,
}

#[derive(Clone, Debug)]
struct Function {
    address: u64,
    /// Places in `text`.
    name: Range<u32>,
    module: Range<u32>,
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
        let mut text = String::new();
        // Half a table names half of the functions.
        let _ = std::fs::File::open("/proc/kallsyms")
            .and_then(|file| file.take(LONGEST_KALLSYMS).read_to_string(&mut text));
        KernelSymbols::parse(text)
    }

    /// Reads a table. Lines that are none are left out.
    pub fn parse(text: String) -> KernelSymbols {
        let mut symbols = KernelSymbols::default();
        let place = |part: &str| {
            let start = part.as_ptr().addr() - text.as_ptr().addr();
            start as u32..(start + part.len()) as u32
        };
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            if address == 0 || !matches!(kind, "t" | "T" | "w" | "W") {
                continue;
            }
            if name == "_stext" {
                symbols.start = address;
            }
            let module = words.next().map_or(0..0, |module| place(module.trim_matches(['[', ']'])));
            symbols.functions.push(Function { address, name: place(name), module });
        }
        // Of several names for one address the first is kept, which is the kernel's own order.
        symbols.functions.sort_by_key(|function| function.address);
        symbols.functions.dedup_by_key(|function| function.address);
        symbols.text = text;
        symbols
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
        if self.functions.is_empty() {
            return Err(Reason::KernelRestricted);
        }
        let after = self.functions.partition_point(|function| function.address <= address);
        let function = after.checked_sub(1).and_then(|before| self.functions.get(before));
        let function = function.filter(|function| address - function.address < LONGEST_FUNCTION);
        let Function { name, module, .. } = function.ok_or(Reason::NoSymbolHere)?;
        let text = |place: &Range<u32>| self.text.get(place.start as usize..place.end as usize).unwrap_or("");
        Ok(KernelFunction { name: text(name), module: text(module) })
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

    /// Check that addresses have the name that reaches to them, that data names nothing, and that modules are told.
    #[test]
    fn addresses_have_names() {
        let symbols = KernelSymbols::parse(TABLE.into());
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

    /// Check that a table whose addresses are hidden says so for each of them.
    #[test]
    fn hidden_addresses_have_a_reason() {
        for text in ["", "0000000000000000 T _stext\n0000000000000000 t other\n"] {
            let symbols = KernelSymbols::parse(text.into());
            assert_eq!(symbols.find(0xffff_ffff_8100_0000), Err(Reason::KernelRestricted));
        }
    }

    proptest! {
        /// Check that any text is a table, and any address has a name or a reason.
        #[test]
        fn any_text_is_a_table(text in "([0-9a-f]{0,17}|[tTD \n]|\\PC){0,60}", address: u64) {
            let symbols = KernelSymbols::parse(text);
            let _either = symbols.find(address);
        }
    }
}
