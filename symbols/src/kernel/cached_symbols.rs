//! The kernel's functions, kept until the next boot.
//!
//! The kernel generates its table anew for each reader, in some 25 ms. Its own functions do not move until the next
//! boot, and those of a module stay while that is loaded, so they are kept; generated code comes and goes, so the kernel
//! is asked for addresses that are in neither.
//!
//! ```text
//! version, boot id, start and end of the code, modules, functions ⏎ | table
//! ```
//!
//! The file is mapped, not read: a recording needs a few dozen of its names.

use super::modules::Modules;
use super::table::{self, Table};
use super::{Extent, KernelSymbols};
use crate::cache::Cache;
use crate::image::Image;

/// Name of the table in a cache: there is only that of the last boot.
const NAME: &str = "kernel";
/// Changes whenever tables are stored differently.
const VERSION: &str = "2";
/// Longest table that is kept: those of distributions have 3 to 5 MiB.
const LONGEST: usize = 32 << 20;

impl KernelSymbols {
    /// The cached table of the running kernel, if there is one: a partial one.
    pub fn cached(cache: &Cache) -> Option<KernelSymbols> {
        let (image, start) = cache.map(NAME)?;
        unpack(image, start, &boot_id()?, Modules::of_this_kernel())
    }

    /// Keeps the functions that do not move until the next boot, or until their module is gone.
    pub fn store(&self, cache: &Cache) {
        if let Some(bytes) = boot_id().and_then(|boot_id| self.pack(&boot_id)) {
            cache.write(NAME, &bytes);
        }
    }

    /// The functions that last; none where the table does not say where the kernel's own begin and end.
    fn pack(&self, boot_id: &str) -> Option<Vec<u8>> {
        let lasting = self.table.entries().filter(|entry| match entry.module {
            [] => (self.start..self.end).contains(&entry.address),
            module => self.modules.has(module),
        });
        let (table, count) = table::bytes(lasting);
        let modules = self.modules.fingerprint();
        let head = format!("{VERSION} {boot_id} {:x} {:x} {modules:x} {count:x}\n", self.start, self.end);
        let bytes = [head.as_bytes(), &table].concat();
        let is_kept = self.start != 0 && self.end > self.start && bytes.len() < LONGEST;
        is_kept.then_some(bytes)
    }
}

/// The kernel's boot id.
fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// The table that begins there, if it is of this boot.
fn unpack(image: Image, start: usize, boot_id: &str, modules: Modules) -> Option<KernelSymbols> {
    let rest = image.bytes().get(start..).filter(|rest| rest.len() <= LONGEST)?;
    let head = rest.iter().position(|&byte| byte == b'\n')?;
    let mut words = std::str::from_utf8(&rest[..head]).ok()?.split(' ');
    if words.next()? != VERSION || words.next()? != boot_id {
        return None;
    }
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let (first, end, stored, count) = (number()?, number()?, number()?, number()?);
    let extent = if stored == modules.fingerprint() { Extent::Lasting } else { Extent::Own };
    let table = Table::within(image, start + head + 1, usize::try_from(count).ok()?)?;
    Some(KernelSymbols { table, modules, start: first, end, extent })
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
ffffffffc0200040 t last_function\t[a_module]
ffffffffc0200080 t bpf_prog\t[bpf]
";
    const MODULES: &str = "a_module 4096 0 - Live 0xffffffffc0200000\n";

    fn fresh() -> KernelSymbols {
        KernelSymbols::parse(TABLE, MODULES)
    }

    fn kept(bytes: Vec<u8>, boot_id: &str, modules: &str) -> Option<KernelSymbols> {
        unpack(Image::Owned(bytes), 0, boot_id, Modules::parse(modules))
    }

    /// Check that the functions of the kernel and of a loaded module come back, and no others: where a module ends is
    /// not known, and its place may have become another's.
    #[test]
    fn lasting_functions_are_kept() {
        let fresh = fresh();
        let bytes = fresh.pack("boot").unwrap();
        let kept_now = kept(bytes.clone(), "boot", MODULES).unwrap();
        let kept_before = kept(bytes, "boot", "other 4096 0 - Live 0xffffffffc0200000\n").unwrap();
        assert_eq!([&fresh, &kept_now, &kept_before].map(KernelSymbols::is_partial), [false, true, true]);
        assert_eq!([&fresh, &kept_now, &kept_before].map(KernelSymbols::is_outdated), [false, false, true]);
        for offset in [0, 0x3f, 0x40, 0x7f] {
            let address = fresh.start() + offset;
            let found = fresh.find(address);
            assert!(found.is_ok(), "{address:x}");
            assert_eq!((kept_now.find(address), kept_before.find(address)), (found, found), "{address:x}");
        }
        let module =
            KernelFunction { name: "module_function", module: "a_module", base: 0xffff_ffff_c020_0000 };
        for address in [0xffff_ffff_c020_0000, 0xffff_ffff_c020_003f] {
            assert_eq!(
                (fresh.find(address), kept_now.find(address)),
                (Ok(module), Ok(module)),
                "{address:x}"
            );
            assert_eq!(kept_before.find(address), Err(Reason::NoSymbolHere), "{address:x}");
        }
        let not_kept =
            [0xffff_ffff_8100_0080, 0xffff_ffff_80ff_ffff, 0xffff_ffff_c020_0040, 0xffff_ffff_c020_0080];
        for address in not_kept {
            assert_eq!(kept_now.find(address), Err(Reason::NoSymbolHere), "{address:x}");
        }
        assert_eq!(fresh.find(0xffff_ffff_c020_0080).map(|function| function.name), Ok("bpf_prog"));
    }

    /// Check that a table is trusted until the next boot, and that one with hidden addresses is not kept.
    #[test]
    fn tables_are_of_one_boot() {
        let packed = fresh().pack("boot").unwrap();
        assert!(kept(packed.clone(), "boot", MODULES).is_some());
        assert!(kept(packed.clone(), "other", MODULES).is_none() && kept(packed, "boo", MODULES).is_none());
        for hidden in ["", "0000000000000000 T _stext\n0000000000000000 T _etext\n"] {
            assert_eq!(KernelSymbols::parse(hidden.as_bytes(), "").pack("boot"), None);
        }
    }

    /// Check that a stored table is used as it lies in the file.
    #[test]
    fn tables_are_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path());
        assert!(KernelSymbols::cached(&cache).is_none());
        let own = KernelSymbols::of_this_kernel();
        own.store(&cache);
        let Some(cached) = KernelSymbols::cached(&cache) else {
            assert!(own.find(u64::MAX).is_err(), "the kernel hides its addresses");
            return;
        };
        assert_eq!(cached.find(own.start()), own.find(own.start()));
    }

    proptest! {
        /// Check that anything gives names or reasons.
        #[test]
        fn anything_gives_names_or_reasons(noise: Vec<u8>, count in 0_u64..9, address: u64) {
            let modules = Modules::parse(MODULES).fingerprint();
            let head = format!("{VERSION} boot 1 ffffffffffffffff {modules:x} {count:x}\n").into_bytes();
            let _either = kept([head, noise].concat(), "boot", MODULES).map(|table| table.find(address).is_ok());
        }
    }
}
