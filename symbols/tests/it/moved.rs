//! Debug files whose addresses differ from the binary's.

use crate::toolchain::{PROGRAM, Workshop, symbol};
use std::fs;
use std::path::Path;
use symbols::ModuleFile;

fn all_named(workshop: &Workshop, addresses: &[(&str, u64, u64)], case: &str) {
    let module = workshop.symbolizer().open(&ModuleFile::at(workshop.path("program"))).unwrap();
    assert_eq!(module.debug_files().used.len(), 1, "{case}");
    for &(name, address, size) in addresses {
        for address in [address, address + size - 1] {
            let lookup = module.lookup(address);
            assert_eq!(lookup.function(), Some(name), "{case} {address:#x}");
            let line = lookup.frames.last().unwrap().line;
            assert!(line.is_some_and(|line| (3..=5).contains(&line)), "{case} {address:#x} line {line:?}");
        }
        assert_eq!(module.lookup(address + 0x10_0000).function(), None, "{case}: beyond the code");
    }
}

fn addresses(path: &Path) -> Vec<(&'static str, u64, u64)> {
    let names = ["main", "global_function", "local_function"];
    names.map(|name| (name, symbol(path, name).0, symbol(path, name).1)).to_vec()
}

/// Adds to the address of the first loaded segment, and to nothing else.
fn move_first_segment(path: &Path, by: u64) {
    let mut bytes = fs::read(path).unwrap();
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let table = word(&bytes, 0x20) as usize;
    let is_load = |&header: &usize| bytes[header..header + 4] == object::elf::PT_LOAD.to_le_bytes();
    let header = (table..).step_by(56).take(16).find(is_load).unwrap();
    let moved = word(&bytes, header + 16).wrapping_add(by);
    bytes[header + 16..header + 24].copy_from_slice(&moved.to_le_bytes());
    fs::write(path, bytes).unwrap();
}

/// Check that a debug file whose first segment moved while the code stayed gives the right names: load addresses are
/// never compared.
#[test]
fn moved_first_segment_changes_nothing() {
    for flags in ["-no-pie", "-pie -fPIE", "-no-pie -Wl,-z,noseparate-code"] {
        for by in [0x1000, 0x1000_u64.wrapping_neg()] {
            let workshop = Workshop::new();
            let path = workshop.compile("program", PROGRAM, &format!("-O1 -g -Wl,--build-id {flags}"));
            let expected = addresses(&path);
            workshop.split("program");
            workshop.run("objcopy --add-gnu-debuglink=program.debug program");
            move_first_segment(&workshop.path("program.debug"), by);
            all_named(&workshop, &expected, flags);
        }
    }
}

/// Check that a binary moved as a whole, as by prelink, finds names and lines in a debug file with the old addresses.
#[test]
fn binary_moved_as_a_whole_finds_its_symbols() {
    let workshop = Workshop::new();
    let flags = "-O1 -g -no-pie -Wl,--build-id=0xaabbccddeeff0011";
    let path = workshop.compile("program", PROGRAM, &format!("{flags} -Wl,-Ttext-segment=0x10000000"));
    let expected = addresses(&path);
    workshop.run("strip --strip-all program");
    workshop.compile("original", PROGRAM, flags);
    workshop.run("objcopy --only-keep-debug original program.debug");
    workshop.run("objcopy --add-gnu-debuglink=program.debug program");
    assert_ne!(addresses(&workshop.path("original"))[0].1, expected[0].1, "the fixture has moved");
    all_named(&workshop, &expected, "moved");
}
