//! Estimates how much counted work no sample accounts for.
//!
//! An inherited event counts anew in each thread, and a sample is due when a whole period is full:
//!
//! ```text
//!  threads of 0.6 ms, a period of 1 ms     ├──────┤ ├──────┤ ├──────┤ …     no sample, however many they are
//!  threads of 2.6 ms                       ├─────────▲─────────▲──────┤ …   two each, the rest is missing
//! ```
//!
//! So samples understate programs with many short threads or processes, the more so the shorter these are. The
//! event's own count includes everything.

use super::ring::EventTotals;
use crate::base::cpu_options::CpuOptions;

/// If fewer samples than this are missing, the ends of threads explain it.
const FEW: u64 = 20;

/// What the samples of a recording account for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SampledWork {
    /// Samples received.
    pub(super) samples: u64,
    /// Their weights, added up.
    pub(super) weight: u64,
    /// Samples that the kernel had no room for.
    pub(super) lost: u64,
    /// Threads that began.
    pub(super) threads: u64,
}

impl SampledWork {
    /// Adds a sample of this weight.
    pub(super) fn add(&mut self, weight: u64) {
        self.samples += 1;
        self.weight = self.weight.saturating_add(weight);
    }

    /// The count that received and lost samples account for together.
    fn all(self, period: u64) -> u64 {
        let each = self.weight.checked_div(self.samples).unwrap_or(period);
        self.weight.saturating_add(each.saturating_mul(self.lost))
    }
}

/// A sentence about what is missing, if that is more than a tenth.
pub(super) fn note(sampled_work: SampledWork, ran: EventTotals, options: CpuOptions) -> Option<String> {
    let period_ns = 1_000_000_000 / u64::from(options.frequency.max(1));
    // The average count in the time of one period, while threads ran.
    let period = scaled(ran.counted, period_ns, ran.ran_ns);
    let missing = ran.counted.saturating_sub(sampled_work.all(period));
    if missing <= ran.counted / 10 || missing <= period.saturating_mul(FEW) {
        return None;
    }
    // Each thread loses less than one period when it ends. If that does not explain it, samples were not taken when
    // due.
    let why = match missing <= period.saturating_mul(sampled_work.threads + 1) || sampled_work.lost > 0 {
        true => format!(
            "a thread or process gets its first sample after {} of work, and many ended sooner (a higher --frequency samples more of \
             them, --system all)",
            milliseconds(period_ns)
        ),
        false => {
            "the processor was taken away while samples were due, as happens in virtual machines".to_owned()
        }
    };
    Some(format!(
        "{} of {} CPU time has no samples: {why}",
        milliseconds(scaled(ran.ran_ns, missing, ran.counted)),
        milliseconds(ran.ran_ns),
    ))
}

/// `amount * part / whole`; 0 if `whole` is.
fn scaled(amount: u64, part: u64, whole: u64) -> u64 {
    let scaled = (u128::from(amount) * u128::from(part)).checked_div(whole.into()).unwrap_or(0);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Formats a time in a suitable unit.
fn milliseconds(nanoseconds: u64) -> String {
    match nanoseconds {
        0..1_000_000_000 => format!("{:.1} ms", nanoseconds as f64 / 1e6),
        _ => format!("{:.2} s", nanoseconds as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cpu_options::Scope;

    const MILLISECOND: u64 = 1_000_000;

    fn noted(sampled_work: SampledWork, ran: EventTotals) -> Option<String> {
        let scope = Scope::Tree { pid: 1, follow: true };
        let options = CpuOptions {
            processors: true,
            frequency: 1000,
            stack_bytes: None,
            keep_stacks: false,
            faults: false,
            scope,
        };
        note(sampled_work, ran, options)
    }

    fn sampled_work(samples: u64, lost: u64) -> SampledWork {
        SampledWork { samples, weight: samples * MILLISECOND, lost, threads: 4000 }
    }

    fn ran(milliseconds: u64) -> EventTotals {
        EventTotals { counted: milliseconds * MILLISECOND, ran_ns: milliseconds * MILLISECOND }
    }

    /// Check that missing work is reported if it is more than a tenth and more than the ends of a few threads
    /// explain, and that lost samples count as samples.
    #[test]
    fn missing_work_is_told() {
        for (sampled_work, ran, is_noted) in [
            (sampled_work(3, 0), ran(2139), true),
            (sampled_work(0, 0), ran(100), true),
            (sampled_work(1998, 0), ran(2020), false),
            (sampled_work(899, 0), ran(1000), true),
            (sampled_work(901, 0), ran(1000), false),
            (sampled_work(500, 450), ran(1000), false),
            (sampled_work(0, 0), ran(19), false),
            (sampled_work(0, 0), ran(0), false),
            (sampled_work(2000, 0), ran(1000), false),
        ] {
            assert_eq!(noted(sampled_work, ran).is_some(), is_noted, "{sampled_work:?} {ran:?}");
        }
    }

    /// Check that short threads are blamed for no more than a period each.
    #[test]
    fn what_threads_cannot_have_missed_is_told_apart() {
        for (threads, sooner) in [(1500, true), (1499, true), (1000, false), (0, false)] {
            let note =
                noted(SampledWork { threads, ..sampled_work(500, 0) }, ran(2000)).expect("most is missing");
            assert_eq!(note.contains("ended sooner"), sooner, "{threads}: {note}");
            assert_ne!(note.contains("virtual machines"), sooner, "{threads}: {note}");
        }
    }

    /// Check that the sentence gives times even for cycles, of which there are three per nanosecond here.
    #[test]
    fn missing_cycles_are_told_in_time() {
        let clock = noted(sampled_work(500, 0), ran(2000)).expect("most is missing");
        let cycles = noted(
            SampledWork { weight: 1500 * MILLISECOND, ..sampled_work(500, 0) },
            EventTotals { counted: 6000 * MILLISECOND, ran_ns: 2000 * MILLISECOND },
        );
        assert!(clock.starts_with("1.50 s of 2.00 s CPU time has no samples: "), "{clock}");
        assert!(clock.contains("after 1.0 ms of work"), "{clock}");
        assert_eq!(cycles, Some(clock));
    }
}
