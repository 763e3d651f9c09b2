//! Which symbol covers an address.

use crate::toolchain::{Workshop, section};
use symbols::Reason;

/// One section, 16 bytes per row: what the rule of the symbol table says about each.
const ASSEMBLY: &str = "
    .text
    .globl sized, unsized, sized_label, plain_label
    .type sized, @function
sized:
    .fill 16, 1, 0x90
    .size sized, 16
gap:
    .fill 16, 1, 0x90
    .type unsized, @function
unsized:
    .fill 16, 1, 0x90
plain_label:
    .fill 16, 1, 0x90
sized_label:
    .fill 16, 1, 0x90
    .size sized_label, 16
second_gap:
    .fill 16, 1, 0x90
    .section .other, \"ax\", @progbits
    .fill 16, 1, 0x90
    .type data_in_code, @object
data_in_code:
    .fill 16, 1, 0x90
    .size data_in_code, 16
    .data
    .type unsized_data_function, @function
unsized_data_function:
    .fill 16, 1, 0x90
    .section .note.GNU-stack, \"\", @progbits
";

/// Check sized function, gap, function of size 0, plain label, sized label, and that no symbol reaches into a gap,
/// another section or data.
#[test]
fn rule_of_the_symbol_table_holds() {
    let workshop = Workshop::new();
    for flags in ["-shared -nostdlib", "-no-pie -nostdlib -Wl,-esized"] {
        let path = workshop.compile("assembly", ASSEMBLY, flags);
        let (text, _) = section(&path, ".text");
        let (other, _) = section(&path, ".other");
        let (data, _) = section(&path, ".data");
        for (address, expected) in [
            (text - 1, Err(Reason::NoSymbolHere)),
            (text, Ok("sized")),
            (text + 15, Ok("sized")),
            (text + 16, Err(Reason::NoSymbolHere)),
            (text + 31, Err(Reason::NoSymbolHere)),
            (text + 32, Ok("unsized")),
            (text + 47, Ok("unsized")),
            (text + 48, Ok("unsized")),
            (text + 64, Ok("sized_label")),
            (text + 79, Ok("sized_label")),
            (text + 80, Err(Reason::NoSymbolHere)),
            (other, Err(Reason::NoSymbolHere)),
            (other + 16, Err(Reason::NoSymbolHere)),
            (data, Err(Reason::NoSymbolHere)),
            (0, Err(Reason::NoSymbolHere)),
            (u64::MAX, Err(Reason::NoSymbolHere)),
        ] {
            let found = workshop.function("assembly", address);
            assert_eq!(
                found.as_deref().map_err(|&reason| reason),
                expected,
                "{address:#x} of {text:#x}, {flags}"
            );
        }
    }
}
