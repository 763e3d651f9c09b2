//! Hand-made heaptrack files: what becomes of each line, and what is refused.

use super::*;
use capture::{Action, Reader};
use proptest::prelude::*;
use std::io::Write;

/// Two kinds of allocations, one of whose blocks is freed; names with spaces, an inlined caller, an address without names.
pub(super) const SMALL: &str = "v 10400 3
X /opt/app --flag
I 1000 10
s 8 /opt/app
s 5 f g h
s 4 main
s 3 x.c
i 401000 1 2 4 a 3 4 b
t 1 0
i 7f00 1
t 2 1
a 64 1
a 8 2
# heaptrack writes remarks
+ 0
+ 0
c a
R 3
+ 1
- 0
- 1
";

struct Read {
    imported: Imported,
    reader: Reader,
    _folder: tempfile::TempDir,
}

fn import_bytes(bytes: &[u8]) -> Result<Read, String> {
    let folder = tempfile::tempdir().unwrap();
    let (file, output) = (folder.path().join("heaptrack.app.1"), folder.path().join("it.memprof"));
    std::fs::write(&file, bytes).unwrap();
    let what = Import { file, output, replace: false, store_command: true, tool_version: "1".into() };
    match import(&what) {
        Ok(imported) => Ok(Read { imported, reader: Reader::open(&what.output).unwrap(), _folder: folder }),
        Err(error) => {
            assert!(!what.output.exists(), "half a capture is left: {error}");
            Err(error.to_string().replace(&folder.path().display().to_string(), ""))
        }
    }
}

/// Check that each line becomes what it says: command, names, stacks, allocations, frees, time and resident memory.
#[test]
fn lines_become_events() {
    let Read { imported, reader, .. } = import_bytes(SMALL.as_bytes()).unwrap();
    assert_eq!(imported.events, 5);
    let tables = reader.tables();
    let process = &tables.processes[0];
    assert_eq!(
        (process.name.as_str(), process.command.as_slice()),
        ("app", &["/opt/app".into(), "--flag".into()][..])
    );
    let names = |frame: capture::FrameId| -> Vec<String> {
        let names = tables.symbol(frame).map(|symbol| symbol.names.as_slice()).unwrap_or_default();
        names
            .iter()
            .map(|name| name.function.map_or(String::new(), |name| tables.string(name).into()))
            .collect()
    };
    let mut seen = Vec::new();
    let mut live = Vec::new();
    for event in reader.events().unwrap().map(Result::unwrap) {
        match event.action {
            Action::Alloc { address, size, stack, .. } => {
                let stack: Vec<_> = tables.stack(stack).map(|(_, node)| names(node.frame)).collect();
                seen.push((event.time / 1_000_000, size, stack));
                live.push(address);
            }
            Action::Free { address, .. } => live.retain(|known| *known != address),
            _ => {}
        }
    }
    let f = vec!["f g h".to_string(), "main".to_string()];
    assert_eq!(seen, [(0, 100, vec![f.clone()]), (0, 100, vec![f.clone()]), (10, 8, vec![vec![], f])]);
    assert_eq!(live.len(), 1);
    let mut counters = Vec::new();
    reader.for_each_counters(|some| counters.extend_from_slice(some)).unwrap();
    assert_eq!((counters[0].value, counters[0].time), (3 * 4096, 10_000_000));
    assert_eq!(tables.summary.as_ref().unwrap().duration_ns, 10_000_000);
}

/// Check that a file reads the same plain, with gzip and with zstd.
#[test]
fn compression_is_taken_off() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(SMALL.as_bytes()).unwrap();
    let zstd = zstd::encode_all(SMALL.as_bytes(), 1).unwrap();
    for bytes in [gzip.finish().unwrap(), zstd] {
        assert_eq!(import_bytes(&bytes).unwrap().imported.events, 5);
    }
}

/// Check that a file which unpacks to thousands of times its length is refused, with what to do, and that the same text
/// is read when it is not packed.
#[test]
fn files_unpack_to_a_multiple_of_their_length() {
    let mut text = SMALL.as_bytes().to_vec();
    let remark = [&[b'#'; 4095][..], b"\n"].concat();
    text.extend(remark.iter().cycle().take(128 << 20));
    let packed = zstd::encode_all(&text[..], 1).unwrap();
    assert!(packed.len() < 200 << 10, "{}", packed.len());
    let refusal = import_bytes(&packed).err().expect("it is refused");
    assert!(refusal.contains("unpack it yourself"), "{refusal}");
    assert_eq!(import_bytes(&text).unwrap().imported.events, 5);
}

/// Check that strings of older files, which extend to the end of their line, are read.
#[test]
fn strings_before_version_three_have_no_length() {
    let text = SMALL.replace("v 10400 3", "v 10100 1").replace("s 8 /", "s /").replace("s 5 ", "s ");
    let text = text.replace("s 4 main", "s main").replace("s 3 ", "s ");
    let read = import_bytes(text.as_bytes()).unwrap();
    assert!(read.reader.tables().strings.iter().any(|text| text == "f g h"));
}

/// Check that other files, and files with dangling references, are refused with the place of the error, and that no
/// capture is left.
#[test]
fn damage_is_told_with_its_line() {
    for (bytes, reason) in [
        ("", "cannot be imported"),
        ("hello\n", "cannot be imported"),
        ("v 10400\n", "cannot be imported"),
        ("v 10400 9\n", "line 1: unknown version"),
        ("v 10400 3\ns 9 short\n", "line 2: a string has another length"),
        ("v 10400 3\ni 1 1\n", "line 2: an address"),
        ("v 10400 3\nt 1 0\n", "line 2: a stack"),
        ("v 10400 3\na 1 1\n", "line 2: an allocation"),
        ("v 10400 3\n+ 0\n", "line 2: it refers"),
        ("v 10400 3\n\n- ffffffffffffffff\n", "line 3: it refers"),
        ("v 10400 3\nc x\n", "line 2: missing number"),
        ("v 10400 3\nq 1\n", "line 2: unknown kind of line"),
        ("\u{1f}\u{8b}\u{8}", "cannot be imported"),
    ] {
        let error = import_bytes(bytes.as_bytes()).err().unwrap_or_else(|| panic!("{bytes:?} is taken"));
        assert!(error.contains(reason), "{bytes:?}: {error}");
    }
}

/// Check that importing a damaged file does not cost the capture that it was to replace, and that importing a whole
/// one replaces it.
#[test]
fn damage_costs_no_capture() {
    let folder = tempfile::tempdir().unwrap();
    let (file, output) = (folder.path().join("heaptrack.app.1"), folder.path().join("it.memprof"));
    std::fs::write(&output, "a capture").unwrap();
    let what = Import { file, output, replace: true, store_command: true, tool_version: "1".into() };
    for damaged in [&SMALL.replace("+ 1", "+ 9"), &SMALL.replace("a 8 2", "a 8 3"), "no such file"] {
        std::fs::write(&what.file, damaged).unwrap();
        import(&what).unwrap_err();
        assert_eq!(std::fs::read(&what.output).unwrap(), b"a capture");
    }
    std::fs::write(&what.file, SMALL).unwrap();
    assert_eq!(import(&what).unwrap().events, 5);
    assert!(Reader::open(&what.output).unwrap().cut().is_none());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// Check that an endless line is refused before it fills memory.
#[test]
fn endless_lines_are_refused() {
    let mut bytes = b"v 10400 3\ns ".to_vec();
    bytes.resize(bytes.len() + (3 << 20), b'x');
    let error = import_bytes(&bytes).err().unwrap();
    assert!(error.contains("line 2: the line is too long"), "{error}");
}

proptest! {
    /// Check that a file truncated or changed anywhere gives a capture that opens, or a reason.
    #[test]
    fn any_damage_has_a_reason(at in 0..SMALL.len(), byte: u8, cut: bool) {
        let mut bytes = SMALL.as_bytes().to_vec();
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        match import_bytes(&bytes) {
            Ok(read) => prop_assert!(read.reader.cut().is_none()),
            Err(reason) => prop_assert!(!reason.is_empty()),
        }
    }
}
