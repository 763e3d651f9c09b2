//! The columns of frame and node chunks. Ids are implicit: the chunk's header holds the first.
//!
//! A node stores its parent as the distance back, at least 1: a cycle cannot be written down.
//!
//! ```text
//!   node 5 = {parent 4, frame 9}      back 1, frame +9
//!   node 6 = {parent 4, frame 7}      back 2, frame -2
//! ```

use crate::columns;
use crate::error::Malformed;
use crate::ids::{FrameId, ModuleId, NodeId};
use crate::model::{Frame, Node, Pseudo};
use crate::varint;

/// Most rows of one chunk, well within the format's limits.
pub(crate) const ROWS: usize = 1 << 16;

/// The first column of frames holds this for a pseudo frame, else the module, with `exact` in the lowest bit.
const PSEUDO: u64 = 0;
const NO_MODULE: u64 = 1;
const FIRST_MODULE: u64 = 2;

/// Appends the payload of a frame chunk: module, then address (or the pseudo frame's number).
pub(crate) fn put_frames(frames: &[Frame], payload: &mut Vec<u8>) {
    let [mut modules, mut addresses] = [Vec::new(), Vec::new()];
    let mut before = 0;
    for frame in frames {
        match *frame {
            Frame::Pseudo(pseudo) => {
                varint::put(&mut modules, PSEUDO);
                varint::put(&mut addresses, pseudo as u64);
            }
            Frame::Code { module, address, exact } => {
                let module = module.map_or(NO_MODULE, |module| FIRST_MODULE + u64::from(module.0));
                varint::put(&mut modules, module << 1 | u64::from(exact));
                varint::put_delta(&mut addresses, before, address);
                before = address;
            }
        }
    }
    columns::join(&[modules, addresses], payload);
}

/// The frames of a chunk. Modules must be among the `modules` known.
pub(crate) fn take_frames(payload: &[u8], count: usize, modules: usize) -> Result<Vec<Frame>, Malformed> {
    let [mut tags, mut addresses] = columns::split(payload)?.map(|column| &payload[column]);
    let mut frames = Vec::with_capacity(count.min(payload.len()));
    let mut before = 0;
    for _ in 0..count {
        let tag = varint::take(&mut tags)?;
        if tag >> 1 == PSEUDO {
            // Later versions may have more reasons; to this one they mean that the stack is incomplete.
            let number = varint::take(&mut addresses)?;
            let pseudo = u8::try_from(number).ok().and_then(Pseudo::from_number);
            frames.push(Frame::Pseudo(pseudo.unwrap_or(Pseudo::Broken)));
            continue;
        }
        let module = match (tag >> 1).checked_sub(FIRST_MODULE) {
            None => None,
            Some(module) if module < modules as u64 => Some(ModuleId(module as u32)),
            Some(_) => return Err(Malformed("a frame refers to an unknown module")),
        };
        before = varint::take_delta(&mut addresses, before)?;
        frames.push(Frame::Code { module, address: before, exact: tag & 1 == 1 });
    }
    Ok(frames)
}

/// Appends the payload of a node chunk: how far back the parent is, then the frame.
pub(crate) fn put_nodes(first: NodeId, nodes: &[Node], payload: &mut Vec<u8>) {
    let [mut parents, mut frames] = [Vec::new(), Vec::new()];
    let mut before = 0;
    for (id, node) in (u64::from(first.0)..).zip(nodes) {
        varint::put(&mut parents, id - u64::from(node.parent.0));
        varint::put_delta(&mut frames, before, node.frame.0.into());
        before = node.frame.0.into();
    }
    columns::join(&[parents, frames], payload);
}

/// The nodes of a chunk, the first of which has the id `first`. Frames must be among the `frames` known.
pub(crate) fn take_nodes(
    payload: &[u8],
    count: usize,
    first: usize,
    frames: usize,
) -> Result<Vec<Node>, Malformed> {
    let [mut parents, mut ids] = columns::split(payload)?.map(|column| &payload[column]);
    let mut nodes = Vec::with_capacity(count.min(payload.len()));
    let mut before = 0;
    for id in (first as u64..).take(count) {
        let parent = match varint::take(&mut parents)? {
            back if (1..=id).contains(&back) => NodeId((id - back) as u32),
            _ => return Err(Malformed("a stack does not come after its caller")),
        };
        before = varint::take_delta(&mut ids, before)?;
        if before >= frames as u64 {
            return Err(Malformed("a stack refers to an unknown frame"));
        }
        nodes.push(Node { parent, frame: FrameId(before as u32) });
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_frame() -> impl Strategy<Value = Frame> {
        prop_oneof![
            proptest::sample::select(&Pseudo::ALL).prop_map(Frame::Pseudo),
            (proptest::option::of(0..5u32), any::<u64>(), any::<bool>()).prop_map(
                |(module, address, exact)| { Frame::Code { module: module.map(ModuleId), address, exact } }
            ),
        ]
    }

    proptest! {
        /// Check that any frames come back.
        #[test]
        fn frames_come_back(frames in proptest::collection::vec(any_frame(), 0..50)) {
            let mut payload = Vec::new();
            put_frames(&frames, &mut payload);
            prop_assert_eq!(take_frames(&payload, frames.len(), 5), Ok(frames));
        }

        /// Check that any nodes come back after those of earlier chunks.
        #[test]
        fn nodes_come_back(earlier in 1..9u32, picks in proptest::collection::vec((any::<u32>(), 0..20u32), 0..50)) {
            let nodes: Vec<Node> = picks
                .iter()
                .zip(earlier..)
                .map(|(&(pick, frame), id)| Node { parent: NodeId(pick % id), frame: FrameId(frame) })
                .collect();
            let mut payload = Vec::new();
            put_nodes(NodeId(earlier), &nodes, &mut payload);
            prop_assert_eq!(take_nodes(&payload, nodes.len(), earlier as usize, 20), Ok(nodes));
        }
    }

    /// Check that a node is refused that is its own caller or comes before it.
    #[test]
    fn node_before_its_caller_is_refused() {
        for back in [0, 4, u64::MAX] {
            let (mut parents, mut payload) = (Vec::new(), Vec::new());
            varint::put(&mut parents, back);
            columns::join(&[parents, vec![0]], &mut payload);
            let expected = Malformed("a stack does not come after its caller");
            assert_eq!(take_nodes(&payload, 1, 3, 1), Err(expected), "{back}");
        }
    }

    /// Check that a pseudo frame of a later version reads as an incomplete stack.
    #[test]
    fn unknown_pseudo_frame_is_incomplete() {
        let mut payload = Vec::new();
        columns::join(&[vec![0], vec![99]], &mut payload);
        assert_eq!(take_frames(&payload, 1, 0), Ok(vec![Frame::Pseudo(Pseudo::Broken)]));
    }
}
