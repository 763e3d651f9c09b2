use super::*;
use proptest::prelude::*;

/// A thread that allocates, without the hooks.
struct Thread {
    sampler: Sampler,
    countdown: Cell<i64>,
    interval: u64,
}

impl Thread {
    fn new(seed: u64, interval: u64) -> Self {
        Self { sampler: Sampler::from_seed(seed), countdown: Cell::new(UNDRAWN), interval }
    }

    /// True when the block is recorded.
    fn allocate(&mut self, size: usize) -> bool {
        let left = self.countdown.get() - charge(size);
        self.countdown.set(left);
        left < 0 && self.sampler.draw(&self.countdown, Candidate::of(left), size, self.interval)
    }
}

/// The probability with which a block should be recorded.
fn probability(size: usize, interval: u64) -> f64 {
    -(-(size.max(1) as f64) / interval as f64).exp_m1()
}

/// Sizes as in a program: many small blocks, some large ones. (None of a few bytes: one sample then stands for
/// thousands, so the estimate of their number has an error that is not normally distributed.)
fn sizes() -> Vec<usize> {
    let mut random = Random(7);
    let size = |word: u64| match word % 100 {
        0..60 => 16 + word as usize % 64,
        60..90 => 16 + word as usize % 1024,
        90..99 => 16 + word as usize % 32_768,
        _ => 16 + word as usize % 2_000_000,
    };
    (0..20_000).map(|_| size(random.next() >> 8)).collect()
}

/// The deviation of the samples' estimate of a sum over all blocks from the true sum, in standard errors.
fn errors(seed: u64, interval: u64, value: impl Fn(usize) -> f64, disturb: impl Fn(usize, &Thread)) -> f64 {
    let mut thread = Thread::new(seed, interval);
    let (mut truth, mut estimate, mut variance) = (0.0, 0.0, 0.0);
    for (number, size) in sizes().into_iter().enumerate() {
        disturb(number, &thread);
        let p = probability(size, interval);
        truth += value(size);
        variance += value(size) * value(size) * (1.0 - p) / p;
        if thread.allocate(size) {
            estimate += value(size) / p;
        }
    }
    (estimate - truth) / variance.sqrt()
}

/// Checks that in 99 of 100 runs the estimate is within three standard errors, and that their mean shows no bias.
fn check_estimates(interval: u64, value: impl Fn(usize) -> f64, disturb: impl Fn(usize, &Thread)) {
    let runs: Vec<f64> = (1..=100).map(|seed| errors(seed, interval, &value, &disturb)).collect();
    let near = runs.iter().filter(|error| error.abs() <= 3.0).count();
    assert!(near >= 99, "{near} of 100 within three standard errors: {runs:?}");
    // The mean of 100 runs has a tenth of the standard deviation.
    let mean = runs.iter().sum::<f64>() / 100.0;
    assert!(mean.abs() < 0.3, "biased by {mean} standard errors");
    let spread = runs.iter().map(|error| error * error).sum::<f64>() / 100.0;
    assert!((0.5..2.0).contains(&spread), "a variance of {spread}, not 1");
}

/// Check that bytes are estimated without bias and with the error that theory predicts, for close and for distant
/// samples.
#[test]
fn bytes_are_estimated_within_their_errors() {
    for interval in [1000, 64 << 10, 512 << 10] {
        check_estimates(interval, |size| size as f64, |_, _| {});
    }
}

/// Check the same for the number of blocks.
#[test]
fn blocks_are_estimated_within_their_errors() {
    for interval in [1000, 16 << 10] {
        check_estimates(interval, |_| 1.0, |_, _| {});
    }
}

/// Check that calls which count down but are never recorded, and discarded countdowns, cause no bias: calls that
/// fail, calls inside an allocator, calls that a guard refuses.
#[test]
fn calls_that_are_not_recorded_bias_nothing() {
    let disturb = |number: usize, thread: &Thread| match number % 5 {
        0 => {
            let left = thread.countdown.get() - 3000;
            thread.countdown.set(if left < 0 { UNDRAWN } else { left });
        }
        2 => thread.countdown.set(UNDRAWN),
        _ => {}
    };
    check_estimates(64 << 10, |size| size as f64, disturb);
}

/// Check that a thread's first block is recorded with its probability, neither always nor never.
#[test]
fn first_block_is_recorded_with_its_probability() {
    let (interval, size, threads) = (10_000, 5000, 10_000);
    let recorded = (0..threads).filter(|seed| Thread::new(*seed, interval).allocate(size)).count() as f64;
    let p = probability(size, interval);
    let deviation = (threads as f64 * p * (1.0 - p)).sqrt();
    assert!((recorded - threads as f64 * p).abs() < 4.0 * deviation, "{recorded} of {threads}");
}

proptest! {
    /// Check that a block of twenty intervals is always recorded, whatever came before.
    #[test]
    fn large_blocks_are_always_recorded(
        seed: u64,
        interval in 1..=1u64 << 40,
        before in proptest::collection::vec(0..1usize << 40, 0..20),
        more in 0..1usize << 20,
    ) {
        let mut thread = Thread::new(seed, interval);
        for size in before {
            thread.allocate(size);
        }
        prop_assert!(thread.allocate(20 * interval as usize + more));
    }

    /// Check the logarithm against that of the standard library.
    #[test]
    fn logarithm_is_right(bits in 1..=u64::MAX) {
        let expected = 64.0 - (bits as f64).log2();
        let found = minus_log2(bits) as f64 / (1u64 << 32) as f64;
        prop_assert!((found - expected).abs() < 1e-8, "{found} {expected}");
    }

    /// Check that a distance is never negative and never so long that a countdown could be mistaken for an undrawn
    /// one.
    #[test]
    fn distances_are_bounded(seed: u64, interval in 1..=1u64 << 40) {
        let distance = Sampler::from_seed(seed).distance(interval);
        prop_assert!((0..20 << 40).contains(&distance));
        prop_assert!(distance - weight(LARGE - 1) > DRAWN && distance - LARGE_WEIGHT < DRAWN);
    }
}

/// Check the worked example and the extremes of the logarithm.
#[test]
fn logarithm_has_these_values() {
    let cases = [(0, 64.0), (1, 64.0), (1 << 63, 1.0), (u64::MAX, 0.0), (3 << 61, 1.415_037_499_278_844)];
    for (bits, expected) in cases {
        let found = minus_log2(bits) as f64 / (1u64 << 32) as f64;
        assert!((found - expected).abs() < 1e-9, "{bits:#x}: {found}");
    }
}

/// Check that threads and forked children whose seeds differ in one number draw different distances.
#[test]
fn neighbouring_seeds_draw_differently() {
    let mut distances: Vec<i64> = (0..64u64)
        .flat_map(|bit| [1 << bit, 2 << bit | 1])
        .map(|seed| Sampler::from_seed(seed).distance(1 << 30))
        .collect();
    distances.sort_unstable();
    distances.dedup();
    assert!(distances.len() > 120, "{} of 128", distances.len());
}

/// Check what the countdown of a real thread does: it lets calls pass, it is hit, and then nothing is drawn.
#[test]
fn countdown_lets_pass_until_it_is_hit() {
    let countdown = &arch::thread_local().countdown;
    assert_eq!((countdown.get(), candidate(1000)), (UNDRAWN, Some(Candidate::Open)));
    countdown.set(100);
    assert_eq!((candidate(60), countdown.get()), (None, 40));
    assert_eq!((candidate(0), countdown.get()), (None, 39));
    assert_eq!((candidate(39), countdown.get()), (None, 0));
    assert_eq!((candidate(1), countdown.get()), (Some(Candidate::Hit), UNDRAWN));
    for size in [0, 1, usize::MAX, 1 << 63] {
        assert_eq!((candidate(size), countdown.get()), (Some(Candidate::Open), UNDRAWN));
    }
    // A large block is always examined, whatever is left.
    for size in [LARGE, usize::MAX] {
        countdown.set(20 << 40);
        assert_eq!((candidate(size), countdown.get()), (Some(Candidate::Open), UNDRAWN));
    }
    countdown.set(20 << 40);
    assert_eq!(candidate(LARGE - 1), None);
    countdown.set(UNDRAWN);
}
