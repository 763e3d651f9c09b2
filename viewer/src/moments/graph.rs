//! Which block kept which alive when a process was scanned: the events up to then, and the pointers that were found.

use super::Moments;
use super::lives::without_leaks_that_are_meant;
use super::pass::Pass;
use crate::analysis::{Amount, Birth, Death, End, Life, Load, Profile, Site, Span, Watch};
use crate::graph::{BlockId, GraphBuilder, HeldBlock, Memory, Roots, Scanned};
use crate::loaded::Loaded;
use crate::open::Error;
use crate::query::{Anchor, Lens, Query, When};
use crate::suppression::Suppressions;
use crate::symbolize::Naming;
use capture::{Action, Event, NodeId, Pointer, ProcessId, ScanId, ThreadId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Observes a pass for the blocks and mappings of a process at its end.
struct Held {
    process: ProcessId,
    /// By thread, whose it is.
    processes: Vec<ProcessId>,
    blocks: Vec<HeldBlock>,
    memory: Memory,
}

impl Watch for Held {
    type Kept = ();

    fn born(&mut self, _: &Birth, _: Option<&Life<()>>) {}

    fn died(&mut self, life: &Life<()>, death: &Death) {
        if life.process == self.process && matches!(death.end, End::Left { .. }) {
            let Life { address, size, node, thread, .. } = *life;
            self.blocks.push(HeldBlock { address, size, node, thread });
        }
    }

    fn event(&mut self, _: crate::analysis::Instant, event: &Event) {
        let ThreadId(thread) = event.thread;
        if self.processes.get(thread as usize) == Some(&self.process) {
            self.memory.pages.note(&event.action);
            self.memory.has_own_break |= matches!(event.action, Action::Break { .. });
        }
    }
}

impl Moments {
    /// The graph of a scan, the last one where none is named; they are counted from 1.
    ///
    /// # Errors
    /// [`Error::NotScanned`] where there is none, [`Error::Aggregated`], and those of the file.
    pub fn graph(mut self, number: Option<usize>, naming: Naming) -> Result<(Loaded, Scanned), Error> {
        let (profile, scanned) = self.scanned(number, &naming)?;
        Ok((self.show(profile, naming), scanned))
    }

    /// What was leaked of it nobody could reach when its process was scanned last, in the place of what was leaked: stacks as they are
    /// seen through a lens, without those that rules leave out.
    ///
    /// # Errors
    /// As [`Self::graph`].
    pub fn unreachable(
        mut self,
        lens: &Lens,
        suppressions: &Suppressions,
        naming: Naming,
    ) -> Result<Loaded, Error> {
        if lens.asks_for_threads() {
            self.tell_threads_apart();
        }
        let by_threads = self.by_threads;
        let last: BTreeMap<ProcessId, usize> =
            (1..).zip(&self.reader.tables().scans).map(|(number, scan)| (scan.process, number)).collect();
        if last.is_empty() {
            self.scanned(None, &naming)?;
        }
        let mut found: HashMap<(ProcessId, Option<ThreadId>, NodeId), Amount> = HashMap::new();
        for (process, number) in &last {
            let (_, Scanned { graph, .. }) = self.scanned(Some(*number), &Naming::Stored)?;
            for (block, id) in graph.blocks().iter().zip((0..).map(BlockId)) {
                if graph.keeper(id).is_none() {
                    let thread = by_threads.then_some(block.thread);
                    *found.entry((*process, thread, block.node)).or_default() += Amount::block(block.size);
                }
            }
        }
        let mut profile = self.profile(&Query::default())?;
        let is_unscanned =
            |process: &Site| !last.contains_key(&process.process) && !process.cost.leaked.is_zero();
        let unscanned: BTreeSet<ProcessId> =
            profile.sites.iter().filter(|site| is_unscanned(site)).map(|site| site.process).collect();
        profile.set_leaked(|site| {
            found.get(&(site.process, site.thread, site.node)).copied().unwrap_or_default()
        });
        let mut loaded = self.show(profile, naming);
        loaded.unscanned = Some(unscanned.len());
        Ok(without_leaks_that_are_meant(loaded, lens, suppressions, None))
    }

    /// The graph of a scan, and what was counted up to it.
    fn scanned(&mut self, number: Option<usize>, naming: &Naming) -> Result<(Profile, Scanned), Error> {
        self.needs_blocks("single blocks")?;
        let tables = self.reader.tables();
        let count = tables.scans.len();
        let missing = || Error::NotScanned { file: self.source.file.clone(), count, number };
        let number = number.unwrap_or(count);
        let scan =
            number.checked_sub(1).and_then(|index| tables.scans.get(index)).ok_or_else(missing)?.clone();
        let process = tables.processes.get(scan.process.index());
        let is_partial = process.is_none_or(|process| process.attached || process.forked);
        // It lies well within the time in which the process stood still, so that stored times of events may be rounded.
        let at = self.instant(&When::from(Anchor::Time(scan.time)))?;
        let tables = self.reader.tables();
        let watch = Held {
            process: scan.process,
            processes: tables.threads.iter().map(|thread| thread.process).collect(),
            blocks: Vec::new(),
            memory: Memory::default(),
        };
        let mut pass = Pass::new(Load::watched(tables, watch), None);
        let span = Span::At(at);
        let read = self.run(&mut pass, 0, span);
        pass.hold_peak_at(span);
        let (profile, Held { blocks, mut memory, .. }) = self.end_pass(pass, span);
        self.note_damage(read)?;

        let id = ScanId::from_index(number - 1);
        let read = self.reader.for_each_pointers(id, |some| {
            some.iter().for_each(|pointer| memory.arenas.note(pointer.from, pointer.to));
        });
        self.note_damage(read)?;
        let mut roots = Roots::new(self.reader.tables(), &scan, naming, &memory, is_partial);
        let mut builder = GraphBuilder::new(blocks);
        let read = self.reader.for_each_pointers(id, |some| {
            for Pointer { from, to } in some.iter().copied() {
                if roots.is_in_use(from) {
                    builder.pointer_in_use(roots.source(from), to);
                } else {
                    builder.pointer(from, to, |from| roots.source(from));
                }
            }
        });
        let roots = roots.into_names();
        self.note_damage(read)?;
        let graph = builder.finish();
        Ok((profile, Scanned { scan, number, count, is_partial, roots, graph }))
    }
}
