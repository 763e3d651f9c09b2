//! Decides which process of the capture each image is, and which images must still be kept.
//!
//! An agent may report a process later than the kernel does, so an image is kept after its end until no agent can
//! report it any more. Then its process is decided:
//!
//! ```text
//!   kernel   fork ── exec ── samples ── exit ── gone ┄┄┄┄ GRACE ┄┄┄► decided, and forgotten
//!   agent                connects ┄ end                              (its children know what they need of it)
//!                           └── claimed by the process that an agent reported, whenever images are decided
//! ```
//!
//! So memory use is that of images that live or ended lately, however long a recording takes.

use super::batch::Image;
use super::images::Images;
use super::without_agent::{Descent, WithoutAgent, is_without_agent};
use crate::base::capture_writer::Writer;
use crate::base::clock::Clock;
use crate::tables::processes::Processes;
use capture::{Ended, Error, Process, ProcessEnd, ProcessId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// So long after an image is gone, no agent will report it any more.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// Nanoseconds within which an agent reports a program that was executed.
const LONG_ENOUGH: u64 = 1_000_000_000;

/// The pid in samples that the kernel takes of a task that has already been reaped.
const NOBODY: u32 = u32::MAX;
/// The pid of an idle processor, if the kernel samples these too.
const IDLE: u32 = 0;

/// An image whose process may still change.
#[derive(Debug)]
struct Entry {
    image: Image,
    /// The image that it came from, if that is still kept.
    parent: Option<u32>,
    /// What it inherits from that image, once that is decided.
    heritage: Option<InheritedOwner>,
    /// The process that it is, if known.
    owner: Option<ProcessId>,
    /// The row that it got because no agent reported it.
    row: Option<ProcessId>,
    /// `None` if no agent reported it; otherwise whether that agent was attached.
    recorded: Option<bool>,
}

/// What an image passes on to the images that come from it.
#[derive(Clone, Copy, Debug, Default)]
struct InheritedOwner {
    owner: Option<ProcessId>,
    descent: Descent,
}

/// A decided image.
pub(super) struct Decided {
    pub(super) image: Image,
    pub(super) owner: Option<ProcessId>,
    /// An agent reported it: it is that process itself, not a fork that counts as part of it.
    pub(super) is_recorded: bool,
}

/// Images that are not decided yet.
#[derive(Debug, Default)]
pub(super) struct Owners {
    entries: BTreeMap<u32, Entry>,
    /// Images that no further record can refer to, and since when.
    gone: VecDeque<(Instant, u32)>,
    /// Programs that recorded processes started and that have no agent.
    pub(super) without_agent: WithoutAgent,
    /// Number of sampled processes whose program is unknown.
    pub(super) nameless: u64,
}

impl Owners {
    /// Adds or replaces an image.
    pub(super) fn put(&mut self, id: u32, image: Image) {
        match self.entries.get_mut(&id) {
            Some(entry) => entry.image = image,
            None => {
                // The image that it came from was announced before it.
                let parent = image.parent.filter(|parent| *parent < id);
                let entry = Entry { image, parent, heritage: None, owner: None, row: None, recorded: None };
                self.entries.insert(id, entry);
            }
        }
    }

    /// From now on only an agent can say anything about this image.
    pub(super) fn leave(&mut self, id: u32) {
        self.gone.push_back((Instant::now(), id));
    }

    /// True if images that were gone before `before` wait to be decided.
    pub(super) fn are_due(&self, before: Instant) -> bool {
        self.gone.front().is_some_and(|(gone, _)| *gone < before)
    }

    /// The pids of the images that are kept.
    pub(super) fn pids(&self) -> FxHashSet<u32> {
        self.entries.values().map(|entry| entry.image.pid).collect()
    }

    /// Forgets all images that were gone before the recording began, since it needs nothing of them. Returns their
    /// ids. Images that came from them now come from where these did.
    pub(super) fn forget(&mut self, before: Instant) -> FxHashSet<u32> {
        let due: Vec<u32> = self.take_due(before);
        let mut parents = FxHashMap::default();
        for id in &due {
            if let Some(entry) = self.entries.remove(id) {
                let parent =
                    entry.parent.and_then(|parent| parents.get(&parent).copied().unwrap_or(Some(parent)));
                parents.insert(*id, parent);
            }
        }
        for entry in self.entries.values_mut() {
            if let Some(parent) = entry.parent.and_then(|parent| parents.get(&parent)) {
                entry.parent = *parent;
            }
        }
        parents.into_keys().collect()
    }

    /// Takes the images that were gone before `before`, in order of their ids.
    fn take_due(&mut self, before: Instant) -> Vec<u32> {
        let mut due = Vec::new();
        while let Some((_, id)) = self.gone.pop_front_if(|(gone, _)| *gone < before) {
            due.push(id);
        }
        due.sort_unstable();
        due
    }

    /// Decides all images that were gone before `before`, and forgets them.
    pub(super) fn settle(
        &mut self,
        before: Instant,
        processes: &Processes,
        clock: &Clock,
        writer: &mut Writer,
    ) -> Result<FxHashMap<u32, Decided>, Error> {
        self.claim(processes, clock);
        let due = self.take_due(before);
        self.decide_all(&due, |_| true, clock, writer)
    }

    /// Decides all images, at the end.
    pub(super) fn finish(
        &mut self,
        processes: &Processes,
        clock: &Clock,
        writer: &mut Writer,
    ) -> Result<FxHashMap<u32, Decided>, Error> {
        self.claim(processes, clock);
        let now = clock.nanoseconds(clock.now());
        let lived = |image: &Image| {
            image.ended.is_some() || now.saturating_sub(clock.nanoseconds_of(image.started)) > LONG_ENOUGH
        };
        let all: Vec<u32> = self.entries.keys().copied().collect();
        self.decide_all(&all, lived, clock, writer)
    }

    /// Assigns each process that an agent reported to the image that ran when the agent connected.
    fn claim(&mut self, processes: &Processes, clock: &Clock) {
        let images = Images::of(self.entries.iter().map(|(id, entry)| (*id, &entry.image)));
        let found: Vec<(u32, ProcessId, bool)> = processes
            .with_starts()
            .filter_map(|(id, process, started)| {
                Some((images.of_process(process, started, clock)?, id, process.attached))
            })
            .collect();
        for (image, process, attached) in found {
            if let Some(entry) = self.entries.get_mut(&image) {
                (entry.owner, entry.recorded) = (Some(process), Some(attached));
            }
        }
    }

    /// Decides these images, in this order, and forgets them.
    fn decide_all(
        &mut self,
        ids: &[u32],
        lived: impl Fn(&Image) -> bool,
        clock: &Clock,
        writer: &mut Writer,
    ) -> Result<FxHashMap<u32, Decided>, Error> {
        let (mut decided, mut heritages) = (FxHashMap::default(), FxHashMap::default());
        for id in ids {
            let parent = self.heritage_of(*id, &heritages, clock, writer)?;
            // An image may have been reported gone twice.
            let Some(mut entry) = self.entries.remove(id) else { continue };
            let had_row = entry.row.is_some();
            decide(&mut entry, parent, clock, writer)?;
            if let (true, Some(row)) = (had_row, entry.row) {
                // More is known of it now than when its children needed its row.
                writer.update_process(row, process_of(&entry.image, parent.owner, clock))?;
            }
            let Entry { image, owner, row, recorded, .. } = entry;
            if is_without_agent(&image, parent.descent, recorded, lived(&image)) {
                *self.without_agent.entry(image.program()).or_default() += 1;
            }
            let is_alone = row.is_some() && recorded.is_none();
            let is_process = !matches!(image.pid, NOBODY | IDLE);
            self.nameless += u64::from(is_alone && image.is_sampled && image.is_unknown() && is_process);
            heritages.insert(*id, InheritedOwner { owner, descent: Descent::of(parent.descent, recorded) });
            decided.insert(*id, Decided { image, owner, is_recorded: recorded.is_some() });
        }
        for entry in self.entries.values_mut() {
            if let Some(heritage) = entry.parent.and_then(|parent| heritages.get(&parent)) {
                entry.heritage = Some(*heritage);
            }
        }
        Ok(decided)
    }

    /// What an image inherits. Its ancestors may live on: then they are decided as far as is needed here.
    fn heritage_of(
        &mut self,
        id: u32,
        decided: &FxHashMap<u32, InheritedOwner>,
        clock: &Clock,
        writer: &mut Writer,
    ) -> Result<InheritedOwner, Error> {
        // Innermost first. The chain may be long, so no recursion.
        let (mut chain, mut next) = (Vec::new(), id);
        let mut heritage = loop {
            let Some(entry) = self.entries.get(&next) else { break InheritedOwner::default() };
            if let Some(heritage) = entry.heritage {
                break heritage;
            }
            let Some(parent) = entry.parent else { break InheritedOwner::default() };
            if let Some(heritage) = decided.get(&parent) {
                break *heritage;
            }
            chain.push(parent);
            next = parent;
        };
        for ancestor in chain.into_iter().rev() {
            let Some(entry) = self.entries.get_mut(&ancestor) else { continue };
            decide(entry, heritage, clock, writer)?;
            heritage =
                InheritedOwner { owner: entry.owner, descent: Descent::of(heritage.descent, entry.recorded) };
        }
        Ok(heritage)
    }

    /// Images that are kept.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }
}

/// Decides which process an image is, unless an agent has said so. An image that only the kernel reported gets a
/// process of its own in the capture.
fn decide(
    entry: &mut Entry,
    parent: InheritedOwner,
    clock: &Clock,
    writer: &mut Writer,
) -> Result<(), Error> {
    let image = &entry.image;
    if entry.owner.is_some() || !image.is_chosen {
        return Ok(());
    }
    entry.owner = match parent.owner {
        // A fork without an agent has executed nothing: it still runs its parent's program.
        Some(parent) if !image.is_exec => Some(parent),
        parent if image.is_sampled || (image.is_exec && image.started > 0) => {
            entry.row = Some(writer.process(process_of(image, parent, clock))?);
            entry.row
        }
        _ => None,
    };
    Ok(())
}

fn process_of(image: &Image, parent: Option<ProcessId>, clock: &Clock) -> Process {
    let ended = |ticks| ProcessEnd { ended: Ended::Unknown, time: clock.nanoseconds_of(ticks) };
    Process {
        pid: image.pid,
        parent,
        image: u32::from(image.is_exec),
        name: image.program(),
        executable: image.executable.clone(),
        end: image.ended.map(ended),
        ..Process::default()
    }
}

#[cfg(test)]
mod tests;
