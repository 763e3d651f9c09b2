//! Counts over all processes of a recording, and what the user is told about them.

use crate::drain::image_drain::Counts;
use crate::drain::message::Counters;
use shared_ring::process_slot::Loss;
use std::sync::atomic::Ordering;

/// Totals over all processes that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) counters: Counters,
    /// Impossible ids from agents.
    pub(crate) corrupt: u64,
    /// Ticks spent in all hooks, estimated from those that were timed.
    pub(crate) agent_ticks: u64,
    /// Processes for which their image had no free slot.
    pub(crate) refused: u64,
    /// Images whose table of modules and functions was full.
    pub(crate) full_logs: u64,
    /// Bytes of shared memory.
    pub(crate) shared_memory: u64,
}

impl Totals {
    /// Adds the counts of a process that has ended, and whose threads wrote this many records.
    pub(crate) fn add(&mut self, counters: &Counters, records: u64) {
        let totals = &mut self.counters;
        for (sum, count) in totals.lost.iter_mut().zip(counters.lost) {
            *sum += count;
        }
        totals.stack_table_full += counters.stack_table_full;
        totals.agent_allocations += counters.agent_allocations;
        totals.wait_ns += counters.wait_ns;
        totals.unread_scripts += counters.unread_scripts;
        totals.unknown_interpreters += counters.unknown_interpreters;
        if let Some(each) = counters.timed_ticks.checked_div(counters.timed_events) {
            self.agent_ticks += each * records;
        }
    }

    /// Events lost so far, according to processes that have ended.
    pub(crate) fn lost(&self) -> u64 {
        self.counters.lost.iter().sum()
    }

    /// Remarks for the user besides losses, in a recording of this many processes.
    pub(crate) fn remarks(&self, processes: usize, counts: &Counts) -> Vec<String> {
        let mut remarks = Vec::new();
        if processes == 0 {
            remarks.push(
                "No process was recorded: the agent was not loaded, could not start, or no process was \
                 selected (--only, --skip). `sysprof-memprof doctor` shows what is wrong with this machine."
                    .into(),
            );
        }
        if self.refused > 0 {
            remarks.push(format!(
                "Processes that were not recorded: {}. Of the processes that one program forks, 1,024 at a \
                 time are recorded, and none that a signal handler forks while it interrupts an allocation.",
                self.refused
            ));
        }
        // Relaxed: the drain thread has ended.
        let jumps = counts.jumps.load(Ordering::Relaxed);
        if jumps > 0 {
            remarks.push(format!(
                "Times that the processor's clock was set back, as when the machine is suspended: {jumps}. \
                 What was recorded after that has no times, and is ordered within each thread only."
            ));
        }
        let counters = &self.counters;
        if counters.stack_table_full > 0 {
            remarks.push(format!(
                "Stacks that could not be kept: {}. Their events show as [stack table full]: a recording holds \
                 16 million different frames in stacks. Record less at a time, or cut stacks with --max-depth.",
                counters.stack_table_full
            ));
        }
        if self.full_logs > 0 {
            remarks.push(format!(
                "Programs with more libraries, or functions of interpreters, than can be described: {}. There is room for 16 \
                 MiB of names and paths, less where memory is limited (ulimit -v). Frames in what came after that have no names.",
                self.full_logs
            ));
        }
        if counters.unknown_interpreters > 0 {
            remarks.push(format!(
                "Processes with an interpreter whose frames cannot be read: {}. Their stacks have native frames only: \
                 known are CPython 3.8 to 3.14, Ruby 2.7 to 3.4, PHP 7.4 to 8.4, and Perl 5.30 to 5.40.",
                counters.unknown_interpreters
            ));
        }
        if counters.unread_scripts > 0 {
            remarks.push(format!(
                "Stacks without the functions of the script that was running: {}. The interpreter's memory was not as its \
                 version should have it.",
                counters.unread_scripts
            ));
        }
        if counters.agent_allocations > 0 {
            remarks.push(format!(
                "Allocations of the agent's own through its hooks: {}. Please report this.",
                counters.agent_allocations
            ));
        }
        remarks
    }

    /// Losses by reason, with advice, for the capture.
    pub(crate) fn losses(&self, counts: &Counts) -> Vec<capture::Lost> {
        let advice = |loss: Loss| match loss {
            Loss::RingFull => {
                "Make the rings larger with --ring-size, or let threads wait with --on-full block."
            }
            Loss::Nested => {
                "These calls came from signal handlers that had interrupted a hook, or from a stack provider."
            }
            Loss::NoRing => {
                "More threads than rings: make the rings smaller with --ring-size, so that there are more."
            }
            Loss::Sandbox => {
                "The program has forbidden itself system calls (seccomp) that recording needs for new \
                 threads, or for all."
            }
            Loss::Filter => {
                "Samples whose end could not be noticed: the allocator places blocks too closely or too far \
                 apart, or there was no memory. Estimates are too low by them. Record without --sample."
            }
            Loss::NoPool => {
                "Reports of blocks in no pool, or in pools beyond the 64 that a process may have. Put them together in \
                 fewer pools."
            }
        };
        let mut losses: Vec<capture::Lost> = Loss::ALL
            .into_iter()
            .zip(self.counters.lost)
            .filter(|(_, events)| *events > 0)
            .map(|((loss, reason), events)| capture::Lost {
                reason: reason.into(),
                events,
                advice: advice(loss).into(),
            })
            .collect();
        // Relaxed: the drain thread has ended, or the counts are a snapshot of what it counts on.
        let rings = counts.corrupt.load(Ordering::Relaxed);
        if self.corrupt + rings > 0 {
            let advice = "A recorded process has overwritten memory of the recording.";
            let unread = counts.unread.load(Ordering::Relaxed) * 8 / 1024;
            losses.push(capture::Lost {
                reason: "corrupt".into(),
                events: self.corrupt + rings,
                advice: match rings {
                    0 => advice.into(),
                    _ => format!(
                        "{advice} What its threads wrote after that, {unread} KiB, is unknown, and not \
                         included here."
                    ),
                },
            });
        }
        losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that all remarks are single-line sentences with single blanks.
    #[test]
    fn remarks_and_advice_are_sentences() {
        let counters = Counters {
            lost: [1; Loss::ALL.len()],
            stack_table_full: 1,
            agent_allocations: 1,
            unread_scripts: 1,
            unknown_interpreters: 1,
            ..Counters::default()
        };
        let totals = Totals { counters, refused: 1, full_logs: 1, ..Totals::default() };
        let counts = Counts::default();
        counts.jumps.store(1, Ordering::Relaxed);
        let mut texts = totals.remarks(0, &counts);
        assert_eq!(texts.len(), 8, "{texts:#?}");
        texts.extend(totals.losses(&counts).into_iter().map(|lost| lost.advice));
        for text in texts {
            let is_plain = !text.contains("  ") && !text.contains('\n') && text.ends_with('.');
            assert!(is_plain, "{text:?}");
        }
    }
}
