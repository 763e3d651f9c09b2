//! Malicious files: they give names or reasons, never a panic, endless work or unbounded memory.

use crate::toolchain::{PROGRAM, Workshop, section, symbol};
use proptest::prelude::*;
use std::sync::OnceLock;
use std::time::Duration;
use symbols::{Options, Symbolizer};

fn symbolizer() -> Symbolizer {
    Symbolizer::new(Options { debug_dirs: Vec::new(), ..Options::default() })
}

/// Opens bytes and looks up addresses; the point is that it returns.
fn survive(bytes: Vec<u8>) {
    let Ok(module) = symbolizer().open_image(bytes) else { return };
    for address in (0..0x5000).step_by(0x40).chain([0x40_1000, 0x40_1140, u64::MAX - 1, u64::MAX]) {
        let lookup = module.lookup(address);
        assert_eq!(lookup.reason.is_none(), lookup.function().is_some());
    }
}

/// Real files to damage, with every kind of table.
fn samples() -> &'static [Vec<u8>] {
    static SAMPLES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let workshop = Workshop::new();
        let source = format!("{PROGRAM} int _Z1fSt4pairIiiE(int x) {{ return global_function(x); }}");
        [
            "-gdwarf-5 -shared -fPIC",
            "-gdwarf-4 -shared -fPIC",
            "-gz -shared -fPIC",
            "-gdwarf-5 -no-pie -Wl,-z,noseparate-code",
        ]
        .iter()
        .map(|flags| {
            let path = workshop.compile("sample", &source, &format!("-O2 {flags}"));
            std::fs::read(path).unwrap()
        })
        .collect()
    })
}

/// Check that a file cut off anywhere is survived.
#[test]
fn cut_files_are_survived() {
    for sample in samples() {
        for length in (0..sample.len()).step_by(97).chain(0..0x200.min(sample.len())) {
            survive(sample[..length].to_vec());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Check that bytes which are no ELF file, or only begin like one, are survived.
    #[test]
    fn random_bytes_are_survived(is_elf in any::<bool>(), bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut image = if is_elf { b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0".to_vec() } else { Vec::new() };
        image.extend(bytes);
        survive(image);
    }

    /// Check that damaged files are survived: single bytes, and words set to extreme values, anywhere, but mostly
    /// in the tables.
    #[test]
    fn damaged_files_are_survived(
        sample in 0..4_usize,
        bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        words in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec![0, 1, 0x7fff_ffff, u64::MAX, u64::MAX - 0xfff, 1 << 40])), 0..3),
        near_end in any::<bool>(),
    ) {
        let mut image = samples()[sample].clone();
        let start = if near_end { image.len() / 2 } else { 0 };
        let length = image.len() - start - 8;
        for (at, byte) in bytes {
            image[start + at.index(length)] = byte;
        }
        for (at, word) in words {
            let at = start + at.index(length) / 8 * 8;
            image[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        survive(image);
    }
}

/// Abbreviations of a unit (1) with a function (2), both with addresses, and an inlined function (3) without
/// attributes. `.Lbegin` and `.Lend` enclose the code.
const ABBREVIATIONS: &str = "
    .text
    .globl function
    .type function, @function
function:
.Lbegin:
    .fill 16, 1, 0x90
.Lend:
    .size function, 16
    .section .debug_abbrev, \"\", @progbits
    .uleb128 1, 0x11
    .byte 1
    .uleb128 0x11, 0x01, 0x12, 0x07, 0x10, 0x17
    .uleb128 0, 0
    .uleb128 2, 0x2e
    .byte 1
    .uleb128 0x11, 0x01, 0x12, 0x07
    .uleb128 0, 0
    .uleb128 3, 0x1d
    .byte 1
    .uleb128 0, 0
    .byte 0
    .section .debug_info, \"\", @progbits
";

/// Assembles a bomb, looks up its only function, and checks that it quickly gets its name and no line.
fn defuse(source: &str) {
    let workshop = Workshop::new();
    let path = workshop.compile("bomb", source, "-shared -nostdlib");
    let (address, _) = symbol(&path, "function");
    assert!(section(&path, ".debug_info").1 > 1000);
    let before = own_cpu_time();
    let lookup = workshop.lookup("bomb", &[address + 1]).remove(0);
    assert_eq!(lookup.function(), Some("function"));
    assert_eq!(lookup.frames.len(), 1);
    assert_eq!(lookup.frames[0].line, None);
    let taken = own_cpu_time() - before;
    assert!(taken < Duration::from_secs(10), "took {taken:?}");
}

/// CPU time of this thread: a loaded machine does not change it.
fn own_cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse().ok());
    nanoseconds.map_or(Duration::ZERO, Duration::from_nanos)
}

/// A function with a hundred thousand inlined functions nested in each other.
pub(crate) fn deep_nesting() -> String {
    format!(
        "{ABBREVIATIONS}
        .long .Linfo_end - .Linfo_begin
    .Linfo_begin:
        .short 4
        .long 0
        .byte 8
        .uleb128 1
        .quad .Lbegin, .Lend - .Lbegin
        .long 0
        .uleb128 2
        .quad .Lbegin, .Lend - .Lbegin
        .fill 100000, 1, 3
        .fill 100002, 1, 0
    .Linfo_end:
    "
    )
}

/// Check that nested inlined functions do not exhaust the stack, however many there are.
#[test]
fn deep_nesting_is_refused() {
    defuse(&deep_nesting());
}

/// Check that ten thousand units that share one line program of a megabyte do not fill the memory.
#[test]
fn shared_line_program_is_refused() {
    defuse(&format!(
        "{ABBREVIATIONS}
        .rept 10000
        .long 1f - 0f
    0:
        .short 4
        .long 0
        .byte 8
        .uleb128 1
        .quad .Lbegin, .Lend - .Lbegin
        .long 0
        .byte 0
    1:
        .endr
        .section .debug_line, \"\", @progbits
        .long .Lline_end - .Lline_begin
    .Lline_begin:
        .short 4
        .long .Lprogram - .Lheader
    .Lheader:
        .byte 1, 1, 1, -5, 14, 13
        .byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
        .byte 0
        .asciz \"bomb.c\"
        .byte 0, 0, 0
        .byte 0
    .Lprogram:
        .byte 0, 9, 2
        .quad .Lbegin
        .fill 1000000, 1, 0x2f
        .byte 0, 1, 1
    .Lline_end:
    "
    ));
}

/// Check that ten thousand functions that share one list of a hundred thousand ranges do not fill the memory.
#[test]
fn shared_ranges_are_refused() {
    let abbreviations = ABBREVIATIONS.replace(
        ".uleb128 0x11, 0x01, 0x12, 0x07
    .uleb128 0, 0
    .uleb128 3",
        ".uleb128 0x55, 0x17
    .uleb128 0, 0
    .uleb128 3",
    );
    assert_ne!(abbreviations, ABBREVIATIONS);
    defuse(&format!(
        "{abbreviations}
        .long .Linfo_end - .Linfo_begin
    .Linfo_begin:
        .short 4
        .long 0
        .byte 8
        .uleb128 1
        .quad .Lbegin, .Lend - .Lbegin
        .long 0
        .rept 10000
        .uleb128 2
        .long 0
        .byte 0
        .endr
        .byte 0
    .Linfo_end:
        .section .debug_ranges, \"\", @progbits
        .rept 100000
        .quad 1, 2
        .endr
        .quad 0, 0
    "
    ));
}

/// Check that an abbreviation with a hundred thousand empty attributes is refused.
#[test]
fn endless_attributes_are_refused() {
    let flags = ".rept 100000\n .uleb128 0x3f, 0x19\n .endr\n";
    let abbreviations = ABBREVIATIONS.replace(
        "    .uleb128 3, 0x1d\n    .byte 1\n",
        &format!("    .uleb128 3, 0x1d\n    .byte 1\n{flags}"),
    );
    assert_ne!(abbreviations, ABBREVIATIONS);
    defuse(&format!(
        "{abbreviations}
        .long .Linfo_end - .Linfo_begin
    .Linfo_begin:
        .short 4
        .long 0
        .byte 8
        .uleb128 1
        .quad .Lbegin, .Lend - .Lbegin
        .long 0
        .uleb128 2
        .quad .Lbegin, .Lend - .Lbegin
        .rept 100000
        .byte 3, 0
        .endr
        .byte 0, 0
    .Linfo_end:
    "
    ));
}
