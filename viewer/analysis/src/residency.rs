//! Which pages are resident, which blocks lie on them, and who touched them first.
//!
//! ```text
//!  events ──► Load ──► births, deaths, mappings ──┐
//!                                                 ├──► Memory of each process ──► survey: sums by stack
//!  page faults, by their times ───────────────────┘
//! ```
//!
//! A page is resident from its first fault until it is known to be gone: it was unmapped, moved or given back by a
//! call that the agent records, its block was one that libc maps separately and was freed, or its process ended or
//! executed another program. Pages that go without a record count as resident here: those that libc gives back at the
//! end of its heap, and those that a program passes to `madvise`. Pages without a fault are missing here: those from
//! before the recording, those that a child inherits, and those that the kernel populates ahead (`MAP_POPULATE`,
//! `mlock`).
//!
//! If the whole recording is asked for, a process that has ended counts as it was then; at a moment, only running
//! ones count.
//!
//! Memory is bounded by live blocks and resident pages.

mod memory;
mod survey;

#[cfg(test)]
mod tests;

pub use survey::{HeldRow, ResidencySums, ResidencyTable, TouchRow};

use crate::count::samples::owners;
use crate::count::watch::{Birth, Death, End, Instant, Left, Life, Watch};
use capture::{Action, Ended, Event, Fault, FaultSummary, NodeId, ProcessId, Sampling, Tables};
use memory::Memory;
use survey::{Held, Survey};

/// Most pages that are followed: 128 GiB of small ones. Further ones are only counted.
const MOST_PAGES: usize = 1 << 25;
/// Page size in bytes if a capture does not say.
const PAGE: u64 = 4096;
/// Valid page sizes in bytes.
const PAGES: std::ops::RangeInclusive<u64> = 512..=1 << 30;

/// Decides which stacks are shown individually.
pub trait Choice {
    /// Whether a block is shown with its stack.
    fn takes(&mut self, birth: &Birth) -> bool;
    /// Whether what a stack touched is shown with it.
    fn takes_stack(&mut self, process: ProcessId, node: NodeId) -> bool;
}

/// The part of a recording to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Only pages that became resident at this time or later, nanoseconds since the recording began.
    pub since: u64,
    /// Faults after this time have not happened yet.
    pub until: u64,
    /// Whether processes that ended earlier count, as they were at their end.
    pub with_ended: bool,
}

/// Observes a pass, and merges the page faults into it.
pub struct Residency<'t, F, C> {
    tables: &'t Tables,
    /// The page faults in order of time, and the next one.
    faults: F,
    next: Option<Fault>,
    choice: C,
    look: Look,
    owners: Vec<Option<ProcessId>>,
    memories: Vec<Memory>,
    survey: Survey,
    /// Pages of all processes, and the number that exceeded the limit.
    pages: usize,
    beyond: u64,
    /// Faults of processes that the capture does not name.
    stray: u64,
}

impl<'t, F: FnMut() -> Option<Fault>, C: Choice> Residency<'t, F, C> {
    /// For the capture with these tables.
    pub fn new(tables: &'t Tables, mut faults: F, choice: C, look: Look) -> Self {
        let stated = tables.summary.as_ref().map_or(0, |summary| summary.faults.page_bytes);
        let page = if stated.is_power_of_two() && PAGES.contains(&stated) { stated } else { PAGE };
        let next = faults();
        Self {
            tables,
            faults,
            next,
            choice,
            look,
            owners: owners(tables),
            memories: tables.processes.iter().map(|_| Memory::new(page)).collect(),
            survey: Survey::new(page, look.since, Sampling::new(tables.metadata.sample_interval)),
            pages: 0,
            beyond: 0,
            stray: 0,
        }
    }

    /// The result, after the last event.
    pub fn finish(mut self) -> ResidencyTable {
        self.advance(self.look.until);
        for index in 0..self.memories.len() {
            self.end(ProcessId::from_index(index));
        }
        let told = self.tables.summary.as_ref().map(|summary| &summary.faults);
        let huge = told.filter(|told| told.huge_pages == "always").map_or(0, |told| told.huge_page_bytes);
        ResidencyTable {
            has_faults: told.is_some_and(|told| told.is_recorded) || self.survey.has_any(),
            lost: told.map_or(0, |told: &FaultSummary| told.lost),
            beyond: self.beyond,
            stray: self.stray,
            ..self.survey.finish(huge)
        }
    }

    /// Processes the faults up to a time.
    // Cost: one comparison if there is none.
    #[inline]
    fn advance(&mut self, time: u64) {
        while let Some(fault) = self.next.filter(|fault| fault.time <= time.min(self.look.until)) {
            self.touch(&fault);
            self.next = (self.faults)();
        }
    }

    fn touch(&mut self, fault: &Fault) {
        let owner = self.owners.get(fault.task.index()).copied().flatten();
        match owner.and_then(|owner| self.memories.get_mut(owner.index())) {
            None => self.stray += 1,
            Some(memory) if memory.is_over => {}
            Some(memory) => {
                let room = self.pages < MOST_PAGES;
                self.pages += usize::from(memory.touch(fault, room));
                self.beyond += u64::from(!room);
            }
        }
    }

    /// What is known of the memory of a process, which is forgotten.
    fn take(&mut self, process: ProcessId) -> Option<Memory> {
        let memory = self.memories.get_mut(process.index())?.take();
        self.pages -= memory.pages.len();
        Some(memory)
    }

    /// Counts the pages of a process, and forgets them.
    fn end(&mut self, process: ProcessId) {
        let Some(Memory { pages, ground, left, .. }) = self.take(process) else { return };
        self.survey.add(process, &pages, &ground, left, |node| self.choice.takes_stack(process, node));
    }
}

impl<F: FnMut() -> Option<Fault>, C: Choice> Watch for Residency<'_, F, C> {
    /// Whether the block is shown with its stack.
    type Attached = bool;

    fn born(&mut self, birth: &Birth, _: Option<&Life<bool>>) -> bool {
        self.advance(birth.at.time);
        self.choice.takes(birth)
    }

    fn died(&mut self, life: &Life<bool>, death: &Death) {
        self.advance(death.at.time);
        let &Life { process, node, address, size, attached, .. } = life;
        let Some(memory) = self.memories.get_mut(process.index()) else { return };
        let gone = match death.end {
            End::Freed { .. } | End::Displaced { .. } => memory.free(address, size),
            End::Resized { address: to, size: new, .. } => memory.resize((address, size), (to, new)),
            End::Left { left: Left::AtExec, .. } => 0,
            End::Left { ended, .. } => {
                if self.look.with_ended || ended == Ended::Running {
                    memory.left.push(Held { address, size, node, is_chosen: attached });
                }
                0
            }
        };
        self.pages -= gone;
    }

    fn event(&mut self, at: Instant, event: &Event) {
        self.advance(at.time);
        let process = self.tables.process_of(event.thread);
        let memory = process.and_then(|process| self.memories.get_mut(process.index()));
        let gone = match (event.action, memory) {
            (Action::ProcessEnd { process }, _) => {
                if let Some(memory) = self.memories.get_mut(process.index()) {
                    memory.is_over = true;
                }
                let ended = self.tables.processes.get(process.index()).and_then(|row| row.end.as_ref());
                match ended.is_some_and(|end| end.ended == Ended::Exec) || !self.look.with_ended {
                    true => drop(self.take(process)),
                    false => self.end(process),
                }
                0
            }
            // Whatever was there is gone. First touches come after the call.
            (Action::Map { address, length, .. } | Action::Unmap { address, length }, Some(memory)) => {
                memory.remove(address, length)
            }
            (Action::Remap { old_address, old_length, address, length, .. }, Some(memory)) => {
                memory.relocate(old_address, old_length, address, length)
            }
            (Action::Break { address, .. }, Some(memory)) => memory.set_break(address),
            _ => 0,
        };
        self.pages -= gone;
    }
}
