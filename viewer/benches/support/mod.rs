//! What the benches measure with, and the numbers they are made of.

#![allow(dead_code, reason = "each bench uses a part of it")]

use std::time::Duration;

/// CPU time of this thread so far: what else runs on the machine should not count.
pub(crate) fn cpu_time() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts CPU time");
    let first = statistics.split_whitespace().next().expect("three numbers");
    Duration::from_nanos(first.parse().expect("a number"))
}

/// CPU time of all threads of this process so far, also of those that have ended, to a hundredth of a second.
pub(crate) fn process_cpu_time() -> Duration {
    let statistics = std::fs::read_to_string("/proc/self/stat").expect("Linux counts CPU time");
    // The name, which may have any signs in it, is in parentheses.
    let (_, numbers) = statistics.rsplit_once(')').expect("a name");
    let ticks =
        numbers.split_whitespace().skip(11).take(2).map(|number| number.parse::<u64>().expect("a number"));
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// The most memory that this process has had so far, in MiB.
pub(crate) fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// xorshift64*: the same numbers on every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number from 0 to before `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}
