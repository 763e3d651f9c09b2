//! What a fuzzer runs, without a fuzzer: the seeds of its target, its earlier findings, and mutations of each of
//! them, the same in each run. A module of the tests of the packages whose code the targets run.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of a target's files.
pub(super) fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus").join(target)
}

/// Passes each file of a target, and `mutations` mutations of it, to `read`.
pub(super) fn replay(target: &str, mutations: usize, read: fn(&[u8])) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(corpus(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        replay_file(&path, mutations, read);
    }
}

/// Passes a file, and `mutations` mutations of it, to `read`.
pub(super) fn replay_file(path: &Path, mutations: usize, read: fn(&[u8])) {
    let seed = fs::read(path).unwrap();
    read(&seed);
    let mut random = Random(0x5eed);
    for _ in 0..mutations {
        let mut bytes = seed.clone();
        for _ in 0..=random.below(4) {
            mutate(&mut bytes, &mut random);
        }
        read(&bytes);
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
