//! Sampled stacks, each stored once.
//!
//! A program takes new paths for as long as it runs: when compilers run on a system that is sampled as a whole, each
//! sample adds two or three new stack nodes, and a function that calls itself at two places takes another path of
//! hundreds of frames each time. Each node takes some 60 bytes here and in the writer, so their number is limited.
//!
//! A stack takes at most a small share of the room that is left. If it needs more, it keeps its outermost frames and
//! the innermost one, with a marker in place of those between:
//!
//! ```text
//!  _start < main < layout < rank < visit < visit < visit < visit < visit < visit < compare
//!  └──────── known ───────────┘   └─ the share ─┘ [stack table full]              └ kept ┘
//! ```

use super::batch::{Batch, Step};
use capture::Pseudo;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use unwind::End;

/// The stack without frames.
const EMPTY: u32 = 0;

/// Most stacks, including those that only lead to others, before the innermost frames of stacks without room are all
/// that is added.
const MOST: usize = 1 << 22;

/// A stack takes one in so many of the places that are left: two thousand at first, more than a stack has frames.
const SHARE: usize = 1 << 11;

/// One in so many places is kept for the innermost frames of stacks without room.
const RESERVE: usize = 8;

/// The stacks seen so far.
#[derive(Debug)]
pub(super) struct Stacks {
    most: usize,
    /// Steps, numbered: they are far fewer than stacks, and larger.
    steps: FxHashMap<Step, u32>,
    /// Stacks, by parent stack and number of the step.
    ids: FxHashMap<(u32, u32), u32>,
}

impl Default for Stacks {
    fn default() -> Stacks {
        Stacks::of_at_most(MOST)
    }
}

impl Stacks {
    pub(super) fn of_at_most(most: usize) -> Stacks {
        Stacks { most, steps: FxHashMap::default(), ids: FxHashMap::default() }
    }

    /// The stack with these steps, the outermost first, and whether it has all of them.
    pub(super) fn stack(&mut self, steps: impl Iterator<Item = Step>, batch: &mut Batch) -> (u32, bool) {
        let mut room = self.most.saturating_sub(self.ids.len()) / SHARE;
        let (mut stack, mut left_out) = (EMPTY, None);
        let mut is_whole = true;
        for step in steps {
            if left_out.is_some() {
                (left_out, is_whole) = (Some(step), false);
            } else if room > 0 {
                let known = self.ids.len();
                stack = self.enter(stack, step, batch);
                room -= self.ids.len() - known;
            } else if let Some(known) = self.known(stack, step) {
                stack = known;
            } else {
                left_out = Some(step);
            }
        }
        let Some(innermost) = left_out else { return (stack, true) };
        if self.ids.len() >= self.most + self.most / RESERVE {
            return (self.enter(EMPTY, Step::End(Pseudo::StackTableFull), batch), false);
        }
        if !is_whole {
            stack = self.enter(stack, Step::End(Pseudo::StackTableFull), batch);
        }
        (self.enter(stack, innermost, batch), is_whole)
    }

    fn known(&self, parent: u32, step: Step) -> Option<u32> {
        self.ids.get(&(parent, *self.steps.get(&step)?)).copied()
    }

    fn enter(&mut self, parent: u32, step: Step, batch: &mut Batch) -> u32 {
        let next = self.steps.len() as u32;
        let number = *self.steps.entry(step).or_insert(next);
        let next = self.ids.len() as u32 + 1;
        match self.ids.entry((parent, number)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(room) => {
                batch.nodes.push((parent, step));
                *room.insert(next)
            }
        }
    }
}

/// What the user is told about stacks without room.
pub(crate) fn remark_on_cut(stacks: u64) -> Option<String> {
    (stacks > 0).then(|| {
        format!(
            "Stacks of samples without room for all of their frames: {stacks}. [stack table full] stands for those \
             that are left out: a recording holds 4 million different frames in stacks of samples. Sample less \
             often (--frequency), or continue in another capture (--max-size)."
        )
    })
}

/// The outermost frame of a stack that ends in this way; none if the stack is complete.
pub(super) fn marker(end: End) -> Option<Pseudo> {
    match end {
        End::Root => None,
        End::Truncated => Some(Pseudo::Truncated),
        End::NoUnwindInfo => Some(Pseudo::NoUnwindInfo),
        End::Broken | End::Unreadable => Some(Pseudo::Broken),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(address: u64) -> Step {
        Step::Code { module: 0, address, exact: true }
    }

    fn steps(addresses: impl IntoIterator<Item = u64>) -> impl Iterator<Item = Step> {
        addresses.into_iter().map(step)
    }

    /// Check that stacks without room keep their outermost frames and the innermost one, that known stacks are still
    /// found, and that even the former have an end.
    #[test]
    fn stacks_have_an_end() {
        let (mut stacks, mut batch) = (Stacks::of_at_most(4 * SHARE), Batch::default());
        assert_eq!(stacks.stack(steps(0..4), &mut batch), (4, true));
        assert_eq!(stacks.stack(steps([0, 1, 2, 7, 8]), &mut batch), (6, true));
        // By now there is room for three; the innermost one is kept in any case.
        assert_eq!(stacks.stack(steps(10..14), &mut batch), (10, true));
        assert_eq!(stacks.stack(steps(20..29), &mut batch), (15, false));
        let full = Step::End(Pseudo::StackTableFull);
        assert_eq!(
            batch.nodes[10..],
            [(0, step(20)), (11, step(21)), (12, step(22)), (13, full), (14, step(28))]
        );
        let again = [(); 2].map(|()| stacks.stack(steps(20..29), &mut batch).1);
        assert_eq!(again, [false, true], "each goes on from what is known");

        for address in 100.. {
            let before = batch.nodes.len();
            let (stack, is_whole) = stacks.stack(steps(1000 * address..1000 * address + 50), &mut batch);
            if batch.nodes.len() == before {
                break;
            }
            assert!(!is_whole && batch.nodes.len() - before <= 5, "{stack}");
        }
        assert_eq!(stacks.ids.len(), batch.nodes.len());
        assert!((0..=2).contains(&(batch.nodes.len() - (4 * SHARE + 4 * SHARE / RESERVE))));
        assert_eq!(stacks.stack(steps([0, 1]), &mut batch), (2, true));
        let (last, is_whole) = stacks.stack(steps([5]), &mut batch);
        assert!(!is_whole && batch.nodes[last as usize - 1] == (EMPTY, full));
    }

    /// Check that nothing is said if there was room; otherwise, how many stacks are cut.
    #[test]
    fn cut_stacks_are_told() {
        assert_eq!(remark_on_cut(0), None);
        let told = remark_on_cut(7).unwrap();
        assert!(told.contains("frames: 7. ") && !told.contains("  ") && told.ends_with('.'), "{told}");
    }
}
