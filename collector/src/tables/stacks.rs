//! Translates stack ids of one segment to stacks of the capture.
//!
//! When a record first names a stack, it is rebuilt from the collector's own mapping of the stack table, from its innermost
//! known ancestor inwards. What the agent wrote is checked on the way: ids must lie within their tables, and parents
//! before their children.

use super::modules::{Known, Modules};
use super::unnamed::CodeFrame;
use crate::base::capture_writer::Writer;
use capture::{Error, Frame, FrameId, ModuleId, NodeId, Pseudo, SourceFrame, StringId, Symbolized};
use shared_ring::intern::Committed;
use shared_ring::pc_table::Pc;
use shared_ring::pseudo::FIRST_PC;
use shared_ring::stack_table::{Node, ROOT};
use shared_ring::{Corrupt, Segment};

/// Deepest stack accepted.
const DEEPEST: usize = 1 << 17;

/// What is translated already. Ids are dense, so vectors suffice.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    /// The capture's node plus one, by its id in the stack table.
    nodes: Vec<u32>,
    /// The capture's frame plus one, by pc id.
    frames: Vec<u32>,
    /// Unknown nodes of the stack being entered, innermost first.
    path: Vec<(u32, Node)>,
    /// Impossible ids so far.
    pub(crate) corrupt: u64,
}

impl Stacks {
    /// The capture's stack for an id of the stack table. An impossible one becomes the stack `[incomplete: not taken]`, and is
    /// counted.
    #[inline(always)]
    pub(crate) fn node(
        &mut self,
        id: u32,
        segment: &Segment,
        modules: &mut Modules,
        writer: &mut Writer,
    ) -> Result<NodeId, Error> {
        if let Some(known) = self.known(id) {
            return Ok(known);
        }
        if id == ROOT {
            return Ok(NodeId::ROOT);
        }
        self.new_node(id, segment, modules, writer)
    }

    #[inline(never)]
    fn new_node(
        &mut self,
        id: u32,
        segment: &Segment,
        modules: &mut Modules,
        writer: &mut Writer,
    ) -> Result<NodeId, Error> {
        if self.find_path(id, segment).is_err() {
            self.corrupt += 1;
            let frame = writer.frame(Frame::Pseudo(Pseudo::NotTaken))?;
            return writer.node(NodeId::ROOT, frame);
        }
        let mut last = NodeId::ROOT;
        while let Some((id, node)) = self.path.pop() {
            let parent = self.known(node.parent).unwrap_or(NodeId::ROOT);
            let frame = self.frame(node.pc, segment, modules, writer)?;
            last = writer.node(parent, frame)?;
            remember(&mut self.nodes, id, last.0);
        }
        Ok(last)
    }

    /// Collects the unknown nodes from `id` outwards.
    fn find_path(&mut self, id: u32, segment: &Segment) -> Result<(), Corrupt> {
        let stack_table = segment.stack_table(Committed);
        self.path.clear();
        let mut next = id;
        while next != ROOT && self.known(next).is_none() {
            let node = stack_table.node(next).ok_or(Corrupt::Id)?;
            if node.parent >= next {
                return Err(Corrupt::Parent);
            }
            self.path.push((next, node));
            if self.path.len() > DEEPEST {
                return Err(Corrupt::Parent);
            }
            next = node.parent;
        }
        Ok(())
    }

    /// The capture's stack for an id of the stack table that was translated before.
    #[inline(always)]
    fn known(&self, id: u32) -> Option<NodeId> {
        self.nodes.get(id as usize)?.checked_sub(1).map(NodeId)
    }

    fn frame(
        &mut self,
        id: u32,
        segment: &Segment,
        modules: &mut Modules,
        writer: &mut Writer,
    ) -> Result<FrameId, Error> {
        if let Some(known) = self.frames.get(id as usize).and_then(|frame| frame.checked_sub(1)) {
            return Ok(FrameId(known));
        }
        let frame = if id < FIRST_PC {
            let pseudo = u8::try_from(id).ok().and_then(Pseudo::from_number).unwrap_or(Pseudo::NotTaken);
            writer.frame(Frame::Pseudo(pseudo))?
        } else {
            let Some(pc) = segment.pcs(Committed).pc(id) else {
                // Not remembered: the id is arbitrary, and the table would have to grow up to it.
                self.corrupt += 1;
                return writer.frame(Frame::Pseudo(Pseudo::NotTaken));
            };
            self.code(pc, segment, modules, writer)?
        };
        remember(&mut self.frames, id, frame.0);
        Ok(frame)
    }

    fn code(
        &mut self,
        pc: Pc,
        segment: &Segment,
        modules: &mut Modules,
        writer: &mut Writer,
    ) -> Result<FrameId, Error> {
        let exact = pc.is_exact();
        let (module, address) = match modules.find(pc.module, segment, writer)? {
            Some(Known::Function(module, name, file)) => {
                return script(module, (name, file), pc.line(), writer);
            }
            Some(Known::Module(module, bias)) => (Some(module), pc.address().wrapping_sub(bias)),
            None => match modules.anonymous(pc.address(), writer)? {
                Some((module, bias)) => (Some(module), pc.address().wrapping_sub(bias)),
                None => (None, pc.address()),
            },
        };
        let frame = writer.frame(Frame::Code { module, address, exact })?;
        modules.used(CodeFrame { frame, module, address, exact });
        Ok(frame)
    }
}

#[cfg(test)]
impl Stacks {
    /// Sizes of the tables.
    pub(crate) fn sizes(&self) -> [usize; 2] {
        [self.nodes.len(), self.frames.len()]
    }
}

/// The frame of a line in an interpreted function. It is named at once, since only the agent knows its name; its
/// address is composed of name and line, and so is the same in all processes.
fn script(
    module: ModuleId,
    (function, file): (StringId, Option<StringId>),
    line: u32,
    writer: &mut Writer,
) -> Result<FrameId, Error> {
    let address = u64::from(function.0) << 32 | u64::from(line);
    let frame = writer.frame(Frame::Code { module: Some(module), address, exact: true })?;
    let line = Some(line).filter(|line| *line != 0);
    let names = vec![SourceFrame { function: Some(function), file, line }];
    writer.symbolized(Symbolized { frame, names, ..Symbolized::default() })?;
    Ok(frame)
}

/// Sets `table[id]` to `value` plus one. A well-behaved agent's ids are dense; others are limited by the size of the
/// agent's tables.
fn remember(table: &mut Vec<u32>, id: u32, value: u32) {
    let index = id as usize;
    if table.len() <= index {
        table.resize(index + 1, 0);
    }
    table[index] = value.saturating_add(1);
}
