//! The kernel's own functions, kept until the next boot.
//!
//! The kernel generates its table anew for each reader, in some 25 ms. Its own functions do not move until the next
//! boot, so they are kept; functions of modules, and generated code, come and go, so the kernel is asked for
//! addresses that are not its own.
//!
//! ```text
//! CRC-32 of the rest, 4 bytes | boot id, start and end of the code ⏎ | lines of functions
//! ```

use super::{KernelSymbols, Line};
use crate::cache::Cache;

/// Name of the table in a cache: there is only that of the last boot.
const NAME: &str = "kernel";
/// Longest table that is kept: those of distributions have 5 to 10 MiB.
const LONGEST: usize = 32 << 20;

impl KernelSymbols {
    /// The cached table of the running kernel, if there is one: a partial one.
    pub fn cached(cache: &Cache) -> Option<KernelSymbols> {
        unpack(cache.read(NAME, LONGEST)?, &boot_id()?)
    }

    /// Keeps the functions that do not move until the next boot.
    pub fn store(&self, cache: &Cache) {
        if let Some(bytes) = boot_id().and_then(|boot_id| self.pack(&boot_id)) {
            cache.write(NAME, &bytes);
        }
    }

    /// The kernel's own functions; none where the table does not say where they end.
    fn pack(&self, boot_id: &str) -> Option<Vec<u8>> {
        let lines = || self.lines.split_inclusive(|&byte| byte == b'\n').filter_map(Line::read);
        let end = lines().find(|line| line.name() == b"_etext")?.address;
        let own =
            lines().filter(|line| (self.start..end).contains(&line.address) && line.module().is_empty());
        let mut bytes = format!("{boot_id} {:x} {end:x}\n", self.start).into_bytes();
        own.for_each(|line| bytes.extend_from_slice(line.whole));
        let is_kept = self.start != 0 && bytes.len() < LONGEST;
        is_kept.then(|| [&crc32fast::hash(&bytes).to_le_bytes(), &bytes[..]].concat())
    }
}

/// The kernel's boot id.
fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// The table in a file, if it is intact and of this boot.
fn unpack(mut bytes: Vec<u8>, boot_id: &str) -> Option<KernelSymbols> {
    let (checksum, rest) = bytes.split_first_chunk()?;
    if crc32fast::hash(rest) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let head = rest.iter().position(|&byte| byte == b'\n')?;
    let words = std::str::from_utf8(&rest[..head]).ok()?.strip_prefix(boot_id)?;
    let (start, end) = words.strip_prefix(' ')?.split_once(' ')?;
    let number = |digits| u64::from_str_radix(digits, 16).ok().filter(|&address| address != 0);
    let (start, partial_end) = (number(start)?, number(end)?);
    let lines = bytes.split_off(checksum.len() + head + 1);
    Some(KernelSymbols { lines, start, partial_end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KernelFunction, Reason};
    use proptest::prelude::*;

    const TABLE: &[u8] = b"\
ffffffff81000000 T _stext
ffffffff81000040 t inner
ffffffff81000080 T _etext
ffffffff81000080 T behind
ffffffffc0200000 t module_function\t[a_module]
";

    /// Check that the kernel's own functions come back, and that a kept table knows it is partial.
    #[test]
    fn own_functions_are_kept() {
        let fresh = KernelSymbols::parse(TABLE);
        let kept = unpack(fresh.pack("boot").unwrap(), "boot").unwrap();
        assert_eq!((fresh.is_partial(), kept.is_partial()), (false, true));
        assert_eq!(kept.start(), fresh.start());
        for offset in [0, 0x3f, 0x40, 0x7f] {
            let address = fresh.start() + offset;
            assert_eq!(kept.find(address), fresh.find(address), "{address:x}");
        }
        for address in [0xffff_ffff_8100_0080, 0xffff_ffff_c020_0000, 0xffff_ffff_80ff_ffff] {
            assert_eq!(kept.find(address), Err(Reason::NoSymbolHere), "{address:x}");
        }
        let hook = KernelFunction { name: "module_function", module: "a_module" };
        assert_eq!(fresh.find(0xffff_ffff_c020_0000), Ok(hook));
    }

    /// Check that a table is trusted until the next boot, and that one with hidden addresses is not kept.
    #[test]
    fn tables_are_of_one_boot() {
        let packed = KernelSymbols::parse(TABLE).pack("boot").unwrap();
        assert!(unpack(packed.clone(), "boot").is_some());
        assert!(unpack(packed.clone(), "other").is_none() && unpack(packed, "boo").is_none());
        for hidden in ["", "0000000000000000 T _stext\n0000000000000000 T _etext\n"] {
            assert_eq!(KernelSymbols::parse(hidden.as_bytes()).pack("boot"), None);
        }
    }

    proptest! {
        /// Check that damaged files are refused, and that anything with a valid checksum gives names or reasons.
        #[test]
        fn damaged_files_are_no_tables(at: prop::sample::Index, flip in 1_u8.., noise in "[0-9a-f \nT]{0,60}", address: u64) {
            let whole = KernelSymbols::parse(TABLE).pack("boot").unwrap();
            let mut damaged = whole.clone();
            damaged[at.index(whole.len())] ^= flip;
            prop_assert!(unpack(damaged, "boot").is_none());
            let text = format!("boot 1 ffffffffffffffff\n{noise}");
            let sealed = [&crc32fast::hash(text.as_bytes()).to_le_bytes(), text.as_bytes()].concat();
            let _either = unpack(sealed, "boot").map(|table| table.find(address).is_ok());
        }
    }
}
