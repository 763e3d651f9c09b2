//! Which allocations are recorded when only samples are wanted.
//!
//! Samples are points on the line of all bytes that a thread allocates, at distances that are independent and
//! exponentially distributed with the interval as their mean: a Poisson process. A block is recorded when a point
//! falls into it. The thread counts the bytes to its next point down, so a block that is no sample costs a
//! subtraction and a branch:
//!
//! ```text
//!  bytes      ├─24─┤├───────1000───────┤├16┤├──────────────5000──────────────┤├─24─┤
//!  points                  ×                                ×        ×
//!  countdown   460   436  -564 → drawn: 3100   3084      -1916 → drawn: 9000   8976
//!  recorded             1000                            5000, once
//! ```
//!
//! The exponential distribution has no memory. So the countdown may be drawn anew at any moment that does not depend
//! on its value, which makes every special case sound: a block of s bytes is recorded with probability 1 − exp(−s /
//! interval), independently of all others, whatever became of the calls before it. Calls that fail, calls that an
//! allocator makes itself, and calls that the guard refuses count down, too.
//!
//! Therefore a *large* block ends the countdown, whatever is left of it, and is decided by a new draw. Its call is
//! never forwarded by a jump, so a failing call for a large block is noticed without an extra instruction in other
//! calls.
//!
//! No distance is longer than [`CERTAIN`] intervals, so a block of that size is always recorded; this does not change
//! the probability of any smaller block. A block of 0 bytes counts as 1 byte.

use crate::platform::thread_local::{ThreadLocal, UNDRAWN};
use crate::platform::{arch, config};
use crate::process::{self, Loss, Session, clock, filter};
use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

/// A drawn countdown stays above this, an undrawn one below.
const DRAWN: i64 = -(1 << 55);
/// More than is ever left of a drawn countdown, whatever handlers subtract meanwhile.
const LARGE_WEIGHT: i64 = 1 << 56;
/// Size from which libc by default asks the kernel for a block.
const LARGE: usize = 128 << 10;
/// A block of so many intervals is always recorded.
const CERTAIN: u64 = 20;

/// Mean distance of samples in bytes; 0 when every allocation is recorded. Copied by fork.
static INTERVAL: AtomicU64 = AtomicU64::new(0);
/// The random seed from the environment, 0 for none.
static SEED: AtomicU64 = AtomicU64::new(0);
/// Counts samplers, so that no two in a process begin alike.
static SAMPLERS: AtomicU64 = AtomicU64::new(0);

/// Reads the environment, which is safe only in the constructor.
#[cold]
pub(crate) fn seed() {
    // Relaxed: sessions are published afterwards.
    SEED.store(config::seed().unwrap_or(0), Ordering::Relaxed);
}

/// Called when a session begins, before anything is recorded; false when there is no memory to sample with.
#[cold]
pub(crate) fn start(session: &Session) -> bool {
    let interval = session.control.sample_interval();
    // Relaxed: the session is published afterwards.
    INTERVAL.store(interval, Ordering::Relaxed);
    if interval == 0 { filter::accept_all() } else { filter::start() }
}

/// An allocation that the countdown did not let pass: it is to be recorded, or may have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Candidate {
    /// The countdown ran out within it.
    Hit,
    /// Nothing had been drawn: the thread is new, or nothing is sampled.
    Open,
}

impl Candidate {
    /// Judges by what is left of the countdown.
    #[inline(always)]
    fn of(left: i64) -> Self {
        if left < DRAWN { Candidate::Open } else { Candidate::Hit }
    }
}

/// True when nothing was drawn for the thread, so that there is nothing to count down; always true when everything is
/// recorded.
// Cost: one compare.
#[inline(always)]
pub(crate) fn is_open(local: &ThreadLocal) -> bool {
    local.countdown.get() < DRAWN
}

/// Counts an allocation down; `None` when it is not to be recorded.
// Cost: one subtraction and one branch, and three instructions that clamp the size.
#[inline(always)]
pub(crate) fn candidate(size: usize) -> Option<Candidate> {
    let local = arch::thread_local();
    if arch::count_down(local, charge(size)) {
        return None;
    }
    // Calls before the next draw, of a signal handler or of the allocator itself, are not hit by this point.
    let left = local.countdown.replace(UNDRAWN);
    Some(Candidate::of(left))
}

/// Makes the only thread of a forked child draw anew; otherwise all children of a parent would choose the same
/// samples.
#[cold]
pub(crate) fn begin_child() {
    let local = arch::thread_local();
    local.countdown.set(UNDRAWN);
    // Relaxed: there is no other thread.
    let seed = SEED.load(Ordering::Relaxed);
    if seed != 0 {
        SEED.store(Random(seed ^ u64::from(local.fork.get())).next() | 1, Ordering::Relaxed);
    }
}

/// Bytes that a thread of an unrecorded process allocates before it looks again.
pub(crate) const UNRECORDED: i64 = 1 << 20;

/// What a block subtracts from the countdown before its call: a large one more than is left.
#[inline(always)]
fn charge(size: usize) -> i64 {
    if size < LARGE { weight(size) } else { LARGE_WEIGHT }
}

/// The bytes that a block counts for.
#[inline(always)]
fn weight(size: usize) -> i64 {
    // No block that exists has more.
    size.clamp(1, 1 << 47) as i64
}

/// True when only samples are recorded.
#[cold]
pub(crate) fn samples() -> bool {
    // Relaxed: as in `takes`.
    INTERVAL.load(Ordering::Relaxed) != 0
}

/// Decides whether a candidate at this address is recorded, and draws the distance to the next sample.
// Cost: one load and one compare when everything is recorded.
#[inline(always)]
pub(crate) fn takes(
    sampler: &mut Sampler,
    local: &ThreadLocal,
    candidate: Candidate,
    address: usize,
    size: usize,
) -> bool {
    // Relaxed: stored before the session that the sampler belongs to was published.
    match INTERVAL.load(Ordering::Relaxed) {
        0 => true,
        interval => sampler.takes(&local.countdown, candidate, address, size, interval),
    }
}

/// A thread's random numbers and its last sample.
#[derive(Debug)]
pub(crate) struct Sampler {
    random: Random,
    /// The block of the last sample, 0 for none.
    last: usize,
    /// The countdown right after that sample was taken; every later allocation changes it.
    after: i64,
}

impl Sampler {
    /// For a thread of the process in this slot.
    pub(crate) fn new(slot: u32, tid: u32) -> Self {
        let number = SAMPLERS.fetch_add(1, Ordering::Relaxed);
        let seed = match SEED.load(Ordering::Relaxed) {
            0 => clock::ticks() ^ u64::from(tid) << 32,
            seed => seed,
        };
        // The slot distinguishes a child that was forked without our noticing.
        Self::from_seed(seed ^ u64::from(slot) << 40 ^ number << 20)
    }

    #[inline(never)]
    fn takes(
        &mut self,
        countdown: &Cell<i64>,
        candidate: Candidate,
        address: usize,
        size: usize,
        interval: u64,
    ) -> bool {
        if address == 0 {
            // A call that returned no memory is recorded, but is no block: the draw is for the next one.
            return true;
        }
        if !self.draw(countdown, candidate, size, interval) {
            return false;
        }
        if !filter::add(address) {
            process::lose(Loss::Filter, 1);
            return false;
        }
        self.last = address;
        self.after = countdown.get();
        true
    }

    /// True when the thread has allocated other blocks since this one, none of which was recorded.
    // Cost: one compare when everything is recorded.
    #[inline(always)]
    pub(crate) fn has_allocated_since(&self, local: &ThreadLocal, address: usize) -> bool {
        self.last == address && self.after != local.countdown.get()
    }

    fn from_seed(seed: u64) -> Self {
        // One step of the generator spreads seeds that differ in few bits.
        Self { random: Random(Random(seed).next()), last: 0, after: 0 }
    }

    /// Sets the countdown to the next sample; false when the candidate turns out not to be one.
    fn draw(&mut self, countdown: &Cell<i64>, candidate: Candidate, size: usize, interval: u64) -> bool {
        if candidate == Candidate::Open {
            let left = self.distance(interval) - weight(size);
            if left >= 0 {
                countdown.set(left);
                return false;
            }
        }
        countdown.set(self.distance(interval));
        true
    }

    /// Bytes until the next sample.
    fn distance(&mut self, interval: u64) -> i64 {
        exponential(self.random.next(), interval).min(interval * CERTAIN - 1) as i64
    }
}

/// `SplitMix64`: Steele, Lea, Flood, *Fast splittable pseudorandom number generators* (OOPSLA 2014). Any seed will
/// do, and its one-word state has no bad values.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}

/// ln 2 in units of 2⁻³².
const LN_2: u128 = 0xB172_17F8;

/// An exponentially distributed number with this mean, rounded down, from 64 random bits: −ln(u) × mean, where u is
/// the bits as a fraction.
fn exponential(bits: u64, mean: u64) -> u64 {
    // Below 2³⁸ × 2⁴⁰ × 2³².
    ((u128::from(minus_log2(bits)) * u128::from(mean) * LN_2) >> 64) as u64
}

/// −log₂(bits / 2⁶⁴) in units of 2⁻³², at most 64.
///
/// The integral part is the number of leading zeros; each squaring of what remains, 1 ≤ m < 2, gives one more binary
/// digit of log₂ m: it is 1 when the square is 2 or above. Knuth, *The Art of Computer Programming* 1, section
/// 1.2.2; Turner, *A fast binary logarithm algorithm* (IEEE Signal Processing Magazine 27, 2010).
///
/// Example: bits = 2⁶² + 2⁶¹, the fraction 3/8, has one leading zero and m = 3/2, whose square 9/4 gives the digit 1
/// and m = 9/8; the next two squares stay below 2, the third does not. So log₂ m = 0.1001… in binary, and the result
/// is 1 + 1 − 0.585 = 1.415.
fn minus_log2(bits: u64) -> u64 {
    const DIGITS: u32 = 32;
    let zeros = bits.leading_zeros();
    if zeros == u64::BITS {
        return 64 << DIGITS;
    }
    // m in units of 2⁻⁶³.
    let mut m = bits << zeros;
    let mut log = 0u64;
    for _ in 0..DIGITS {
        // In units of 2⁻⁶²; below 4.
        let square = ((u128::from(m) * u128::from(m)) >> 64) as u64;
        let is_two = square >> 63;
        log = log << 1 | is_two;
        m = square << (1 - is_two);
    }
    ((u64::from(zeros) + 1) << DIGITS) - log
}

#[cfg(test)]
mod tests;
