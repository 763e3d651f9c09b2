//! What the fuzzers run, without a fuzzer: their seeds, what they found earlier, and some hundred mutations of them, the same
//! in each run.

use std::fs;
use std::path::{Path, PathBuf};
use symbols::fuzzing::{read_dwarf, read_elf, read_jit};

/// Files of the corpus of a target, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn replay(target: &str, read: fn(&[u8])) {
    let mut random = Random(0x5eed);
    let seeds = corpus(target);
    assert!(!seeds.is_empty());
    for seed in seeds {
        read(&seed);
        for _ in 0..200 {
            let mut bytes = seed.clone();
            for _ in 0..=random.below(4) {
                mutate(&mut bytes, &mut random);
            }
            read(&bytes);
        }
    }
}

/// Check that files of the corpus, and mutations of them, are looked into as ELF files without a panic.
#[test]
fn mutated_modules_are_read() {
    replay("symbols_elf", read_elf);
}

/// Check that the same holds of debug information.
#[test]
fn mutated_debug_information_is_read() {
    replay("symbols_dwarf", read_dwarf);
}

/// Check that the same holds of what compilers at run time tell.
#[test]
fn mutated_logs_of_compilers_are_read() {
    replay("symbols_jit", read_jit);
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let place = random.below(bytes.len());
    let length = 1 + random.below(16.min(bytes.len() - place));
    match random.below(5) {
        0 => bytes[place] ^= 1 << random.below(8),
        1 => bytes[place] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
        2 => bytes[place..place + length].fill(0xff),
        3 => drop(bytes.drain(place..place + length)),
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
