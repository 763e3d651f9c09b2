//! Which process of the capture each image is, and which images are needed on.
//!
//! An agent may tell of a process later than the kernel does, so an image waits after its end, until no agent can tell of it any more. Then
//! its process is decided:
//!
//! ```text
//!   kernel   fork ── exec ── samples ── exit ── gone ┄┄┄┄ GRACE ┄┄┄► decided, and forgotten
//!   agent                connects ┄ end                              (its children know what they need of it)
//!                           └── claimed by whoever an agent told of, whenever images are decided
//! ```
//!
//! So memory is that of images which live, or have ended lately, however long a recording takes.

use super::batch::Image;
use super::images::Images;
use super::strangers::{Descent, Strangers, is_stranger};
use crate::clock::Clock;
use crate::processes::Processes;
use capture::{Ended, Error, Process, ProcessEnd, ProcessId, Writer};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// So long after an image is gone no agent tells of it any more.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// Nanoseconds within which an agent has told of a program that was executed.
const LONG_ENOUGH: u64 = 1_000_000_000;

/// The pid of samples that the kernel takes of a task which it is done with.
const NOBODY: u32 = u32::MAX;
/// That of a processor with nothing to do, where the kernel samples these, too.
const IDLE: u32 = 0;

/// An image whose process may still change.
#[derive(Debug)]
struct Entry {
    image: Image,
    /// The image it came from, as far as that is kept.
    parent: Option<u32>,
    /// What it has from that, once it is decided.
    heritage: Option<Heritage>,
    /// The process that it is, as far as that is known.
    owner: Option<ProcessId>,
    /// The row of its own that it has got because no agent told of it.
    row: Option<ProcessId>,
    /// Whether an agent told of it, and if so, whether that was attached to.
    recorded: Option<bool>,
}

/// What an image leaves to those that came from it.
#[derive(Clone, Copy, Debug, Default)]
struct Heritage {
    owner: Option<ProcessId>,
    descent: Descent,
}

/// An image that was decided.
pub(super) struct Decided {
    pub(super) image: Image,
    pub(super) owner: Option<ProcessId>,
    /// An agent told of it: it is that process, and no fork that counts as it.
    pub(super) is_recorded: bool,
}

/// The images.
#[derive(Debug, Default)]
pub(super) struct Owners {
    entries: BTreeMap<u32, Entry>,
    /// Those that nothing tells of any more, and since when.
    gone: VecDeque<(Instant, u32)>,
    /// Programs that recorded ones have started and that have no agent.
    pub(super) strangers: Strangers,
    /// Processes with samples of which nobody knows what they ran.
    pub(super) nameless: u64,
}

impl Owners {
    /// An image is new, or has changed.
    pub(super) fn put(&mut self, id: u32, image: Image) {
        match self.entries.get_mut(&id) {
            Some(entry) => entry.image = image,
            None => {
                // Whoever an image came from was announced before it.
                let parent = image.parent.filter(|parent| *parent < id);
                let entry = Entry { image, parent, heritage: None, owner: None, row: None, recorded: None };
                self.entries.insert(id, entry);
            }
        }
    }

    /// Nothing tells of an image any more but an agent.
    pub(super) fn leave(&mut self, id: u32) {
        self.gone.push_back((Instant::now(), id));
    }

    /// True when there are images to be decided that were gone before.
    pub(super) fn are_due(&self, before: Instant) -> bool {
        self.gone.front().is_some_and(|(gone, _)| *gone < before)
    }

    /// The pids of images that are needed on.
    pub(super) fn pids(&self) -> FxHashSet<u32> {
        self.entries.values().map(|entry| entry.image.pid).collect()
    }

    /// Forgets all that were gone before the recording has begun: it knows nothing of them. Gives their ids. Those that came from them came
    /// from where these did.
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

    /// Those that were gone before, in their order.
    fn take_due(&mut self, before: Instant) -> Vec<u32> {
        let mut due = Vec::new();
        while let Some((_, id)) = self.gone.pop_front_if(|(gone, _)| *gone < before) {
            due.push(id);
        }
        due.sort_unstable();
        due
    }

    /// Decides all that were gone before, and forgets them.
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

    /// Decides all, at the end.
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

    /// Each process that an agent told of belongs to the image that ran when it connected.
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

    /// Decides these, in their order, and forgets them.
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
            // One that was told to be gone twice is so already.
            let Some(mut entry) = self.entries.remove(id) else { continue };
            let had_row = entry.row.is_some();
            decide(&mut entry, parent, clock, writer)?;
            if let (true, Some(row)) = (had_row, entry.row) {
                // What is known of it now is more than its children needed.
                writer.update_process(row, process_of(&entry.image, parent.owner, clock))?;
            }
            let Entry { image, owner, row, recorded, .. } = entry;
            if is_stranger(&image, parent.descent, recorded, lived(&image)) {
                *self.strangers.entry(image.program()).or_default() += 1;
            }
            let is_alone = row.is_some() && recorded.is_none();
            let is_process = !matches!(image.pid, NOBODY | IDLE);
            self.nameless += u64::from(is_alone && image.is_sampled && image.is_unknown() && is_process);
            heritages.insert(*id, Heritage { owner, descent: Descent::of(parent.descent, recorded) });
            decided.insert(*id, Decided { image, owner, is_recorded: recorded.is_some() });
        }
        for entry in self.entries.values_mut() {
            if let Some(heritage) = entry.parent.and_then(|parent| heritages.get(&parent)) {
                entry.heritage = Some(*heritage);
            }
        }
        Ok(decided)
    }

    /// What an image has from where it came from. What that is may live on: then as much of it is decided as is needed here.
    fn heritage_of(
        &mut self,
        id: u32,
        decided: &FxHashMap<u32, Heritage>,
        clock: &Clock,
        writer: &mut Writer,
    ) -> Result<Heritage, Error> {
        // Innermost first. A chain of processes may be long.
        let (mut chain, mut next) = (Vec::new(), id);
        let mut heritage = loop {
            let Some(entry) = self.entries.get(&next) else { break Heritage::default() };
            if let Some(heritage) = entry.heritage {
                break heritage;
            }
            let Some(parent) = entry.parent else { break Heritage::default() };
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
                Heritage { owner: entry.owner, descent: Descent::of(heritage.descent, entry.recorded) };
        }
        Ok(heritage)
    }

    /// Images that are kept.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }
}

/// Says which process an image is, unless an agent has told it. An image that only the kernel told of becomes a process of the capture.
fn decide(entry: &mut Entry, parent: Heritage, clock: &Clock, writer: &mut Writer) -> Result<(), Error> {
    let image = &entry.image;
    if entry.owner.is_some() || !image.is_chosen {
        return Ok(());
    }
    entry.owner = match parent.owner {
        // A fork that no agent told of has executed nothing: it is still its parent's program.
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
