//! The rows of a capture's tables in another capture, and their ids there.

use capture::{
    Action, Error, Event, Frame, FrameId, Mark, MarkId, ModuleId, NodeId, ReallocOutcome, Sample, Sink,
    SourceFrame, StringId, Symbolized, Tables, Writer,
};

/// New ids by old ones. Processes, threads, tasks and marks keep theirs: their rows are never joined.
pub(super) struct Ids {
    strings: Vec<StringId>,
    nodes: Vec<NodeId>,
}

impl Ids {
    /// Writes all rows.
    pub(super) fn write<S: Sink>(tables: &Tables, writer: &mut Writer<S>) -> Result<Ids, Error> {
        let strings: Vec<StringId> =
            tables.strings.iter().map(|text| writer.string(text)).collect::<Result<_, _>>()?;
        let of = |id: StringId| strings.get(id.index()).copied();
        let modules: Vec<ModuleId> =
            tables.modules.iter().map(|module| writer.module(module.clone())).collect::<Result<_, _>>()?;
        let frames = frames(tables, &modules, writer)?;
        for (symbol, frame) in tables.symbols.iter().zip(&frames) {
            let Some(symbol) = symbol else { continue };
            let name = |name: &SourceFrame| SourceFrame {
                function: name.function.and_then(of),
                file: name.file.and_then(of),
                line: name.line,
            };
            let names = symbol.names.iter().map(name).collect();
            writer.symbolized(Symbolized { frame: *frame, names, reason: symbol.reason.and_then(of) })?;
        }
        let nodes = nodes(tables, &frames, writer)?;
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
            let name = of(mark.name).unwrap_or_default();
            writer.mark(Mark { name, ..*mark })?;
        }
        Ok(Ids { strings, nodes })
    }

    fn string(&self, id: StringId) -> StringId {
        self.strings.get(id.index()).copied().unwrap_or(id)
    }

    fn node(&self, id: NodeId) -> NodeId {
        self.nodes.get(id.index()).copied().unwrap_or(id)
    }

    /// The same event of the other capture.
    pub(super) fn event(&self, mut event: Event) -> Event {
        match &mut event.action {
            Action::Alloc { stack, .. }
            | Action::Free { stack, .. }
            | Action::ReallocEnd { outcome: ReallocOutcome::Block { stack, .. }, .. }
            | Action::Map { stack, .. }
            | Action::Remap { stack, .. }
            | Action::Break { stack, .. } => *stack = self.node(*stack),
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
            | Action::Resume => {}
        }
        event
    }

    /// The same sample of the other capture.
    pub(super) fn sample(&self, sample: Sample) -> Sample {
        Sample { stack: self.node(sample.stack), ..sample }
    }
}

fn frames<S: Sink>(
    tables: &Tables,
    modules: &[ModuleId],
    writer: &mut Writer<S>,
) -> Result<Vec<FrameId>, Error> {
    let frame = |frame: &Frame| {
        writer.frame(match *frame {
            Frame::Code { module, address, exact } => {
                let module = module.and_then(|module| modules.get(module.index()).copied());
                Frame::Code { module, address, exact }
            }
            Frame::Pseudo(pseudo) => Frame::Pseudo(pseudo),
        })
    };
    tables.frames.iter().map(frame).collect()
}

/// Parents come before their children, so theirs are known.
fn nodes<S: Sink>(tables: &Tables, frames: &[FrameId], writer: &mut Writer<S>) -> Result<Vec<NodeId>, Error> {
    let mut nodes = vec![NodeId::ROOT];
    for node in tables.nodes.iter().skip(1) {
        let parent = nodes.get(node.parent.index()).copied().unwrap_or(NodeId::ROOT);
        let frame = frames.get(node.frame.index()).copied().unwrap_or_default();
        nodes.push(writer.node(parent, frame)?);
    }
    Ok(nodes)
}
