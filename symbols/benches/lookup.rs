//! Times opening a module and looking up 20,000 addresses spread evenly over its code.
//!
//! `cargo bench -p symbols --bench lookup -- [FILE…]`; without a file, the benchmark measures itself.

use object::{Object, ObjectSegment, SegmentFlags, elf};
use std::path::{Path, PathBuf};
use std::time::Instant;
use symbols::{ModuleFile, Symbolizer};

const LOOKUPS: u64 = 20_000;

fn main() {
    let mut files: Vec<PathBuf> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).map(PathBuf::from).collect();
    if files.is_empty() {
        files.extend(std::env::current_exe());
    }
    println!("{:>9} {:>9} {:>7} {:>7} {:>9}  file", "open ms", "look ms", "named", "lines", "peak MB");
    for file in files {
        measure(&file);
    }
}

fn measure(path: &Path) {
    let addresses = code_addresses(path);
    let started = Instant::now();
    let module = match Symbolizer::default().open(&ModuleFile::at(path)) {
        Ok(module) => module,
        Err(reason) => return println!("{}: {reason}", path.display()),
    };
    let opened = started.elapsed();
    let started = Instant::now();
    let lookups: Vec<_> = addresses.iter().map(|&address| module.lookup(address)).collect();
    let looked = started.elapsed();
    let share = |count: usize| 100.0 * count as f64 / lookups.len().max(1) as f64;
    let named = share(lookups.iter().filter(|lookup| lookup.function().is_some()).count());
    let lines = share(lookups.iter().filter(|l| l.frames.first().is_some_and(|f| f.line.is_some())).count());
    println!(
        "{:>9.1} {:>9.1} {named:>6.1}% {lines:>6.1}% {:>9}  {}",
        opened.as_secs_f64() * 1e3,
        looked.as_secs_f64() * 1e3,
        peak_megabytes(),
        path.display()
    );
}

fn code_addresses(path: &Path) -> Vec<u64> {
    let bytes = std::fs::read(path).expect("the file can be read");
    let file = object::File::parse(&*bytes).expect("the file is an ELF file");
    let code: Vec<_> = file
        .segments()
        .filter(|s| matches!(s.flags(), SegmentFlags::Elf { p_flags } if p_flags & elf::PF_X != 0))
        .collect();
    let total: u64 = code.iter().map(|segment| segment.size()).sum();
    let step = (total / LOOKUPS).max(1);
    let all = code.iter().flat_map(|s| (s.address()..s.address() + s.size()).step_by(step as usize));
    all.take(LOOKUPS as usize).collect()
}

fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or(0) / 1024
}
