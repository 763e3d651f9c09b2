//! Runs what the fuzzer runs, without a fuzzer.

#[path = "../../tests/fuzz/replay.rs"]
mod replay;

use std::{env, fs};

use capture::{Metadata, Summary, VERSION, Writer, fuzzing::read_hostile};

use crate::{fixture, hand};

const TARGET: &str = "capture_reader";

/// The seeds made from the fixture. `UPDATE_GOLDEN=1` rewrites them.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let file = fixture::file();
    let chunks = hand::chunks(&file);
    let mut later = chunks.clone();
    later.insert(1, hand::Chunk { kind: 77, records: 1, first: 0, last: 0, payload: vec![1, 2, 3] });
    let empty =
        Writer::new(Vec::new(), &Metadata::default()).and_then(|writer| writer.finish(&Summary::default()));
    vec![
        ("empty", empty.unwrap()),
        ("finished", file),
        // Uncompressed, so that a mutation reaches the columns.
        ("uncompressed", hand::file(VERSION.major, 0, &chunks)),
        ("later", hand::file(VERSION.major, 9, &later)),
    ]
}

/// Check that the committed seeds are what the present code writes.
#[test]
fn seeds_are_committed() {
    for (name, bytes) in seeds() {
        let path = replay::corpus(TARGET).join(name);
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(replay::corpus(TARGET)).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        let committed = fs::read(&path).unwrap();
        let chunks = |file: &[u8]| format!("{:?}", hand::chunks(file));
        assert_eq!(chunks(&committed), chunks(&bytes), "{name}: run with UPDATE_GOLDEN=1");
    }
}

/// Check that every file of the corpus, and each of a thousand mutations of it, is read or refused as the reader
/// promises.
#[test]
fn corpus_and_mutations_keep_the_promises() {
    replay::replay(TARGET, 1000, read_hostile);
}
