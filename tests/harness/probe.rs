//! The output of `backtrace_probe`: stacks as glibc's unwinder saw them.

use super::capture::{Frame, Row};
use super::{Fixture, library, record};
use std::path::{Path, PathBuf};

/// The calls of `probe` from one place.
#[derive(Debug)]
pub(crate) struct Probe {
    /// Sizes of the blocks that they allocated.
    pub(crate) sizes: Vec<u64>,
    /// Module and address of each frame, innermost first.
    pub(crate) frames: Vec<(String, u64)>,
}

impl Probe {
    /// All places that a program has printed.
    fn all(text: &str) -> Vec<Probe> {
        let mut all: Vec<Probe> = Vec::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("probe ")) {
            let (size, frames) = Probe::parse(line);
            match all.iter_mut().find(|probe| probe.frames == frames) {
                Some(known) => known.sizes.push(size),
                None => all.push(Probe { sizes: vec![size], frames }),
            }
        }
        all
    }

    fn parse(line: &str) -> (u64, Vec<(String, u64)>) {
        let mut words = line.split(' ');
        let size = words.next().and_then(|word| word.parse().ok()).expect("a probe has a size");
        let frame = |word: &str| {
            let (module, address) = word.split_once('+').expect("a frame has a module and an address");
            (real_path(module), super::event::address(address))
        };
        (size, words.map(frame).collect())
    }

    /// Checks that a recorded stack is this one, frame by frame. Of the first frame only the module and the function
    /// can be compared: `probe` calls the allocator and the unwinder from two places.
    pub(crate) fn assert_is(&self, recorded: &[Frame]) {
        let frames = |skip| recorded.iter().skip(skip).map(|frame| (real_path(&frame.module), frame.address));
        let expected: Vec<_> = self.frames.iter().skip(1).cloned().collect();
        assert_eq!(frames(1).collect::<Vec<_>>(), expected, "probe {:?}: {recorded:#?}", self.sizes);
        assert_eq!(recorded[0].function, "probe", "{recorded:#?}");
        assert_eq!(real_path(&recorded[0].module), self.frames[0].0);
    }
}

/// The library with `probe`.
pub(crate) fn probe_library() -> PathBuf {
    library("backtrace_probe").build()
}

/// Records a program that is linked with the probe; returns each place with the row that was recorded for it.
pub(crate) fn record_probes(fixture: &Fixture) -> Vec<(Probe, Row)> {
    let (ran, capture) = record(fixture.clone().with(&probe_library()).build()).with_names().succeed();
    let rows = capture.rows();
    let find = |probe: Probe| {
        let (count, bytes) = (probe.sizes.len() as u64, probe.sizes.iter().sum::<u64>());
        let mut found: Vec<_> = rows.iter().filter(|row| row.is_of(count, bytes)).cloned().collect();
        assert_eq!(found.len(), 1, "rows of probe {:?}: {found:#?}", probe.sizes);
        (probe, found.remove(0))
    };
    let probes: Vec<_> = Probe::all(ran.text()).into_iter().map(find).collect();
    assert!(!probes.is_empty(), "the program made no probe");
    probes
}

/// The path without symbolic links: the loader and the kernel may name the same file differently.
fn real_path(module: &str) -> String {
    Path::new(module).canonicalize().map_or(module.to_string(), |path| path.display().to_string())
}
