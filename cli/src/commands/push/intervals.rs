//! Recordings that go on, cut into intervals: of each, what was allocated in it, and what is held at its end.
//!
//! ```text
//!  LiveHeap of now ─────────┐ while it goes on
//!                           ├─ less what was allocated before ──► a profile ──► spool
//!  the finished capture ────┘ at its end
//! ```
//!
//! An interval is a profile of its own from when it is made, whenever it is sent. All of a recording add up to what its
//! capture reports: the last one has whatever those before have not.

use super::receiver::{Receiver, Subject};
use super::sender::Sender;
use crate::commands::live::{Heaps, Missing};
use crate::commands::secret::random;
use crate::message;
use analysis::query::Query;
use analysis::{Amount, Cost, Instant, Profile, Site, Span, process_name};
use anyhow::{Context, anyhow};
use capture::{NodeId, Process, ProcessId};
use collector::Requests;
use engine::{Analyzer, Loaded, Naming};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The intervals of all recordings of a command.
pub(super) struct Intervals {
    heaps: Heaps,
    /// Where names come from once a recording has ended.
    naming: Naming,
    /// Of all of them; without a name, each has that of its program.
    subject: Subject,
    receiver: Receiver,
    sender: Sender,
    /// By capture.
    before: HashMap<PathBuf, Before>,
    failed: Option<String>,
}

/// What the intervals of a recording have had so far.
#[derive(Default)]
struct Before {
    name: Option<String>,
    /// Nanoseconds since the recording began.
    time: u64,
    allocated: HashMap<(ProcessId, NodeId), Amount>,
}

impl Intervals {
    pub(super) fn new(
        heaps: Heaps,
        naming: Naming,
        subject: Subject,
        receiver: Receiver,
        sender: Sender,
    ) -> Intervals {
        Intervals { heaps, naming, subject, receiver, sender, before: HashMap::new(), failed: None }
    }

    /// Ends an interval of a recording that goes on.
    pub(super) fn cut(&mut self, recording: &Requests) {
        let cut = self.cut_live(recording);
        self.tell(cut);
    }

    /// Makes the last interval of a recording, known by `key` until then, from its finished capture.
    pub(super) fn finish(&mut self, key: &Path, capture: &Path) {
        let before = self.before.remove(key).unwrap_or_default();
        let rest = self.rest(before, capture).context("the last interval is not pushed");
        self.tell(rest);
    }

    /// Says why something cannot be pushed, once.
    fn tell(&mut self, result: anyhow::Result<()>) {
        let Err(error) = result else { return };
        let reason = format!("{error:#}");
        if self.failed.as_ref() != Some(&reason) {
            message::warning(&reason);
            self.failed = Some(reason);
        }
    }

    fn cut_live(&mut self, recording: &Requests) -> anyhow::Result<()> {
        // A recording that is just ending makes its last interval when it has.
        let Ok(mut heap) = recording.live_heap(true) else { return Ok(()) };
        let path = recording.output();
        let profile = std::mem::take(&mut heap.profile);
        let before = self.before.entry(path.to_owned()).or_default();
        let (changed, allocated) = before.change(profile, heap.time);
        if changed.sites.is_empty() {
            return Ok(());
        }
        let loaded = self.heaps.named(path, &mut heap, changed, true).map_err(|missing| match missing {
            Missing::Failed(reason) => anyhow!("an interval is not pushed: {reason}"),
            // Checked when the recording began.
            other => anyhow!("an interval is not pushed: {other:?}"),
        })?;
        if loaded.tables.metadata.started_unix_ns == 0 {
            return Ok(());
        }
        let name = before.name.get_or_insert_with(|| name_of(&loaded.tables.processes)).clone();
        self.put(&loaded, name)?;
        let before = self.before.entry(path.to_owned()).or_default();
        (before.time, before.allocated) = (heap.time, allocated);
        Ok(())
    }

    fn rest(&self, before: Before, capture: &Path) -> anyhow::Result<()> {
        let mut analyzer = Analyzer::open(capture)?;
        let profile = analyzer.profile(&Query::default())?;
        let (changed, _) = before.change(profile, 0);
        if changed.sites.is_empty() {
            return Ok(());
        }
        let mut loaded = analyzer.show(changed, self.naming.clone());
        let end = loaded.duration_ns();
        if let Span::Range { to, .. } = &mut loaded.profile.span {
            to.time = to.time.max(end);
        }
        let name = before.name.unwrap_or_else(|| name_of(&loaded.tables.processes));
        self.put(&loaded, name)
    }

    fn put(&self, loaded: &Loaded, name: String) -> anyhow::Result<()> {
        let mut subject = self.subject.clone();
        if subject.name.is_empty() {
            subject.name = name;
        }
        self.sender.put(&self.receiver.upload(loaded, &subject, random()?)?);
        Ok(())
    }
}

impl Before {
    /// What was allocated since, and what is held now; and what had been allocated by now, to continue from.
    fn change(&self, mut profile: Profile, time: u64) -> (Profile, HashMap<(ProcessId, NodeId), Amount>) {
        let mut now: HashMap<(ProcessId, NodeId), (Amount, Amount)> = HashMap::new();
        let mut order = Vec::new();
        for site in std::mem::take(&mut profile.sites) {
            let key = (site.process, site.node);
            let (allocated, live) = now.entry(key).or_insert_with(|| {
                order.push(key);
                Default::default()
            });
            *allocated += site.cost.allocated;
            *live += site.cost.live();
        }
        let position = match profile.span {
            Span::At(at) => at.position,
            Span::Whole | Span::Range { .. } => profile.events,
        };
        let (from, to) = (Instant::after(0, self.time), Instant::after(position, time.max(self.time)));
        let mut change =
            Profile { span: Span::Range { from, to }, sampling: profile.sampling, ..Profile::default() };
        for key in order {
            let Some(&(allocated, live)) = now.get(&key) else { continue };
            let before = self.allocated.get(&key).copied().unwrap_or_default();
            let cost = Cost { allocated: allocated - before, leaked: live, ..Cost::default() };
            if cost != Cost::default() {
                let (process, node) = key;
                change.total += cost;
                change.sites.push(Site { process, thread: None, node, cost });
            }
        }
        (change, now.into_iter().map(|(key, (allocated, _))| (key, allocated)).collect())
    }
}

/// The program of the first process: the one that `env` and shells become.
fn name_of(processes: &[Process]) -> String {
    let mut main = 0;
    for (index, process) in processes.iter().enumerate().skip(1) {
        if process.image > 0 && process.parent == Some(ProcessId::from_index(main)) {
            main = index;
        }
    }
    let Some(process) = processes.get(main) else { return "process".to_owned() };
    let executable = Path::new(&process.executable).file_name().unwrap_or_default().to_string_lossy();
    let name = process_name(process);
    // The kernel keeps the first fifteen bytes of a name.
    if executable.starts_with(&name) { executable.into_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(rows: &[(u32, i64, i64)]) -> Profile {
        let amount = |bytes| Amount { blocks: bytes / 8, bytes };
        let site = |&(node, allocated, live): &(u32, i64, i64)| {
            let cost = Cost { allocated: amount(allocated), leaked: amount(live), ..Cost::default() };
            Site { process: ProcessId(0), thread: None, node: NodeId(node), cost }
        };
        Profile {
            sites: rows.iter().map(site).collect(),
            span: Span::At(Instant::default()),
            ..Profile::default()
        }
    }

    fn rows(profile: &Profile) -> Vec<(u32, i64, i64)> {
        let row = |site: &Site| (site.node.0, site.cost.allocated.bytes, site.cost.live().bytes);
        profile.sites.iter().map(row).collect()
    }

    /// Check that an interval has what was allocated in it and what is held at its end, that intervals add up, and that
    /// stacks of which nothing is left and nothing new are left out.
    #[test]
    fn intervals_add_up() {
        let mut before = Before::default();
        let (first, allocated) = before.change(profile(&[(1, 80, 80), (2, 64, 0), (2, 8, 8)]), 5);
        assert_eq!(rows(&first), [(1, 80, 80), (2, 72, 8)]);
        (before.allocated, before.time) = (allocated, 5);
        let (second, _) = before.change(profile(&[(1, 96, 16), (2, 72, 0), (3, 8, 8)]), 9);
        assert_eq!(rows(&second), [(1, 16, 16), (3, 8, 8)]);
        assert_eq!(second.total.allocated.bytes, 24);
        let Span::Range { from, to } = second.span else { panic!("{:?}", second.span) };
        assert_eq!((from.time, to.time), (5, 9));
    }
}
