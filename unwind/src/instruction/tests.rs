use super::*;
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;
use std::string::String;
use std::vec::Vec;
use std::{borrow::ToOwned, eprintln};

/// Length, flow, and the place of a relative displacement.
type Decoded = Option<(usize, Flow, Option<usize>)>;

fn decoded(code: &[u8]) -> Decoded {
    Instruction::at(code).map(|found| (found.length, found.flow, found.relative))
}

/// Check that operands that are relative to the instruction's place are found.
#[test]
fn what_depends_on_the_place_is_seen() {
    let cases: &[(&[u8], Decoded)] = &[
        // push rbp; endbr64; sub rsp, 8; mov rax, fs:0
        (&[0x55], Some((1, Flow::Next, None))),
        (&[0xf3, 0x0f, 0x1e, 0xfa], Some((4, Flow::Next, None))),
        (&[0x48, 0x83, 0xec, 8], Some((4, Flow::Next, None))),
        (&[0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0], Some((9, Flow::Next, None))),
        // mov r15, [rip + 1]; cmp dword ptr [rip + 1], 0
        (&[0x4c, 0x8b, 0x3d, 1, 0, 0, 0], Some((7, Flow::Next, Some(3)))),
        (&[0x83, 0x3d, 1, 0, 0, 0, 0], Some((7, Flow::Next, Some(2)))),
        // je −2; jne 256; jmp −5; jmp 3; call 7; call rax; jmp [rip + 2]; ret; loop 4
        (&[0x74, 0xfe], Some((2, Flow::Branch(4, -2), None))),
        (&[0x0f, 0x85, 0, 1, 0, 0], Some((6, Flow::Branch(5, 256), None))),
        (&[0xe9, 0xfb, 0xff, 0xff, 0xff], Some((5, Flow::Jump(-5), None))),
        (&[0xeb, 3], Some((2, Flow::Jump(3), None))),
        (&[0xe8, 7, 0, 0, 0], Some((5, Flow::Call(7), None))),
        (&[0xff, 0xd0], Some((2, Flow::CallAny, None))),
        (&[0xff, 0x25, 2, 0, 0, 0], Some((6, Flow::End, Some(2)))),
        (&[0xc3], Some((1, Flow::End, None))),
        (&[0xe2, 4], Some((2, Flow::Loop(4), None))),
        // test al, 1 and not al share an opcode; movabs rax, 0
        (&[0xf6, 0xc0, 1], Some((3, Flow::Next, None))),
        (&[0xf6, 0xd0], Some((2, Flow::Next, None))),
        (&[0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0], Some((10, Flow::Next, None))),
        // vmovdqu ymm0, [rip + 1]; vpternlogd zmm0, zmm0, zmm0, 255
        (&[0xc5, 0xfe, 0x6f, 0x05, 1, 0, 0, 0], Some((8, Flow::Next, Some(4)))),
        (&[0x62, 0xf3, 0x7d, 0x48, 0x25, 0xc0, 0xff], Some((7, Flow::Next, None))),
        // push es, of other modes; too short
        (&[0x06], None),
        (&[0xe8, 0, 0], None),
        (&[], None),
    ];
    for (code, expected) in cases {
        assert_eq!(decoded(code), *expected, "{code:02x?}");
    }
}

proptest! {
    /// Check that any bytes are decoded within their bounds.
    #[test]
    fn any_bytes_have_a_length_within(code in proptest::collection::vec(any::<u8>(), 0..20)) {
        if let Some(found) = Instruction::at(&code) {
            prop_assert!((1..=LONGEST.min(code.len())).contains(&found.length));
            prop_assert!(found.relative.is_none_or(|place| place + 4 <= found.length));
        }
    }
}

/// An instruction as objdump prints it.
struct Printed {
    bytes: Vec<u8>,
    text: String,
}

fn printed(file: &Path) -> Option<Vec<Printed>> {
    let output =
        Command::new("objdump").args(["-d", "-z", "-w", "--section=.text"]).arg(file).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once(":\t")?;
        let (bytes, text) = rest.split_once('\t').unwrap_or((rest, ""));
        let bytes =
            bytes.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).ok()).collect::<Option<_>>()?;
        Some(Printed { bytes, text: text.to_owned() })
    });
    Some(lines.collect())
}

/// Check that instructions of real libraries, relative ones included, have the length that objdump shows, and that
/// nearly all are known.
#[test]
fn objdump_says_the_same() {
    let libc = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
    let own = std::env::current_exe().unwrap();
    let all = [libc, &own].map(printed);
    let all: Vec<_> = all.into_iter().flatten().flatten().collect();
    if all.is_empty() {
        eprintln!("skipped: there is no objdump");
        return;
    }
    let mut known = 0;
    for Printed { bytes, text } in &all {
        // Bytes that are no code, and prefixes that objdump shows separately.
        if text.contains("(bad)") || text.starts_with('.') || text.is_empty() {
            known += 1;
            continue;
        }
        let mut code = bytes.clone();
        code.extend([0x90; 16]);
        let Some(found) = Instruction::at(&code) else { continue };
        known += 1;
        let is_prefix = found.length > bytes.len() && text.split_whitespace().count() == 1;
        assert!(found.length == bytes.len() || is_prefix, "{text}: {bytes:02x?}, {found:?}");
        assert_eq!(found.relative.is_some(), text.contains("(%rip)"), "{text}: {bytes:02x?}");
    }
    assert!(all.len() > 100_000, "{}", all.len());
    assert!(known * 1000 > all.len() * 999, "{known} of {}", all.len());
}
