//! The loaded modules, as `/proc/modules` lists them.
//!
//! ```text
//!  nf_tables 311296 0 - Live 0xffffffffc0201000
//!  name      bytes  users    address
//! ```

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// The modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Modules(Vec<Module>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Module {
    name: String,
    bytes: u64,
    address: u64,
}

impl Modules {
    /// Those of the running kernel; none where they are hidden.
    pub(super) fn of_this_kernel() -> Modules {
        Modules::parse(&std::fs::read_to_string("/proc/modules").unwrap_or_default())
    }

    /// Reads a list.
    pub(super) fn parse(text: &str) -> Modules {
        let module = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let (name, bytes) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
            let address = words.find_map(|word| word.strip_prefix("0x"))?;
            Some(Module { name, bytes, address: u64::from_str_radix(address, 16).ok()? })
        };
        Modules(text.lines().filter_map(module).collect())
    }

    /// Where a module begins, 0 where that is not known.
    pub(super) fn base(&self, name: &str) -> u64 {
        self.0.iter().find(|module| module.name == name).map_or(0, |module| module.address)
    }

    /// Whether a module of this name is loaded.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.0.iter().any(|module| module.name.as_bytes() == name)
    }

    /// Tells these modules from others, and from the same at other addresses.
    pub(super) fn fingerprint(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that users come and go without making other modules, and that a place makes another.
    #[test]
    fn modules_are_told_apart() {
        let modules = |text| Modules::parse(text).fingerprint();
        let before = modules("a 4096 0 - Live 0xffffffffc0200000\nb 4096 1 a, Live 0xffffffffc0300000 (E)\n");
        assert_eq!(
            modules("a 4096 3 b, Live 0xffffffffc0200000\nb 4096 0 - Live 0xffffffffc0300000\n"),
            before
        );
        for other in [
            "a 4096 0 - Live 0xffffffffc0200000\n",
            "a 4096 0 - Live 0xffffffffc0300000\nb 4096 0 - Live 0xffffffffc0200000\n",
            "a 8192 0 - Live 0xffffffffc0200000\nb 4096 0 - Live 0xffffffffc0300000\n",
            "",
        ] {
            assert_ne!(modules(other), before, "{other}");
        }
    }
}
