//! Selecting only the units of addresses that are known in advance.

use crate::hostile::deep_nesting;
use crate::toolchain::{Workshop, symbol};
use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use symbols::{Batch, Cache, Lookup, ModuleFile, Options, Source, Symbolizer};

/// A unit with two functions, one inlined into the other.
fn unit(name: &str) -> String {
    format!(
        "volatile int {name}_sink;
        static inline __attribute__((always_inline)) int {name}_inlined(int x) {{ {name}_sink = x; return {name}_sink * 3; }}
        __attribute__((noinline)) int {name}_outer(int x) {{ return {name}_inlined(x) + {name}_sink; }}
        int {name}_other(void) {{ return {name}_outer({name}_sink); }}"
    )
}

/// Looks up addresses as a recording does: all are known in advance.
fn look_up(options: Options, file: &Path, addresses: &[u64]) -> Vec<Lookup> {
    let batches = [Batch { source: Source::File(ModuleFile::at(file)), addresses: addresses.to_vec() }];
    let mut found = vec![Lookup::default(); addresses.len()];
    let Ok(()) = Symbolizer::new(options).look_up(&batches, &AtomicBool::new(false), |(_, place, lookup)| {
        found[place] = lookup;
        Ok::<(), Infallible>(())
    });
    found
}

/// Check that a few addresses get the same answers as when all units are read, with each kind of debug information,
/// even if units refer to each other, and that inflated sections from the cache give them again.
#[test]
fn selected_units_give_the_same_answers() {
    for flags in ["-g", "-gdwarf-4", "-g -gz", "-g -flto -O2", "-g -gsplit-dwarf"] {
        let workshop = Workshop::new();
        let shared = format!("-O1 -fPIC {flags}");
        for name in ["first", "second"] {
            workshop.compile(&format!("{name}.o"), &unit(name), &format!("{shared} -c"));
        }
        let link = format!("-shared -nostdlib {shared} first.o second.o");
        let path = workshop.compile("library", &unit("third"), &link);
        let ranges =
            ["first_outer", "first_other", "second_outer", "third_outer"].map(|name| symbol(&path, name));
        let mut addresses: Vec<u64> = ranges.iter().flat_map(|&(start, size)| start..start + size).collect();
        addresses.extend([0, 1, u64::MAX]);
        let whole = Symbolizer::default().open(&ModuleFile::at(&path)).unwrap();
        let all: Vec<Lookup> = addresses.iter().map(|&address| whole.lookup(address)).collect();
        assert!(all.iter().any(|lookup| lookup.frames.len() == 2), "{flags}: something is inlined");

        let cached =
            || Options { cache: Some(Cache::in_folder(workshop.path("cache"))), ..Options::default() };
        for options in [Options::default(), cached(), cached()] {
            for (&address, expected) in addresses.iter().zip(&all) {
                let found = look_up(options.clone(), &path, &[address]);
                assert_eq!(&found[0], expected, "{flags}: {address:x}");
            }
            assert_eq!(look_up(options, &path, &addresses), all, "{flags}");
        }
    }
}

/// Check that an unreadable unit does no harm to addresses in others, as long as no address in it is looked up.
#[test]
fn unreadable_units_stand_alone() {
    let workshop = Workshop::new();
    workshop.compile("bomb.o", &deep_nesting(), "-c");
    let path = workshop.compile("library", &unit("good"), "-shared -nostdlib -fPIC -O1 -g bomb.o");
    let [(good, _), (bad, _)] = ["good_outer", "function"].map(|name| symbol(&path, name));
    let lines = |addresses: &[u64]| -> Vec<bool> {
        let found = look_up(Options::default(), &path, addresses);
        found.iter().map(|lookup| lookup.frames[0].line.is_some()).collect()
    };
    assert_eq!(lines(&[good]), [true]);
    assert_eq!(lines(&[bad]), [false]);
    assert_eq!(lines(&[good, bad]), [false, false]);
}

/// Check that libc, if its debug information is installed, gives the same answers from it compressed, selected,
/// cached and whole.
#[test]
fn libc_gives_the_same_answers() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc =
        maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.contains("/libc.so"));
    let Some(libc) = libc.map(Path::new) else { return println!("skipped: no libc is mapped") };
    let whole = Symbolizer::default().open(&ModuleFile::at(libc)).unwrap();
    let addresses: Vec<u64> = (0x3_0000..0x15_0000).step_by(0x4321).collect();
    let all: Vec<Lookup> = addresses.iter().map(|&address| whole.lookup(address)).collect();
    let workshop = Workshop::new();
    let options = Options { cache: Some(Cache::in_folder(workshop.path("cache"))), ..Options::default() };
    for part in [&addresses[..20], &addresses[10..]] {
        let expected: Vec<Lookup> = part.iter().map(|&address| whole.lookup(address)).collect();
        assert_eq!(look_up(options.clone(), libc, part), expected);
    }
    assert_eq!(look_up(options, libc, &addresses), all);
}
