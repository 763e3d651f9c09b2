//! Writes the rows of a capture's tables to another capture, and maps their ids.

use capture::{
    Action, Area, Error, Event, Fault, Frame, FrameId, Mark, MarkId, ModuleId, NodeId, Observer,
    ReallocOutcome, Sample, Scan, Sink, SourceFrame, StackCopy, StringId, Symbolized, Tables, Writer,
};

/// New ids by old ones. Processes, threads, tasks, marks and scans keep theirs: their rows are never
/// merged.
#[derive(Default)]
pub(crate) struct Ids {
    strings: Vec<StringId>,
    modules: Vec<ModuleId>,
    frames: Vec<FrameId>,
    /// By frame, whether its names have been written.
    named: Vec<bool>,
    nodes: Vec<NodeId>,
}

impl Ids {
    /// Writes all rows.
    pub(super) fn write<S: Sink, O: Observer>(
        tables: &Tables,
        writer: &mut Writer<S, O>,
    ) -> Result<Ids, Error> {
        let mut ids = Ids::default();
        ids.grow(tables, writer)?;
        for process in &tables.processes {
            writer.process(process.clone())?;
        }
        for thread in &tables.threads {
            writer.thread(thread.clone())?;
        }
        for task in &tables.tasks {
            writer.task(task.clone())?;
        }
        for mark in &tables.marks {
            let name = ids.strings.get(mark.name.index()).copied().unwrap_or_default();
            writer.mark(Mark { name, ..*mark })?;
        }
        for scan in &tables.scans {
            let area = |area: &Area| Area { name: ids.string(area.name), ..*area };
            writer.scan(&Scan { areas: scan.areas.iter().map(area).collect(), ..scan.clone() })?;
        }
        Ok(ids)
    }

    /// Of a capture that has all rows of these tables, but not the names that another one has by now.
    pub(super) fn same(tables: &Tables, named: &Tables) -> Ids {
        let is_written = |frame: FrameId| tables.symbol(frame) == named.symbol(frame);
        Ids {
            strings: (0..tables.strings.len()).map(StringId::from_index).collect(),
            modules: (0..tables.modules.len()).map(ModuleId::from_index).collect(),
            frames: (0..tables.frames.len()).map(FrameId::from_index).collect(),
            named: (0..tables.frames.len()).map(FrameId::from_index).map(is_written).collect(),
            nodes: (0..tables.nodes.len()).map(NodeId::from_index).collect(),
        }
    }

    /// Writes the rows of stacks and names that have been added since the last time.
    pub(crate) fn grow<S: Sink, O: Observer>(
        &mut self,
        tables: &Tables,
        writer: &mut Writer<S, O>,
    ) -> Result<(), Error> {
        for text in tables.strings.iter().skip(self.strings.len()) {
            self.strings.push(writer.string(text)?);
        }
        for module in tables.modules.iter().skip(self.modules.len()) {
            self.modules.push(writer.module(module.clone())?);
        }
        for frame in tables.frames.iter().skip(self.frames.len()) {
            let frame = match *frame {
                Frame::Code { module, address, exact } => {
                    let module = module.and_then(|module| self.modules.get(module.index()).copied());
                    Frame::Code { module, address, exact }
                }
                Frame::Pseudo(pseudo) => Frame::Pseudo(pseudo),
            };
            self.frames.push(writer.frame(frame)?);
        }
        self.named.resize(self.frames.len(), false);
        let of = |id: StringId| self.strings.get(id.index()).copied();
        for ((symbol, frame), is_named) in tables.symbols.iter().zip(&self.frames).zip(&mut self.named) {
            let Some(symbol) = symbol.as_ref().filter(|_| !*is_named) else { continue };
            let name = |name: &SourceFrame| SourceFrame {
                function: name.function.and_then(of),
                file: name.file.and_then(of),
                line: name.line,
            };
            let names = symbol.names.iter().map(name).collect();
            let (reason, linkage) = (symbol.reason.and_then(of), symbol.linkage.and_then(of));
            writer.symbolized(Symbolized { frame: *frame, names, reason, linkage, start: symbol.start })?;
            *is_named = true;
        }
        if self.nodes.is_empty() {
            self.nodes.push(NodeId::ROOT);
        }
        // Parents come before their children, so their ids are known.
        for node in tables.nodes.iter().skip(self.nodes.len()) {
            let parent = self.nodes.get(node.parent.index()).copied().unwrap_or(NodeId::ROOT);
            let frame = self.frames.get(node.frame.index()).copied().unwrap_or_default();
            self.nodes.push(writer.node(parent, frame)?);
        }
        Ok(())
    }

    /// A name's id in the other capture.
    pub(crate) fn string(&self, id: StringId) -> StringId {
        self.strings.get(id.index()).copied().unwrap_or(id)
    }

    fn node(&self, id: NodeId) -> NodeId {
        self.nodes.get(id.index()).copied().unwrap_or(id)
    }

    /// The event with the ids of the other capture.
    pub(crate) fn event(&self, mut event: Event) -> Event {
        match &mut event.action {
            Action::Alloc { stack, .. }
            | Action::Free { stack, .. }
            | Action::ReallocEnd { outcome: ReallocOutcome::Block { stack, .. }, .. }
            | Action::Map { stack, .. }
            | Action::Remap { stack, .. }
            | Action::Break { stack, .. }
            | Action::AllocFailed { stack, .. }
            | Action::Sum { stack, .. } => *stack = self.node(*stack),
            Action::PoolAlloc { pool, stack, .. } | Action::PoolRealloc { pool, stack, .. } => {
                (*pool, *stack) = (self.string(*pool), self.node(*stack));
            }
            Action::PoolFree { pool, .. } => *pool = self.string(*pool),
            Action::Mark { mark: MarkId(_) }
            | Action::ReallocBegin { .. }
            | Action::ReallocEnd { outcome: ReallocOutcome::Failed | ReallocOutcome::Freed, .. }
            | Action::Unmap { .. }
            | Action::UnmapFailed { .. }
            | Action::ProcessStart { .. }
            | Action::ProcessEnd { .. }
            | Action::Fork { .. }
            | Action::ThreadStart
            | Action::ThreadEnd
            | Action::Unsampled
            | Action::GapBegin
            | Action::GapEnd { .. }
            | Action::Pause
            | Action::Resume
            | Action::Figure { .. }
            | Action::Snapshot => {}
        }
        event
    }

    /// The page fault with the ids of the other capture.
    pub(super) fn fault(&self, fault: Fault) -> Fault {
        Fault { stack: self.node(fault.stack), ..fault }
    }

    /// The copied stack with the ids of the other capture, whose samples keep their numbers.
    pub(super) fn stack_copy(&self, copy: &StackCopy) -> StackCopy {
        let mut copy = copy.clone();
        for code in &mut copy.code {
            code.module = code.module.and_then(|module| self.modules.get(module.index()).copied());
        }
        copy
    }

    /// The sample with the ids of the other capture.
    pub(super) fn sample(&self, sample: Sample) -> Sample {
        Sample { stack: self.node(sample.stack), ..sample }
    }
}
