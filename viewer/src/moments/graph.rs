//! Which block kept which alive when a process was scanned: the events up to then, and the pointers that were found.

use super::Moments;
use super::pass::Pass;
use crate::analysis::{Birth, Death, End, Life, Load, Pages, Span, Watch};
use crate::graph::{GraphBuilder, HeldBlock, Roots, Scanned};
use crate::loaded::Loaded;
use crate::open::Error;
use crate::query::{Anchor, When};
use crate::symbolize::Naming;
use capture::{Event, Pointer, ProcessId, ScanId, ThreadId};

/// Observes a pass for the blocks and mappings of a process at its end.
struct Held {
    process: ProcessId,
    /// By thread, whose it is.
    processes: Vec<ProcessId>,
    blocks: Vec<HeldBlock>,
    pages: Pages,
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
            self.pages.note(&event.action);
        }
    }
}

impl Moments {
    /// The graph of a scan, the last one where none is named; they are counted from 1.
    ///
    /// # Errors
    /// [`Error::NotScanned`] where there is none, [`Error::Aggregated`], and those of the file.
    pub fn graph(mut self, number: Option<usize>, naming: Naming) -> Result<(Loaded, Scanned), Error> {
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
            pages: Pages::default(),
        };
        let mut pass = Pass::new(Load::watched(tables, watch), None);
        let span = Span::At(at);
        let read = self.run(&mut pass, 0, span);
        pass.hold_peak_at(span);
        let (profile, Held { blocks, pages, .. }) = self.end_pass(pass, span);
        self.note_damage(read)?;

        let is_allocators = |address| pages.is_allocators(address);
        let mut roots = Roots::new(self.reader.tables(), &scan, &naming, &is_allocators, is_partial);
        let mut builder = GraphBuilder::new(blocks);
        let read = self.reader.for_each_pointers(ScanId::from_index(number - 1), |some| {
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
        let loaded = self.show(profile, naming);
        Ok((loaded, Scanned { scan, number, count, is_partial, roots, graph }))
    }
}
