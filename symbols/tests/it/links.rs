//! Debug files that lead to further files.

use crate::toolchain::{PROGRAM, Workshop, build_id, section, symbol};
use std::fs;
use symbols::ModuleFile;

/// Builds `a`, `b` and `c` from one link: `c` has all symbols, `a` and `b` are stripped to `kept`.
fn three_files(workshop: &Workshop, kept: &str) -> u64 {
    let path = workshop.compile("c", PROGRAM, "-O1 -g -Wl,--build-id");
    for name in ["a", "b"] {
        fs::copy(&path, workshop.path(name)).unwrap();
        workshop.run(&format!("strip {kept} {name}"));
    }
    symbol(&path, "local_function").0
}

fn link(workshop: &Workshop, from: &str, to: &str) {
    workshop.run(&format!("objcopy --add-gnu-debuglink={to} {from}"));
}

/// Check that a chain of links is followed to the file that has the symbols.
#[test]
fn chain_is_followed_to_its_end() {
    let workshop = Workshop::new();
    let address = three_files(&workshop, "--strip-all");
    link(&workshop, "b", "c");
    link(&workshop, "a", "b");
    let module = workshop.symbolizer().open(&ModuleFile::at(workshop.path("a"))).unwrap();
    assert_eq!(module.debug_files().used, [workshop.path("b"), workshop.path("c")]);
    let lookup = module.lookup(address);
    assert_eq!((lookup.function(), lookup.frames[0].line), (Some("local_function"), Some(3)));
}

/// Check that a cycle of two, and a link to itself, end, and that the symbols at hand are kept.
#[test]
fn cycles_end_and_keep_their_symbols() {
    let workshop = Workshop::new();
    let address = three_files(&workshop, "--strip-debug");
    link(&workshop, "a", "b");
    link(&workshop, "b", "a");
    assert_eq!(workshop.function("a", address).as_deref(), Ok("local_function"));

    let alone = Workshop::new();
    let address = three_files(&alone, "--strip-debug");
    link(&alone, "a", "a");
    let module = alone.symbolizer().open(&ModuleFile::at(alone.path("a"))).unwrap();
    assert_eq!(module.lookup(address).function(), Some("local_function"));
    assert!(module.debug_files().used.is_empty());
}

/// A function whose name is only in an alternate file: `DW_TAG_subprogram` with a `DW_FORM_GNU_strp_alt`.
const WITH_ALTERNATE: &str = "
    .text
.Lbegin:
    .fill 16, 1, 0x90
.Lend:
    .section .debug_abbrev, \"\", @progbits
    .uleb128 1, 0x11            # DW_TAG_compile_unit, with children
    .byte 1
    .uleb128 0x11, 0x01         # DW_AT_low_pc, DW_FORM_addr
    .uleb128 0x12, 0x07         # DW_AT_high_pc, DW_FORM_data8
    .uleb128 0, 0
    .uleb128 2, 0x2e            # DW_TAG_subprogram
    .byte 0
    .uleb128 0x03, 0x1f21       # DW_AT_name, DW_FORM_GNU_strp_alt
    .uleb128 0x11, 0x01
    .uleb128 0x12, 0x07
    .uleb128 0, 0
    .byte 0
    .section .debug_info, \"\", @progbits
    .long .Linfo_end - .Linfo_begin
.Linfo_begin:
    .short 4
    .long 0
    .byte 8
    .uleb128 1
    .quad .Lbegin, .Lend - .Lbegin
    .uleb128 2
    .long 7
    .quad .Lbegin, .Lend - .Lbegin
    .byte 0
.Linfo_end:
    .section .gnu_debugaltlink, \"\", @progbits
    .asciz \"common.debug\"
    .byte 0xAB, 0xCD, 0xEF, 0x01, 0x23, 0x45, 0x67, 0x89
";

const ALTERNATE: &str = "
    .text
    .byte 0
    .section .debug_str, \"\", @progbits
    .asciz \"common\"
    .asciz \"shared_name\"
";

/// Check that strings shared by several debug files are read from the alternate file, found beside them or by build
/// id, and only if its build id is the one asked for.
#[test]
fn alternate_file_gives_shared_names() {
    let right = "abcdef0123456789";
    for (id, by_build_id, expected) in [
        (right, false, Some("shared_name")),
        (right, true, Some("shared_name")),
        ("1234567890abcdef", false, None),
    ] {
        let workshop = Workshop::new();
        let path = workshop.compile("library", WITH_ALTERNATE, "-shared -nostdlib");
        let common =
            workshop.compile("common.debug", ALTERNATE, &format!("-shared -nostdlib -Wl,--build-id=0x{id}"));
        assert_eq!(build_id(&common).len(), 8);
        if by_build_id {
            fs::rename(&common, workshop.path("elsewhere")).unwrap();
            fs::copy(workshop.path("elsewhere"), workshop.build_id_path("elsewhere")).unwrap();
        }
        let (text, _) = section(&path, ".text");
        let found = workshop.function("library", text + 3);
        assert_eq!(found.ok().as_deref(), expected, "{id} {by_build_id}");
    }
}
