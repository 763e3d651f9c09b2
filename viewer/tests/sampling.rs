//! Estimates from samples, against the truth and against exact counting.

use crate::shown;
use crate::support::Made;
use crate::support::fixtures::sampled;
use analysis::query::Part;
use analysis::{Amount, Cost, Metric, Names, Profile, Spread, Tree, functions};
use capture::{Action, Ended, ReallocOutcome, Sampling};
use engine::{Analyzer, Naming};
use proptest::prelude::*;
use report::text;

/// So close that there are hundreds of samples of each kind: errors are normally distributed only then.
const INTERVAL: u64 = 8 << 10;

/// Random numbers for a program and its samples (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// True with this probability.
    fn hits(&mut self, probability: f64) -> bool {
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

/// One block of the program: its size, and whether it is freed at once, later, or never.
#[derive(Clone, Copy)]
struct Planned {
    size: u64,
    end: u64,
}

/// What a program does, the same in each run.
fn program() -> Vec<Planned> {
    let mut random = Random(1);
    let mut planned = || {
        let word = random.next();
        let size = match word % 100 {
            0..70 => 16 + (word >> 8) % 240,
            70..98 => 256 + (word >> 8) % 16_000,
            _ => (word >> 8) % 400_000,
        };
        Planned { size, end: (word >> 40) % 3 }
    };
    (0..30_000).map(|_| planned()).collect()
}

/// The program's capture: everything for an interval of 0, else samples. Blocks that are freed later leave in the
/// second half, in which as many come as go.
fn run(interval: u64, seed: u64) -> Profile {
    let mut random = Random(seed);
    let (mut made, process, thread, [stack]) = Made::app_with(["main > work"]);
    made.tables.metadata.sample_interval = interval;
    let sampling = Sampling::new(interval);
    let mut later = Vec::new();
    for (number, Planned { size, end }) in (1..).zip(program()) {
        let is_recorded = sampling.is_none_or(|sampling| random.hits(1.0 / sampling.weight(size).blocks));
        if is_recorded {
            made.alloc(thread, number * 16, size, stack);
            match end {
                0 => made.free(thread, number * 16),
                1 => later.push(number * 16),
                _ => {}
            }
        } else if made.events.last().is_some_and(|event| event.action != Action::Unsampled) {
            made.event(thread, Action::Unsampled);
        }
    }
    later.into_iter().for_each(|address| made.free(thread, address));
    made.end(process, thread, Ended::Exited(0));
    made.profile()
}

/// Each number of a cost with its error and its truth.
fn numbers(cost: &Cost, spread: &Cost<Spread>, truth: &Cost) -> [(f64, f64, f64); 10] {
    std::array::from_fn(|number| {
        let metric = number / 2;
        let [amount, truth] = [cost, truth]
            .map(|cost| [cost.allocated, cost.freed, cost.temporary, cost.peak, cost.leaked][metric]);
        let spread = [spread.allocated, spread.freed, spread.temporary, spread.peak, spread.leaked][metric];
        match number % 2 {
            0 => (amount.blocks as f64, spread.blocks.sqrt(), truth.blocks as f64),
            _ => (amount.bytes as f64, spread.bytes.sqrt(), truth.bytes as f64),
        }
    })
}

/// Check that 99 of 100 numbers, over as many runs, are within three of the standard errors that are shown with it, and that no
/// number is biased.
#[test]
fn estimates_are_within_three_of_their_errors() {
    let exact = run(0, 0).total;
    let mut distances: Vec<[f64; 10]> = Vec::new();
    for seed in 1..=100 {
        let profile = run(INTERVAL, seed);
        let of_run = numbers(&profile.total, &profile.total_spread, &exact);
        distances.push(of_run.map(|(estimate, error, truth)| (estimate - truth) / error));
    }
    let far = distances.iter().flatten().filter(|distance| distance.abs() > 3.0).count();
    assert!(100 * far <= distances.as_flattened().len(), "{far} numbers are farther off: {distances:?}");
    for number in 0..10 {
        let of_number: Vec<f64> = distances.iter().map(|run| run[number]).collect();
        // The mean of 100 has a tenth of the deviation.
        let mean = of_number.iter().sum::<f64>() / 100.0;
        assert!(mean.abs() < 0.4, "number {number} is biased by {mean} errors");
    }
}

/// Check that the timeline of a sampled capture has the errors of its numbers.
#[test]
fn timelines_have_errors() {
    let path = sampled().saved("a.memprof");
    let mut analyzer = Analyzer::open(&path).unwrap();
    let (timeline, profile) = analyzer.timeline(&Part::Whole, 72).unwrap();
    let loaded = analyzer.show(profile, Naming::Stored);
    let out = shown::written(|out| text::timeline(out, &loaded, &timeline, &text::Style::default()));
    assert!(out.contains("a.memprof: peak ≈") && out.lines().next().unwrap().contains(" ± "), "{out}");
    let sums = out.lines().find(|line| line.contains(" per step")).unwrap();
    assert!(sums.starts_with('≈') && sums.contains(" allocations of ≈"), "{sums}");
}

/// Check that a capture of everything has whole numbers and no errors, in each form.
#[test]
fn exact_captures_have_no_errors() {
    let profile = run(0, 0);
    assert_eq!((profile.sampling, profile.spreads.len()), (None, 0));
    assert_eq!(profile.total_spread, Cost::default());
    let planned = program();
    let bytes: u64 = planned.iter().map(|block| block.size).sum();
    assert_eq!(profile.total.allocated, Amount { blocks: 30_000, bytes: bytes.cast_signed() });
}

/// Check that sums over rows, processes, trees and functions agree to the block and to the last digit of the errors.
#[test]
fn sums_of_estimates_agree() {
    let made = sampled();
    let (profile, names) = (made.profile(), Names::new(&made.tables));
    let (mut cost, mut spread) = (Cost::default(), Cost::default());
    for (site, of_site) in profile.sites_with_spread() {
        cost += site.cost;
        spread += of_site;
    }
    assert_eq!((cost, spread), (profile.total, profile.total_spread));
    assert_eq!((profile.processes[0].cost, profile.processes[0].spread), (cost, spread));
    assert_eq!(profile.peak.held, profile.total.peak);
    for metric in Metric::ALL {
        let trees = [
            Tree::top_down(&profile, &made.tables, &names, metric),
            Tree::inverted(&profile, &made.tables, &names, metric, 0),
        ];
        for tree in &trees {
            assert_eq!(tree.node(Tree::ROOT).total, metric.of(&profile.total));
            let (found, expected) = (tree.spread(Tree::ROOT), metric.of(&profile.total_spread));
            assert!((found.bytes - expected.bytes).abs() <= 1e-9 * expected.bytes, "{found:?} {expected:?}");
        }
        for function in functions(&trees[0], &names) {
            assert!(function.own_spread.bytes <= function.total_spread.bytes * (1.0 + 1e-9));
        }
    }
}

/// Check that what is freed right after its allocation is temporary only where nothing came between.
#[test]
fn blocks_between_samples_end_what_is_temporary() {
    let temporary = sampled().profile().total_spread.temporary;
    let weight = Sampling::new(64 << 10).map(|sampling| sampling.weight(100).variance);
    // One of the two.
    assert_eq!(Some(temporary.blocks), weight);
}

/// Check what documents say of the errors: how many estimates are within three of them, for stacks with five, forty and hundreds
/// of samples; and that large blocks, which are many samples, do not make the errors of a few small ones larger.
#[test]
fn errors_of_few_samples_are_too_small() {
    const INTERVAL: u64 = 512 << 10;
    let sampling = Sampling::new(INTERVAL).unwrap();
    let mut random = Random(3);
    // The share of runs with any sample that are within three errors; blocks are a number of a size.
    let mut within = |blocks: &[(u64, u64)]| {
        let (mut near, mut seen) = (0, 0);
        for _ in 0..1000 {
            let (mut off, mut variance) = (0.0, 0.0);
            let mut samples = 0;
            for &(size, number) in blocks {
                let (weight, size) = (sampling.weight(size), size as f64);
                off -= number as f64 * size;
                // From one sample to the next, a geometric number of blocks is left out.
                let mut block = 0;
                loop {
                    let uniform = ((random.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                    block += (uniform.ln() / (-1.0 / weight.blocks).ln_1p()).ceil().max(1.0) as u64;
                    if block > number {
                        break;
                    }
                    samples += 1;
                    off += weight.blocks * size;
                    variance += weight.variance * size * size;
                }
            }
            if samples > 0 {
                seen += 1;
                near += u64::from(off.abs() <= 3.0 * variance.sqrt().ceil());
            }
        }
        near as f64 / seen as f64
    };
    let small = |samples: u64| (64, samples * INTERVAL / 64);
    let found = [within(&[small(5)]), within(&[small(40)]), within(&[small(400)])];
    let expected = [0.93..=0.985, 0.98..=0.998, 0.99..=1.0];
    assert!(found.iter().zip(expected).all(|(found, expected)| expected.contains(found)), "{found:?}");
    let mixed = within(&[small(3), (INTERVAL, 40)]);
    assert!(mixed < 0.997 && mixed > 0.9, "{mixed}");
}

proptest! {
    /// Check that no events of a sampled capture, and no interval, make counting panic, and that bytes that came and
    /// went leave nothing behind.
    #[test]
    fn any_samples_are_counted(
        sizes in prop::collection::vec(any::<u64>(), 1..60),
        interval in 1..=u64::MAX,
    ) {
        let (mut made, process, thread, [stack]) = Made::app_with(["main"]);
        made.tables.metadata.sample_interval = interval;
        for (block, size) in (1..).zip(&sizes) {
            made.alloc(thread, block * 16, *size, stack);
        }
        for (serial, (block, size)) in (0..).zip((1..).zip(&sizes)) {
            let outcome = ReallocOutcome::Block { address: block * 16 + 0x10_0000, size: size / 2, stack };
            made.realloc(thread, serial, block * 16, outcome);
            made.free(thread, block * 16 + 0x10_0000);
        }
        made.end(process, thread, Ended::Exited(0));
        let profile = made.profile();
        prop_assert_eq!(profile.total.leaked, Amount::ZERO);
        prop_assert_eq!(profile.total.allocated, profile.total.freed);
        prop_assert_eq!(profile.total_spread.leaked.bytes_error(), 0);
    }
}
