//! Converts ticks of the agents' clock to nanoseconds since the start of the recording.
//!
//! Agents read the time stamp counter where it is invariant and the same on all processors, otherwise
//! `CLOCK_MONOTONIC_RAW`. The counter's rate is
//! measured against `CLOCK_MONOTONIC_RAW` at the start and again every second: first over the time since the process
//! began ([`note_time`]), so that no program waits for it. Each stretch between two measurements is a line that begins
//! where the last one ended, so converted times never run backwards.
//!
//! While a machine sleeps, the counter may go on and that clock stand still. Such a stretch says nothing about the
//! rate, which is measured anew from its end; event times continue with the counter.

use rustix::time::{ClockId, clock_gettime};
use shared_ring::record::TIME_SHIFT;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::OnceLock;
use std::time::Duration;

/// One conversion: a line through `(ticks, ns)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    tsc: bool,
    /// Start of the rate measurement: ticks, and nanoseconds of `CLOCK_MONOTONIC_RAW`.
    origin: (u64, u64),
    /// The last measurement.
    last: (u64, u64),
    /// Start of the current line: ticks, nanoseconds of the recording.
    base: (u64, u64),
    /// Nanoseconds per tick.
    rate: f64,
    /// See [`Clock::bend_ns`].
    bend: u64,
    /// When the recording begins, in ticks; [`AWAITED`] while unknown.
    beginning: u64,
}

/// Assumed bound on how far the clocks of two processors differ, in shifted ticks: some 1.6 µs.
pub(crate) const EPSILON: u64 = 256;

/// In `beginning`: the recording has not begun yet.
const AWAITED: u64 = u64::MAX;

/// Longest time from taking a sample to converting it, unless the machine stands still.
const SAMPLES_WAIT_NS: f64 = 500e6;

/// Nanoseconds by which the clocks may differ over a stretch, beyond a hundredth of it; a sleeping machine exceeds
/// that.
const APART_NS: f64 = 100e6;

/// Shortest time over which the rate is measured: both clocks are read within 0.1 µs.
const LEAST_NS: u64 = 2_000_000;
/// Longest time for the first measurement: a service may have slept since it began, machine and all.
const FIRST_NS: u64 = 20_000_000;

/// What [`note_time`] has noted.
static NOTED: OnceLock<Pair> = OnceLock::new();

/// Notes the time on both clocks. Called when the process begins: it parses its command line and so on anyway, before a
/// recording needs the rate.
pub fn note_time() {
    NOTED.get_or_init(|| pair(HAS_TSC));
}

/// One moment on two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// On the agents' clock, unshifted.
    pub(crate) ticks: u64,
    /// On `CLOCK_MONOTONIC_RAW`.
    pub(crate) raw_ns: u64,
    /// Ticks that passed while reading both.
    pub(crate) window: u64,
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds.
fn raw_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Whether agents may use the time stamp counter at all: on other architectures counters tick too slowly to order
/// events.
pub(crate) const HAS_TSC: bool = cfg!(target_arch = "x86_64");

/// True when the counter runs at a constant rate on all processors, in all power states, and is the same on all of
/// them: events of two processors are ordered by it.
fn tsc_is_invariant() -> bool {
    let read = |path| std::fs::read_to_string(path).ok();
    let sources = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    HAS_TSC && first_processor().is_ok_and(|flags| is_invariant(&flags, read(sources).as_deref()))
}

/// What the kernel says of the first processor, up to its flags: for each further one it may have to ask that one.
fn first_processor() -> io::Result<String> {
    let mut text = String::new();
    let mut lines = BufReader::new(File::open("/proc/cpuinfo")?);
    while lines.read_line(&mut text)? != 0 {
        if text.lines().next_back().is_some_and(|line| line.starts_with("flags")) {
            break;
        }
    }
    Ok(text)
}

/// The same by what the kernel says about processors, and which clocks it offers to itself: it compares the counters
/// of all processors while these hand a lock to and fro, and no longer offers a counter that has gone back.
fn is_invariant(cpus: &str, sources: Option<&str>) -> bool {
    let has = |words: &str, wanted| words.split_whitespace().any(|word| word == wanted);
    let flags = cpus.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    has(flags, "constant_tsc") && has(flags, "nonstop_tsc") && sources.is_none_or(|names| has(names, "tsc"))
}

/// Reads both clocks at one moment, as closely together as a few attempts allow.
fn pair(tsc: bool) -> Pair {
    let attempt = || {
        let before = ticks(tsc);
        let raw_ns = raw_ns();
        let window = ticks(tsc).saturating_sub(before);
        Pair { ticks: before + window / 2, raw_ns, window }
    };
    (0..5).map(|_| attempt()).min_by_key(|pair| pair.window).unwrap_or_else(attempt)
}

fn ticks(tsc: bool) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if tsc {
        // SAFETY: reads the counter, which the kernel allows: we are not under PR_TSC_SIGSEGV.
        return unsafe { core::arch::x86_64::_rdtsc() };
    }
    let _ = tsc;
    raw_ns()
}

impl Clock {
    /// Chooses the clock and measures its rate, over two milliseconds at least.
    pub(crate) fn start() -> Clock {
        let tsc = tsc_is_invariant();
        let mut clock =
            Clock { tsc, origin: (0, 0), last: (0, 0), base: (0, 0), rate: 1.0, bend: 0, beginning: 0 };
        let now = clock.pair();
        let is_recent = |noted: &Pair| tsc && now.raw_ns.saturating_sub(noted.raw_ns) < FIRST_NS;
        let Pair { ticks, raw_ns, .. } = NOTED.get().copied().filter(is_recent).unwrap_or(now);
        (clock.origin, clock.last) = ((ticks, raw_ns), (ticks, raw_ns));
        if tsc {
            let rest = LEAST_NS.saturating_sub(now.raw_ns.saturating_sub(raw_ns));
            std::thread::sleep(Duration::from_nanos(rest));
            clock.measure();
        }
        (clock.base, clock.bend) = ((now.ticks, 0), 0);
        clock
    }

    /// The same clock for a recording that begins later, see [`Clock::begin`]. Until then no time is within the
    /// recording.
    pub(crate) fn awaiting(self) -> Clock {
        Clock { beginning: AWAITED, ..self }
    }

    /// Begins the awaited recording at this time, in shifted ticks: nanoseconds count from there. Returns the
    /// nanoseconds since the clock was started, or `None` if no beginning is awaited.
    pub(crate) fn begin(&mut self, shifted: u64) -> Option<u64> {
        if self.beginning != AWAITED {
            return None;
        }
        let waited = self.nanoseconds(shifted);
        self.beginning = shifted << TIME_SHIFT;
        self.base = (self.beginning, 0);
        Some(waited)
    }

    /// True for a time, in unshifted ticks, before the recording began.
    pub(crate) fn is_before(&self, ticks: u64) -> bool {
        ticks < self.beginning
    }

    /// Measures the rate again, over the whole recording. Called about once a second.
    pub(crate) fn measure(&mut self) {
        if self.tsc {
            self.note(self.pair());
        }
    }

    fn note(&mut self, pair: Pair) {
        let now = (pair.ticks, pair.raw_ns);
        // A counter that was set back does not continue the earlier line.
        if now.0 < self.base.0 {
            return;
        }
        self.base = (now.0, self.nanoseconds_of(now.0));
        let last = std::mem::replace(&mut self.last, now);
        let told = now.1.saturating_sub(last.1) as f64;
        let expected = now.0.saturating_sub(last.0) as f64 * self.rate;
        if (told - expected).abs() > APART_NS + told.min(expected) / 100.0 {
            self.origin = now;
            return;
        }
        let elapsed = now.0.saturating_sub(self.origin.0);
        if elapsed > 0 {
            let before = self.rate;
            self.rate = now.1.saturating_sub(self.origin.1) as f64 / elapsed as f64;
            let bend = (self.rate / before - 1.0).abs() * SAMPLES_WAIT_NS;
            self.bend = self.bend.max(bend.ceil() as u64);
        }
    }

    /// Reads both clocks at one moment, as closely together as a few attempts allow.
    pub(crate) fn pair(&self) -> Pair {
        pair(self.tsc)
    }

    /// Now, in unshifted ticks.
    pub(crate) fn ticks(&self) -> u64 {
        ticks(self.tsc)
    }

    /// Largest difference in nanoseconds between two conversions of the same time with a measurement in between:
    /// sample times are converted a moment later than event times.
    pub(crate) fn bend_ns(&self) -> u64 {
        self.bend
    }

    /// True when the clock is the time stamp counter.
    pub(crate) fn is_tsc(&self) -> bool {
        self.tsc
    }

    /// Now in shifted ticks, as in records.
    pub(crate) fn now(&self) -> u64 {
        now(self.tsc)
    }

    /// Converts shifted ticks to nanoseconds since the start of the recording.
    pub(crate) fn nanoseconds(&self, shifted: u64) -> u64 {
        self.nanoseconds_of(shifted << TIME_SHIFT)
    }

    /// Converts unshifted ticks to nanoseconds since the start of the recording.
    pub(crate) fn nanoseconds_of(&self, ticks: u64) -> u64 {
        let distance = ticks.wrapping_sub(self.base.0).cast_signed() as f64 * self.rate;
        self.base.1.saturating_add_signed(distance as i64)
    }

    /// Converts a number of unshifted ticks to nanoseconds.
    pub(crate) fn duration(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.rate) as u64
    }
}

/// Now in shifted ticks, by the time stamp counter or by the system's clock.
pub(crate) fn now(tsc: bool) -> u64 {
    ticks(tsc) >> TIME_SHIFT
}

/// What this process has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// User and system time, nanoseconds.
    pub(crate) cpu_ns: u64,
    /// Peak resident memory, bytes.
    pub(crate) peak_rss: u64,
}

impl From<libc::rusage> for Usage {
    fn from(usage: libc::rusage) -> Self {
        let ns = |time: libc::timeval| {
            time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1000
        };
        Self {
            cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
            peak_rss: usage.ru_maxrss.unsigned_abs() * 1024,
        }
    }
}

/// Processor time and memory used by this process.
pub(crate) fn own_usage() -> Usage {
    // SAFETY: all bits of the struct may be zero.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the struct is writable.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    Usage::from(usage)
}

/// Processor time of the calling thread so far, nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Check that the counter is used only if it never stops, and not if the kernel has found that processors differ.
    #[test]
    fn counters_that_differ_are_not_used() {
        let good = "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc sse\n";
        for (cpus, sources, expected) in [
            (good, Some("tsc kvm-clock\n"), true),
            (good, Some("hpet acpi_pm \n"), false),
            (good, Some("tsc-early hpet\n"), false),
            (good, None, true),
            ("flags\t\t: fpu constant_tsc sse\n", Some("tsc\n"), false),
            ("", None, false),
        ] {
            assert_eq!(is_invariant(cpus, sources), expected, "{cpus}{sources:?}");
        }
    }

    /// Check that a counter that restarts changes no earlier time.
    #[test]
    fn counter_that_begins_anew_moves_no_time() {
        let now = Clock::start();
        let mut clock = Clock { tsc: true, base: (u64::MAX >> 1, 7), ..now };
        clock.measure();
        assert_eq!((clock.base, clock.nanoseconds_of(u64::MAX >> 1)), ((u64::MAX >> 1, 7), 7));
    }

    /// Check that hours in which only one of the clocks goes on, as while a machine sleeps, do not change the rate
    /// afterwards.
    #[test]
    fn sleep_of_the_machine_bends_no_time() {
        const SECOND: u64 = 1_000_000_000;
        for (ticks_asleep, raw_asleep) in [(8 * 3600 * 2 * SECOND, 0), (0, 8 * 3600 * SECOND)] {
            let origin = (1_000, 5_000);
            let mut clock = Clock {
                tsc: true,
                origin,
                last: origin,
                base: (origin.0, 0),
                rate: 0.5,
                bend: 0,
                beginning: 0,
            };
            let mut now = Pair { ticks: origin.0, raw_ns: origin.1, window: 0 };
            for second in 0..20 {
                let before = now.ticks;
                now.ticks += 2 * SECOND;
                now.raw_ns += SECOND;
                if second == 10 {
                    now.ticks += ticks_asleep;
                    now.raw_ns += raw_asleep;
                } else {
                    let passed = clock.nanoseconds_of(now.ticks) - clock.nanoseconds_of(before);
                    assert!(passed.abs_diff(SECOND) < SECOND / 1000, "second {second} took {passed} ns");
                }
                clock.note(now);
            }
        }
    }

    /// Check that a recording that begins later counts time from then on, at the same rate, and begins only once.
    #[test]
    fn recording_that_is_waited_for_begins_at_zero() {
        const SECOND: u64 = 1_000_000_000;
        let (base, last) = ((0, 0), (0, 0));
        let mut clock =
            Clock { tsc: true, origin: (0, 0), last, base, rate: 0.5, bend: 0, beginning: 0 }.awaiting();
        assert!(clock.is_before(100 * SECOND));
        let now = (6 * SECOND) >> TIME_SHIFT;
        assert_eq!(clock.begin(now), Some(3 * SECOND));
        assert_eq!((clock.begin(now * 2), clock.nanoseconds(now)), (None, 0));
        assert!(clock.is_before(5 * SECOND) && !clock.is_before(7 * SECOND));
        assert_eq!(clock.nanoseconds_of(8 * SECOND), SECOND);
        clock.note(Pair { ticks: 10 * SECOND, raw_ns: 5 * SECOND, window: 0 });
        assert_eq!(clock.nanoseconds_of(12 * SECOND), 3 * SECOND);
        let mut begun = Clock { beginning: 0, ..clock };
        assert_eq!(begun.begin(now), None);
    }

    /// Check that converted time advances at the rate of the system's clock.
    #[test]
    fn time_passes_at_the_right_rate() {
        let mut clock = Clock::start();
        // The true time lies between two measurements: this thread may be suspended between any two lines.
        let before = Instant::now();
        let from = clock.nanoseconds(clock.now());
        let after = Instant::now();
        std::thread::sleep(Duration::from_millis(20));
        clock.measure();
        let between = clock.nanoseconds(clock.now());
        std::thread::sleep(Duration::from_millis(20));
        let shortest = after.elapsed().as_nanos() as f64;
        let to = clock.nanoseconds(clock.now());
        let longest = before.elapsed().as_nanos() as f64;
        assert!(from <= between && between <= to);
        let measured = (to - from) as f64;
        assert!(
            (0.95 * shortest..1.05 * longest).contains(&measured),
            "{measured}, not {shortest} to {longest}"
        );
    }
}
