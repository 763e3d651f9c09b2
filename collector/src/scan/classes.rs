//! Determines the classes of C++ objects from their memory layout in the Itanium ABI.
//!
//! ```text
//!  object          table of virtual functions        type_info             that is a class of the ABI itself:
//!  ┌────────┐      ┌───────────────────────┐         ┌─────────────┐
//!  │ table ─┼──┐   │ 0: it is the object   │     ┌─► │ table ──────┼──► …, type_info ──► name: N10__cxxabiv1…
//!  │ …      │  │   │ type_info ────────────┼─────┘   │ name ───────┼──► "4Leaf"
//!  └────────┘  └─► │ first function        │         └─────────────┘
//!                  └───────────────────────┘
//! ```
//!
//! None of this needs symbols, so it works in stripped programs, too, unless they are compiled with `-fno-rtti`. If
//! the first number is not 0, the table is that of a subobject.

use super::reading::Copier;
use std::collections::HashMap;

/// Most distinct addresses that are looked up; further ones have no class.
const MOST: usize = 1 << 16;
/// Most bytes of a name.
const LONGEST: usize = 4096;
/// Prefix of the names of the classes with which the ABI itself describes classes.
const ABI: &str = "N10__cxxabiv1";
/// Answers in a direct-mapped cache.
const RECENT: usize = 256;

/// The classes of a stopped process, by address of their virtual tables.
#[derive(Debug)]
pub(super) struct Classes {
    memory: Copier,
    /// The class number for each address that was looked up.
    known: HashMap<u64, Option<u32>>,
    /// The most recent of these.
    recent: Vec<(u64, Option<u32>)>,
    /// The mangled name of each class.
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Classes {
    pub(super) fn of_process(pid: u32) -> Classes {
        let recent = vec![(0, None); RECENT];
        let (known, numbers) = (HashMap::with_capacity(MOST), HashMap::new());
        Classes { memory: Copier::of(pid), known, recent, names: Vec::new(), numbers }
    }

    /// The number of the class whose objects begin with this address.
    // Cost: a load and a comparison, mostly; some microseconds the first time.
    pub(super) fn of(&mut self, table: u64) -> Option<u32> {
        let place = (table.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % RECENT;
        if let Some((_, class)) = self.recent.get(place).filter(|(last, _)| *last == table) {
            return *class;
        }
        let class = match self.known.get(&table) {
            Some(class) => *class,
            None if self.known.len() < MOST => {
                let class = self.look_up(table);
                self.known.insert(table, class);
                class
            }
            None => None,
        };
        self.recent[place] = (table, class);
        class
    }

    /// The readable names of the classes, by number.
    pub(super) fn into_names(self) -> Vec<String> {
        self.names.iter().map(|name| readable(name)).collect()
    }

    fn look_up(&mut self, table: u64) -> Option<u32> {
        let type_info = self.type_info(table)?;
        // It has to be a class's type_info, which itself is an object of one of the ABI's classes.
        let own = self.memory.word(type_info)?;
        let of_own = self.type_info(own)?;
        if !self.name(of_own)?.starts_with(ABI) {
            return None;
        }
        let name = self.name(type_info)?;
        if let Some(number) = self.numbers.get(&name) {
            return Some(*number);
        }
        let number = self.names.len() as u32;
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        Some(number)
    }

    /// Where the `type_info` of a virtual table lies, if the table is that of complete objects.
    fn type_info(&self, table: u64) -> Option<u64> {
        let is_aligned = |address: u64| address != 0 && address.is_multiple_of(8);
        let of_part = self.memory.word(table.checked_sub(16).filter(|_| is_aligned(table))?)?;
        let type_info = self.memory.word(table - 8)?;
        (of_part == 0 && is_aligned(type_info)).then_some(type_info)
    }

    /// The name in a `type_info`.
    fn name(&self, type_info: u64) -> Option<String> {
        let name = self.memory.word(type_info.checked_add(8)?)?;
        let mut bytes = vec![0; LONGEST];
        let length = self.memory.bytes(name, &mut bytes);
        let end = bytes.get(..length)?.iter().position(|byte| *byte == 0)?;
        bytes.truncate(end);
        let text = String::from_utf8(bytes).ok()?;
        // Marks the name of a class that is local to its file.
        let text = text.strip_prefix('*').unwrap_or(&text);
        let is_name = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$.".contains(&byte));
        (is_name && !text.is_empty()).then(|| text.to_owned())
    }
}

/// The name of a class as it is written in source code.
fn readable(name: &str) -> String {
    let demangled = symbols::demangle(&format!("_ZTS{name}"));
    demangled.strip_prefix("typeinfo name for ").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that names are made readable, and that text that is not a mangled name stays as it is.
    #[test]
    fn names_of_classes_are_readable() {
        let cases = [
            ("4Leaf", "Leaf"),
            ("N12_GLOBAL__N_13FooE", "(anonymous namespace)::Foo"),
            ("3BoxIiE", "Box<int>"),
            (
                "NSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEE",
                "std::__cxx11::basic_stringstream<char, std::char_traits<char>, std::allocator<char> >",
            ),
            ("!", "!"),
        ];
        for (name, expected) in cases {
            assert_eq!(readable(name), expected);
        }
    }

    /// A virtual table and what it refers to, laid out in this process.
    struct Made {
        table: Vec<u64>,
        info: Vec<u64>,
        name: &'static [u8],
    }

    fn address<T>(of: &[T]) -> u64 {
        of.as_ptr().expose_provenance() as u64
    }

    impl Made {
        fn new(name: &'static [u8], of_info: u64, of_part: u64) -> Made {
            let info = vec![of_info, address(name)];
            Made { table: vec![of_part, address(&info), 0], info, name }
        }

        fn table(&self) -> u64 {
            address(&self.table) + 16
        }
    }

    /// Check that a table leads to a name only by way of the ABI's own classes, and that tables of subobjects and
    /// other memory have no class.
    #[test]
    fn tables_lead_to_names() {
        let abi = Made::new(b"N10__cxxabiv117__class_type_infoE\0", 0, 0);
        let leaf = Made::new(b"4Leaf\0", abi.table(), 0);
        let hidden = Made::new(b"*4Leaf\0", abi.table(), 0);
        let part = Made::new(b"4Part\0", abi.table(), 16_u64.wrapping_neg());
        let other = Made::new(b"5Other\0", leaf.table(), 0);
        let odd = Made::new(b"no name\0", abi.table(), 0);
        let mut classes = Classes::of_process(std::process::id());
        let found = [&leaf, &hidden, &leaf, &part, &other, &odd, &abi].map(|made| classes.of(made.table()));
        assert_eq!(found, [Some(0), Some(0), Some(0), None, None, None, None]);
        assert_eq!([0, 8, 16, 3, u64::MAX, leaf.table() + 8].map(|table| classes.of(table)), [None; 6]);
        assert_eq!(classes.into_names(), ["Leaf"]);
        assert!(leaf.info.len() == 2 && leaf.name.len() == 6);
    }
}
