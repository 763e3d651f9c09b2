//! Small graphs for tests: `0A AB` is root 0 that refers to block A, which refers to block B. Roots from 5 on are
//! passing ones.

use super::{GraphBuilder, HeldBlock, Rank, RootId, Source};
use crate::block::BlockId;
use crate::graph::HeapGraph;
use analysis::Amount;
use capture::{NodeId, ThreadId};
use proptest::prelude::*;

/// Address of the roots, below all blocks.
const ROOTS: u64 = 0x100;

pub(super) fn address(block: u32) -> u64 {
    0x1000 + u64::from(block) * 0x1000
}

pub(super) fn amount(blocks: i64, bytes: i64) -> Amount {
    Amount { blocks, bytes }
}

/// Blocks A, B, … with these sizes and stacks, and what refers to them.
pub(super) fn graph(blocks: &[(u64, u32)], drawn: &str) -> HeapGraph {
    let id = |letter: char| letter as u32 - 'A' as u32;
    let (mut direct, mut links) = (Vec::new(), Vec::new());
    for pair in drawn.split_whitespace() {
        let mut ends = pair.chars();
        let (from, to) = (ends.next().unwrap(), id(ends.next().unwrap()));
        match from.to_digit(10) {
            Some(root) => direct.push((root, to)),
            None => links.push((id(from), to)),
        }
    }
    numbered(blocks, &direct, &links)
}

/// The same from numbers; those past the last block are ignored.
pub(super) fn numbered(blocks: &[(u64, u32)], direct: &[(u32, u32)], links: &[(u32, u32)]) -> HeapGraph {
    let held = blocks.iter().zip(0..).map(|(&(size, node), block)| HeldBlock {
        address: address(block),
        size,
        node: NodeId(node),
        thread: ThreadId(0),
    });
    let mut builder = GraphBuilder::new(held.collect());
    for &(root, to) in direct {
        builder.pointer(ROOTS + u64::from(root), address(to), |from| Source::Root {
            root: RootId((from - ROOTS) as u32),
            rank: rank(root),
            exact: false,
        });
    }
    for &(from, to) in links.iter().filter(|(from, _)| (*from as usize) < blocks.len()) {
        builder.pointer(address(from), address(to), |_| unreachable!("it lies in a block"));
    }
    builder.finish()
}

/// The roots of any small graph.
pub(super) const ROOTS_OF_PARTS: [u32; 4] = [0, 1, 5, 6];

fn rank(root: u32) -> Rank {
    if root < 5 { Rank::Lasting } else { Rank::Passing }
}

/// Any small graph: blocks, roots with what they refer to, links.
pub(super) type Parts = (Vec<(u64, u32)>, Vec<(u32, u32)>, Vec<(u32, u32)>);

pub(super) fn parts() -> impl Strategy<Value = Parts> {
    (
        prop::collection::vec((1..100_u64, 0..4_u32), 0..12),
        prop::collection::vec((prop::sample::select(&ROOTS_OF_PARTS[..]), 0..14_u32), 0..6),
        prop::collection::vec((0..14_u32, 0..14_u32), 0..30),
    )
}

/// Which blocks remain reachable without some blocks and a root: what lasting roots lead to counts through these
/// alone, the rest through passing ones.
pub(super) fn reached(parts: &Parts, without: impl Fn(u32) -> bool, without_root: Option<u32>) -> Vec<bool> {
    let lasting = followed(parts, |root| rank(root) == Rank::Lasting, |_| false);
    let is_lasting = |block: u32| lasting.get(block as usize) == Some(&true);
    let is_there = |root: u32| Some(root) != without_root;
    let by_lasting = followed(parts, |root| is_there(root) && rank(root) == Rank::Lasting, &without);
    let by_passing = followed(
        parts,
        |root| is_there(root) && rank(root) == Rank::Passing,
        |block| without(block) || is_lasting(block),
    );
    by_lasting.iter().zip(by_passing).map(|(lasting, passing)| lasting | passing).collect()
}

/// Which blocks a root leads to; for a passing root, only those that no lasting root leads to.
pub(super) fn reached_by(parts: &Parts, root: u32) -> Vec<bool> {
    let lasting = followed(parts, |root| rank(root) == Rank::Lasting, |_| false);
    let is_others = |block: u32| rank(root) == Rank::Passing && lasting.get(block as usize) == Some(&true);
    followed(parts, |one| one == root, is_others)
}

/// Which blocks some of the roots lead to when some blocks are removed.
fn followed(
    (blocks, direct, links): &Parts,
    is_taken: impl Fn(u32) -> bool,
    without: impl Fn(u32) -> bool,
) -> Vec<bool> {
    let mut reached = vec![false; blocks.len()];
    let mut open: Vec<u32> =
        direct.iter().filter(|(root, _)| is_taken(*root)).map(|&(_, block)| block).collect();
    while let Some(block) = open.pop() {
        let Some(is_reached) = reached.get_mut(block as usize).filter(|_| !without(block)) else { continue };
        if !std::mem::replace(is_reached, true) {
            open.extend(links.iter().filter(|(from, _)| *from == block).map(|&(_, to)| to));
        }
    }
    reached
}

/// A block by its letter.
pub(super) fn block(letter: char) -> BlockId {
    BlockId(letter as u32 - 'A' as u32)
}
