//! Which block kept which alive when a process was scanned: combines the events up to then with the pointers found.

use super::Analyzer;
use super::heap_snapshot::{HeapSnapshot, SnapshotBuilder};
use super::lifetimes::without_leaks_that_are_meant;
use super::pass::Pass;
use crate::error::Error;
use crate::lens::Lens;
use crate::loaded::Loaded;
use crate::suppression::Suppressions;
use crate::symbolize::Naming;
use analysis::query::processes;
use analysis::{Amount, Profile, ProfileBuilder, Span};
use capture::{NodeId, Pointer, ProcessId, Scan, ScanId, ThreadId};
use heap_graph::{BlockId, Classes, ClassesBuilder, GraphBuilder, Pace, Reach, Roots, Scanned, WhichScan};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Scans of each process that one pass serves if there are more than a few processes. What is held at each scan is a
/// list of 24 bytes per block, while a graph takes some 130 per block: so four lists for each of few processes, or
/// two for each of many, take less than twice the memory of one list each.
const TOGETHER_OF_MANY: usize = 2;
const FEW: usize = 2;

/// Distributes scans over passes; each pass lists the indices of its scans.
fn passes(places: &[usize], scans: &[Scan]) -> Vec<Vec<usize>> {
    let there = || places.iter().filter_map(|place| Some((*place, scans.get(*place)?.process)));
    let processes = there().map(|(_, process)| process).collect::<HashSet<_>>().len();
    let most = if processes <= FEW { SnapshotBuilder::TOGETHER } else { TOGETHER_OF_MANY };
    let mut of_process: HashMap<ProcessId, usize> = HashMap::new();
    let mut passes: Vec<Vec<usize>> = Vec::new();
    for (place, process) in there() {
        let scans = of_process.entry(process).or_default();
        let pass = *scans / most;
        *scans += 1;
        passes.resize_with(passes.len().max(pass + 1), Vec::new);
        passes[pass].push(place);
    }
    passes
}

impl Analyzer {
    /// The graph of a scan. The profile returned with it is that of the whole capture.
    ///
    /// # Errors
    /// [`Error::NotScanned`] when there is no such scan, [`Error::Unknown`] for a process that the capture does not
    /// have, [`Error::Aggregated`], and those of the file.
    pub fn graph(mut self, which: &WhichScan, naming: Naming) -> Result<(Loaded, Scanned), Error> {
        let tables = self.reader.tables();
        let count = tables.scans.len();
        let place = match which {
            WhichScan::Last => count.checked_sub(1),
            WhichScan::Number(number) => number.checked_sub(1).filter(|place| *place < count),
            WhichScan::Of(process) => {
                let taken = processes(std::slice::from_ref(process), tables)?;
                tables.scans.iter().rposition(|scan| taken.get(scan.process.index()) == Some(&true))
            }
        };
        let missing = || Error::NotScanned { file: self.source.file.clone(), count, which: which.clone() };
        let place = place.ok_or_else(missing)?;
        let (profile, mut snapshots) = self.heap_snapshots(&[place])?;
        let snapshot = snapshots.remove(&place).unwrap_or_default();
        let scanned =
            self.scanned(place, snapshot, &naming).and_then(|scanned| self.with_classes(scanned))?;
        Ok((self.show(profile, naming), scanned))
    }

    /// The graphs of scans, with their indices in the capture: each is handed over as soon as it is made, since all
    /// of them may not fit into memory. They take one pass together, or a few if there are many.
    ///
    /// # Errors
    /// Those of the receiver, [`Error::Aggregated`], and those of the file.
    pub fn each_scan(
        &mut self,
        places: &[usize],
        naming: &Naming,
        mut each: impl FnMut(&Scanned) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for now in passes(places, &self.tables().scans) {
            let (_, snapshots) = self.heap_snapshots(&now)?;
            for (place, snapshot) in snapshots {
                self.note_damage(self.go_on())?;
                let scanned = self.scanned(place, snapshot, naming)?;
                each(&self.with_classes(scanned)?)?;
            }
        }
        Ok(())
    }

    /// Replaces leaked blocks by those that were unreachable when their process was last scanned, seen through a
    /// lens, without those that rules suppress. Blocks that were freed later are excluded, whatever they looked like.
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
            (0..).zip(&self.reader.tables().scans).map(|(place, scan)| (scan.process, place)).collect();
        if last.is_empty() {
            return Err(Error::NotScanned {
                file: self.source.file.clone(),
                count: 0,
                which: WhichScan::Last,
            });
        }
        let (mut profile, snapshots) = self.heap_snapshots(&last.values().copied().collect::<Vec<_>>())?;
        let mut found: HashMap<(ProcessId, Option<ThreadId>, NodeId), Amount> = HashMap::new();
        let mut reach = Reach::default();
        for (place, snapshot) in snapshots {
            let scanned = self.scanned(place, snapshot, &Naming::Stored)?;
            reach.add(&scanned);
            for (block, id) in scanned.graph.blocks().iter().zip((0..).map(BlockId)) {
                if scanned.graph.dominator(id).is_none() && !scanned.freed.contains(&block.address) {
                    let thread = by_threads.then_some(block.thread);
                    *found.entry((scanned.scan.process, thread, block.node)).or_default() +=
                        Amount::block(block.size);
                }
            }
        }
        let left = profile.sites.iter().filter(|site| !site.cost.leaked.is_zero()).map(|site| site.process);
        reach.unscanned = left.filter(|process| !last.contains_key(process)).collect::<HashSet<_>>().len();
        profile.set_leaked(|site| {
            found.get(&(site.process, site.thread, site.node)).copied().unwrap_or_default()
        });
        let mut loaded = self.show(profile, naming);
        loaded.reach = Some(reach);
        Ok(without_leaks_that_are_meant(loaded, lens, suppressions, None))
    }

    /// What processes held at these scans, by the scans' indices, and the profile of the whole capture.
    fn heap_snapshots(
        &mut self,
        places: &[usize],
    ) -> Result<(Profile, BTreeMap<usize, HeapSnapshot>), Error> {
        self.needs_blocks("individual blocks")?;
        let tables = self.reader.tables();
        let scans = places.iter().filter_map(|place| Some((*place, tables.scans.get(*place)?)));
        let mut builder = ProfileBuilder::watched(tables, SnapshotBuilder::new(tables, scans));
        if self.by_threads {
            builder = builder.by_threads();
        }
        let mut pass = Pass::new(builder, None);
        let read = self.run(&mut pass, 0, Span::Whole);
        let (profile, builder) = self.end_pass(pass, Span::Whole);
        self.note_damage(read)?;
        Ok((profile, builder.finish()))
    }

    /// The graph of a scan, from what was held then; the classes of its blocks are not known yet.
    fn scanned(&mut self, place: usize, snapshot: HeapSnapshot, naming: &Naming) -> Result<Scanned, Error> {
        let HeapSnapshot { blocks, freed, mut memory, is_interrupted } = snapshot;
        let (tables, id) = (self.reader.tables(), ScanId::from_index(place));
        let scan = tables.scans.get(place).cloned().unwrap_or_default();
        let process = tables.processes.get(scan.process.index());
        let is_partial = is_interrupted || process.is_none_or(|process| process.attached || process.forked);
        let read = self.reader.for_each_pointers(id, |some| {
            some.iter().for_each(|pointer| memory.arenas.note(pointer.from, pointer.to));
        });
        let read = read.and_then(|()| self.go_on());
        let mut roots = Roots::new(tables, &scan, naming.opener(), &memory, is_partial);
        let mut builder = GraphBuilder::new(blocks);
        let read = read.and_then(|()| {
            self.reader.for_each_pointers(id, |some| {
                // If the caller gives up, it waits at most for the reading that is under way.
                let wanted = if self.go_on().is_ok() { some } else { &[] };
                for Pointer { from, to } in wanted.iter().copied() {
                    if roots.is_in_use(from) {
                        builder.pointer_in_use(roots.source(from), to);
                    } else {
                        builder.pointer(from, to, |from| roots.source(from));
                    }
                }
            })
        });
        let read = read.and_then(|()| self.go_on());
        let (roots, count) = (roots.into_names(), tables.scans.len());
        self.note_damage(read)?;
        let graph = builder.finish_at(&Pace::while_wanted(&|| self.go_on().is_ok()));
        let given_up = || Error::Capture { file: self.source.file.clone(), error: Self::given_up() };
        let graph = graph.ok_or_else(given_up)?;
        let classes = Classes::default();
        Ok(Scanned { scan, number: place + 1, count, is_partial, freed, roots, graph, classes })
    }

    /// Adds the classes of its blocks, which are read from the capture.
    fn with_classes(&mut self, scanned: Scanned) -> Result<Scanned, Error> {
        let mut classes = ClassesBuilder::new(&scanned.graph);
        let read = self.reader.for_each_objects(ScanId::from_index(scanned.number - 1), |some| {
            let wanted = if self.go_on().is_ok() { some } else { &[] };
            wanted.iter().for_each(|object| classes.object(*object));
        });
        let classes = classes.finish();
        self.note_damage(read.and_then(|()| self.go_on()))?;
        Ok(Scanned { classes, ..scanned })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that few scans of few processes take one pass, that with more processes a pass serves fewer of each, and
    /// that each scan is served once.
    #[test]
    fn scans_are_looked_at_together() {
        for (processes, scans, expected) in
            [(0, 0, 0), (1, 4, 1), (2, 4, 1), (1, 5, 2), (3, 4, 2), (64, 1, 1), (16, 4, 2)]
        {
            let all: Vec<Scan> = (0..processes * scans)
                .map(|number| Scan { process: ProcessId(number % processes), ..Scan::default() })
                .collect();
            let places: Vec<usize> = (0..all.len() + 1).rev().collect();
            let found = passes(&places, &all);
            assert_eq!(found.len(), expected, "{processes} processes, {scans} scans of each");
            let mut looked_at = found.concat();
            looked_at.sort_unstable();
            assert_eq!(looked_at, (0..all.len()).collect::<Vec<_>>());
        }
    }
}
