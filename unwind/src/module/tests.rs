use super::{Image, ImageError, Tables};
use proptest::prelude::*;
use std::slice;
use std::vec::Vec;

const LOAD: u64 = 0x7f00_0000_0000;

/// A program header: type, flags, file offset, address, size, alignment.
type Header = (u32, u32, u64, u64, u64, u64);

const R: u32 = 4;
const RX: u32 = 5;
const RW: u32 = 6;

/// The mapped bytes of an image with these program headers, and `notes` at address 0x400.
fn image(headers: &[Header], notes: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from(*b"\x7fELF\x02\x01\x01");
    bytes.resize(64, 0);
    bytes[32..40].copy_from_slice(&64u64.to_le_bytes());
    bytes[54..56].copy_from_slice(&56u16.to_le_bytes());
    bytes[56..58].copy_from_slice(&(headers.len() as u16).to_le_bytes());
    for &(kind, flags, offset, address, size, align) in headers {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        for word in [offset, address, address, size, size, align] {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes.resize(0x400, 0);
    bytes.extend(notes);
    bytes.resize(bytes.len().max(0x1000), 0);
    bytes
}

/// Parses an image that is mapped at [`LOAD`], with nothing else mapped.
fn parse(bytes: &[u8]) -> Result<Image, ImageError> {
    Image::parse(LOAD, |address, into| {
        let start = usize::try_from(address.wrapping_sub(LOAD)).unwrap_or(usize::MAX);
        match bytes.get(start..).and_then(|rest| rest.get(..into.len())) {
            Some(found) => {
                into.copy_from_slice(found);
                true
            }
            None => false,
        }
    })
}

fn note(kind: u32, name: &[u8], body: &[u8], align: usize) -> Vec<u8> {
    let mut note = Vec::new();
    for word in [name.len() as u32, body.len() as u32, kind] {
        note.extend(word.to_le_bytes());
    }
    note.extend(name);
    note.resize(note.len().next_multiple_of(align), 0);
    note.extend(body);
    note.resize(note.len().next_multiple_of(align), 0);
    note
}

const FIRST: Header = (1, R, 0, 0, 0x1000, 0x1000);
const CODE: Header = (1, RX, 0x1000, 0x1000, 0x2000, 0x1000);
const TABLES: Header = (1, R, 0x3000, 0x3000, 0x800, 0x1000);
const DATA: Header = (1, RW, 0x3800, 0x4800, 0x800, 0x1000);
const EH_FRAME: Header = (0x6474_e550, R, 0x3100, 0x3100, 0x100, 4);

/// Check that an ordinary image yields its code, its tables and its build-id.
#[test]
fn ordinary_images_are_read() {
    let id = [7; 20];
    let notes = [note(1, b"stapsdt\0", b"xyz", 4), note(3, b"GNU\0", &id, 4)].concat();
    let notes_header = (4, R, 0x400, 0x400, notes.len() as u64, 4);
    let found = parse(&image(&[FIRST, CODE, TABLES, DATA, EH_FRAME, notes_header], &notes)).expect("sound");
    assert_eq!(found.bias, LOAD);
    assert_eq!(found.code.as_slice(), slice::from_ref(&(LOAD + 0x1000..LOAD + 0x3000)));
    assert!(found.code.contains(LOAD + 0x2fff) && !found.code.contains(LOAD + 0x3000));
    let segment = LOAD + 0x3000..LOAD + 0x3800;
    assert_eq!(found.tables, Some(Tables { hdr: LOAD + 0x3100, segment }));
    assert_eq!(found.build_id.expect("a build-id").as_bytes(), id);
}

/// Check that the bias is what was added to the file's addresses, whatever those are.
#[test]
fn bias_is_relative_to_the_file() {
    for base in [0, 0x40_0000, 0x1000, LOAD] {
        let move_by = |(kind, flags, offset, address, size, align): Header| {
            (kind, flags, offset, address + base, size, align)
        };
        let found = parse(&image(&[FIRST, CODE].map(move_by), b"")).expect("sound");
        assert_eq!(found.bias, LOAD - base);
        assert_eq!(found.code.as_slice(), slice::from_ref(&(LOAD + 0x1000..LOAD + 0x3000)), "base {base:#x}");
    }
}

/// Check that several code segments are kept, up to eight.
#[test]
fn code_may_be_split() {
    let mut headers = Vec::from([FIRST]);
    headers.extend((1..=10).map(|n| (1, RX, n * 0x1000, n * 0x1000, 0x800, 0x1000)));
    let found = parse(&image(&headers, b"")).expect("sound");
    assert_eq!(found.code.as_slice().len(), 8);
    assert!(found.code.contains(LOAD + 0x8000));
    assert!(!found.code.contains(LOAD + 0x1800));
}

/// Check that tables outside of every readable segment are not tables.
#[test]
fn tables_must_be_readable() {
    let beyond = (0x6474_e550, R, 0, 0x9000, 0x100, 4);
    let unreadable = (1, 1, 0x3000, 0x3000, 0x800, 0x1000);
    for headers in [&[FIRST, CODE][..], &[FIRST, CODE, beyond], &[FIRST, unreadable, EH_FRAME]] {
        assert_eq!(parse(&image(headers, b"")).expect("sound").tables, None);
    }
}

/// Check that notes are found in either alignment, and damaged ones only cost the build-id.
#[test]
fn notes_are_read_with_care() {
    let property = note(5, b"GNU\0", &[1; 12], 8);
    let mut endless = note(5, b"GNU\0", &[1; 12], 4);
    endless[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut long_name = note(5, b"GNU\0", &[1; 12], 4);
    long_name[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let id = note(3, b"GNU\0", &[9; 8], 8);
    for (name, notes, align, expected) in [
        ("alone", id.clone(), 4, Some(8)),
        ("after an 8-aligned one", [property, id.clone()].concat(), 8, Some(8)),
        ("of another vendor", note(3, b"XYZ\0", &[9; 8], 4), 4, None),
        ("empty", note(3, b"GNU\0", b"", 4), 4, None),
        ("longest", note(3, b"GNU\0", &[9; 64], 4), 4, Some(64)),
        ("too long", note(3, b"GNU\0", &[9; 65], 4), 4, None),
        ("after an endless one", [endless, id.clone()].concat(), 4, None),
        ("after a long name", [long_name, id.clone()].concat(), 4, None),
        ("cut", id[..20].to_vec(), 4, None),
        ("none", Vec::new(), 4, None),
    ] {
        let header = (4, R, 0x400, 0x400, notes.len() as u64, align);
        let found = parse(&image(&[FIRST, header], &notes)).expect("sound");
        assert_eq!(found.build_id.map(|id| id.as_bytes().len()), expected, "{name}");
    }
}

/// Check that anything that is not an image is refused with its reason.
#[test]
fn broken_headers_are_refused() {
    let good = image(&[FIRST, CODE], b"");
    let with = |offset: usize, value: &[u8]| {
        let mut bytes = good.clone();
        bytes[offset..offset + value.len()].copy_from_slice(value);
        bytes
    };
    for (name, bytes, expected) in [
        ("empty", Vec::new(), ImageError::Unreadable),
        ("magic", with(0, b"\x7fELG"), ImageError::NotElf),
        ("32 bits", with(4, &[1]), ImageError::NotElf),
        ("big-endian", with(5, &[2]), ImageError::NotElf),
        ("size of headers", with(54, &[32]), ImageError::OddHeaders),
        ("number of headers", with(56, &[0xff, 0xff]), ImageError::OddHeaders),
        ("no headers", with(56, &[0, 0]), ImageError::NotMapped),
        ("headers elsewhere", with(32, &[0; 7]), ImageError::NotMapped),
        ("headers beyond", with(32, &[0xff; 8]), ImageError::Unreadable),
        ("no first segment", image(&[CODE], b""), ImageError::NotMapped),
    ] {
        assert_eq!(parse(&bytes), Err(expected), "{name}");
        assert!(!std::format!("{expected}").is_empty());
    }
}

proptest! {
    /// Check that no bytes make the parser panic or read without end.
    #[test]
    fn random_images_are_survived(bytes: Vec<u8>, damage in prop::collection::vec((0..0x500usize, any::<u8>()), 0..8)) {
        let _ = parse(&bytes);
        let notes = note(3, b"GNU\0", &[7; 20], 4);
        let header = (4, R, 0x400, 0x400, notes.len() as u64, 4);
        let mut damaged = image(&[FIRST, CODE, TABLES, EH_FRAME, header], &notes);
        for (at, value) in damage {
            damaged[at] = value;
        }
        if let Ok(image) = parse(&damaged) {
            prop_assert!(image.code.as_slice().len() <= 8);
        }
    }

    /// Check that headers of random words are survived, in memory with any contents.
    #[test]
    fn random_memory_is_survived(words in prop::collection::vec(any::<u8>(), 56..2000), seed: u8) {
        let mut header = image(&[FIRST], b"")[..64].to_vec();
        header[56..58].copy_from_slice(&40u16.to_le_bytes());
        let mut reads = 0u32;
        let _ = Image::parse(LOAD, |address, into| {
            reads += 1;
            for (i, byte) in into.iter_mut().enumerate() {
                let at = address.wrapping_add(i as u64).wrapping_sub(LOAD);
                *byte = match header.get(at as usize) {
                    Some(byte) if at < 64 => *byte,
                    _ => words[(at % words.len() as u64) as usize] ^ seed,
                };
            }
            true
        });
        prop_assert!(reads < 128 * 40);
    }
}
