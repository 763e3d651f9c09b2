//! What the fuzzer runs, without a fuzzer: its seeds, what it found earlier, and some thousand mutations of them, the
//! same in each run.

use std::path::{Path, PathBuf};
use std::{env, fs};

use capture::{Metadata, Summary, Writer, fuzzing::read_hostile};

use crate::{fixture, hand};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus/capture_reader")
}

/// The seeds that are made from the fixture. `UPDATE_GOLDEN=1` writes them anew.
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
        // Nothing compressed: here a mutation reaches the columns.
        ("uncompressed", hand::file(1, 0, &chunks)),
        ("later", hand::file(1, 9, &later)),
    ]
}

/// Check that the committed seeds are those that the present code writes.
#[test]
fn seeds_are_committed() {
    for (name, bytes) in seeds() {
        let path = corpus().join(name);
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(corpus()).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        let committed = fs::read(&path).unwrap();
        let chunks = |file: &[u8]| format!("{:?}", hand::chunks(file));
        assert_eq!(chunks(&committed), chunks(&bytes), "{name}: run with UPDATE_GOLDEN=1");
    }
}

/// Check that every file of the corpus, and each of some thousand mutations of it, is read or refused within the
/// reader's promises.
#[test]
fn corpus_and_mutations_keep_the_promises() {
    let mut random = Random(0x5eed);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let seed = fs::read(path).unwrap();
        read_hostile(&seed);
        for _ in 0..1000 {
            let mut bytes = seed.clone();
            for _ in 0..=random.below(4) {
                mutate(&mut bytes, &mut random);
            }
            read_hostile(&bytes);
        }
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let place = random.below(bytes.len());
    let length = 1 + random.below(16.min(bytes.len() - place));
    match random.below(6) {
        0 => bytes[place] ^= 1 << random.below(8),
        1 => bytes[place] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
        2 => bytes[place..place + length].fill(0xff),
        3 => drop(bytes.drain(place..place + length)),
        4 => {
            let copy = bytes[place..place + length].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, copy);
        }
        _ => bytes.truncate(place),
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}
