//! Files of later and earlier versions.

use capture::{Error, Metadata, Reader, Summary, VERSION, Version};

use crate::fixture;
use crate::hand;

/// Check that a file of the next minor version opens: added fields, columns, chunks and kinds of events are skipped
/// and counted, and everything else reads as in this version.
#[test]
fn next_minor_version_opens() {
    let mut chunks = hand::chunks(&fixture::file());
    for chunk in &mut chunks {
        match chunk.kind {
            1 | 3 | 6 | 7 | 8 | 10 | 13 | 26 => {
                hand::map_records(chunk, |record| record.extend(b"\x07a later field"))
            }
            4 | 5 | 9 => hand::add_column(chunk, b"a later column"),
            _ => {}
        }
    }
    let unknown = |kind| hand::Chunk { kind, records: 3, first: 1, last: 2, payload: b"anything".to_vec() };
    chunks.insert(0, unknown(200));
    chunks.insert(5, unknown(0));
    chunks.push(unknown(u16::MAX));
    let file = hand::file(VERSION.major, VERSION.minor + 1, &chunks);
    let reader = Reader::from_source(file.as_slice()).unwrap();
    assert_eq!((reader.version(), reader.skipped()), (Version { minor: VERSION.minor + 1, ..VERSION }, 3));
    assert_eq!(fixture::read(file).unwrap(), fixture::contents());
}

/// Check that fields missing in an earlier version's records have their defaults.
#[test]
fn shorter_records_have_defaults() {
    let mut chunks = hand::chunks(&fixture::file());
    for chunk in chunks.iter_mut().filter(|chunk| chunk.kind == 10) {
        hand::map_records(chunk, |record| record.truncate(8));
    }
    // Labels and the sampling interval, which earlier collectors did not write.
    let labels: usize = 8 + fixture::metadata()
        .labels
        .iter()
        .map(|(name, value)| 16 + name.len() + value.len())
        .sum::<usize>();
    for chunk in chunks.iter_mut().filter(|chunk| chunk.kind == 1) {
        hand::map_records(chunk, |record| record.truncate(record.len() - labels - 8));
    }
    let tables = fixture::read(hand::file(VERSION.major, 0, &chunks)).unwrap().tables;
    let expected = Summary { duration_ns: fixture::summary().duration_ns, ..Summary::default() };
    assert_eq!(tables.summary, Some(expected));
    assert_eq!(tables.metadata, Metadata { sample_interval: 0, labels: Vec::new(), ..fixture::metadata() });
}

/// Check that other major versions are refused at once, with the version that reads them.
#[test]
fn other_major_versions_are_refused() {
    for (major, by) in [(VERSION.major + 1, "version 9.9.9 or later."), (VERSION.major - 1, "version 9.9.9.")]
    {
        let error = Reader::from_source(hand::file(major, 3, &[])).err().unwrap();
        assert!(matches!(error, Error::OtherFormat { minor: 3, .. }));
        assert!(error.to_string().ends_with(&format!("Open it with {by}")), "{error}");
    }
}

/// Check that a file with swapped bytes, and files of other kinds, are refused with what they are.
#[test]
fn other_files_are_refused_by_what_they_are() {
    let mut swapped = hand::header(VERSION.major, 0, "x");
    swapped[8..12].reverse();
    let mut damaged = hand::header(VERSION.major, 0, "x");
    damaged[20] ^= 1;
    let cases: [(&[u8], &str); 6] = [
        (&swapped, "bytes of each number swapped"),
        (&damaged, "header of this capture is damaged"),
        (b"", "not a capture but an empty file"),
        (b"\x7fELF\x02\x01\x01", "not a capture but a program or library"),
        (b"\x5e\x97\xca\xfd\x01\x01", "not a capture but a Sysprof capture"),
        (b"once upon a time", "not a capture but a file of an unknown kind"),
    ];
    for (bytes, part) in cases {
        let error = Reader::from_source(bytes).err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
}
