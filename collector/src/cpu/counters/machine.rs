//! Load of the machine's processors, and the collector's own use of resources.

use super::{Reading, Round, Source};
use crate::base::clock::own_usage;
use capture::CounterKind;

/// Busy time of each processor, from `/proc/stat`.
pub(super) struct Processors;

impl Source for Processors {
    fn read(&mut self, _: &Round, reading: &mut Reading) {
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        for (processor, ticks) in busy(&text) {
            reading.add(None, CounterKind::CpuBusy, processor, ticks.saturating_mul(tick));
        }
    }
}

/// Processors and their busy ticks, from lines like `cpu3 user nice system idle iowait irq softirq …`.
fn busy(text: &str) -> impl Iterator<Item = (u32, u64)> {
    text.lines().filter_map(|line| {
        let (name, times) = line.split_once(' ')?;
        let processor = name.strip_prefix("cpu")?.parse().ok()?;
        let times: Vec<u64> = times.split_ascii_whitespace().filter_map(|time| time.parse().ok()).collect();
        // Fields four and five are idle time and waiting for disks; those after the eighth are already included in
        // the first two.
        let work = times.iter().take(8).enumerate().filter(|(place, _)| !matches!(place, 3 | 4));
        Some((processor, work.fold(0, |sum: u64, (_, time)| sum.saturating_add(*time))))
    })
}

/// The collector's own processor time and memory.
pub(super) struct Own;

impl Source for Own {
    fn read(&mut self, _: &Round, reading: &mut Reading) {
        reading.add(None, CounterKind::CollectorTime, 0, own_usage().cpu_ns);
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages: Option<u64> = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
        if let Some(pages) = pages {
            let bytes = pages.saturating_mul(rustix::param::page_size() as u64);
            reading.add(None, CounterKind::CollectorRss, 0, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that everything but idle time counts as busy, for each processor by its number.
    #[test]
    fn work_is_what_is_not_idle() {
        let text = "cpu  9 9 9 9\ncpu0 1 2 4 1000 2000 8 16 32 64 128\ncpu11 5 0 0 7\nintr 5\ncpux 1\n";
        assert_eq!(busy(text).collect::<Vec<_>>(), [(0, 63), (11, 5)]);
    }
}
