//! How the heap evolved: the changes of every stack, in slices of time, from one pass.
//!
//! ```text
//!             slice 0          slice 1          slice 2
//!        ├────────────────┼────────────────┼────────────────┤
//!  a     +300 −100        −200                                   live bytes of a at a boundary: the sum up to it
//!  b     +50                               +50
//! ```
//!
//! At every boundary the heap is known exactly, stack by stack, and so is what was allocated between two of them. The
//! width of a slice follows from the length of the recording: when there are too many slices, or too many changes in
//! them, neighbours are merged. So memory is bounded by distinct stacks, never by events.
//!
//! A boundary also stands just before each process ends (of many processes, the last ones), since its heap is gone
//! afterwards: that is where its leaks can be seen.

mod detail;
mod during;
mod flow;
mod numbers;
mod recorder;
mod slicer;
mod slices;
mod spectrum;

pub use detail::Detail;
pub use during::During;
pub use flow::Flow;
pub use recorder::Recorder;
pub use slicer::Slice;
pub use spectrum::{SizeClass, Spectrum};

use crate::base::cost::Cost;
use crate::count::profile::Profile;
use crate::count::watch::Instant;
use crate::lifetimes::frees::Passed;
use crate::lifetimes::shapes::StackShape;
use capture::{NodeId, ProcessId};

/// The changes of the heap over time.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// In order of time; each begins where the one before it ends.
    pub slices: Vec<Slice>,
    /// One for each stack and process that allocated.
    pub sites: Vec<SiteHistory>,
    /// All changes, by site and then by slice: see [`History::changes`].
    changes: Vec<(u32, Flow)>,
    /// Blocks by size and by lifetime.
    pub spectrum: Spectrum,
    /// By stack, the sizes and lifetimes of its blocks.
    pub shapes: Vec<StackShape>,
    /// By stack, what became of its blocks; empty where the stacks of frees were not recorded.
    pub frees: Vec<Passed>,
    /// What was allocated in regions that programs mark.
    pub during: Vec<During>,
    /// True when times are not known: see [`History::untimed`].
    pub is_untimed: bool,
}

/// What happened to the blocks of one stack of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteHistory {
    /// The process.
    pub process: ProcessId,
    /// The stack.
    pub node: NodeId,
    first: usize,
    len: usize,
}

impl History {
    /// The history of numbers without times, like those of several captures: one slice, at whose end everything is
    /// live that was not freed.
    pub fn untimed(profile: &Profile) -> Self {
        let mut history = Self { is_untimed: true, ..Self::default() };
        let mut whole = Flow::default();
        for (number, site) in profile.sites.iter().enumerate() {
            let cost = &site.cost;
            let Cost { allocated, temporary, frees, .. } = *cost;
            let change = Flow { live: cost.live(), allocated, temporary, frees };
            whole += change;
            history.changes.push((0, change));
            history.sites.push(SiteHistory { process: site.process, node: site.node, first: number, len: 1 });
        }
        let end = Instant::after(profile.events, profile.last_time);
        let (live, most) = (whole.live, profile.peak.held);
        history.slices.push(Slice { end, live, most, change: whole, ..Slice::default() });
        history
    }

    /// Its changes, each with the index of its slice.
    pub fn changes(&self, site: &SiteHistory) -> &[(u32, Flow)] {
        &self.changes[site.first..site.first + site.len]
    }
}

#[cfg(test)]
mod tests;
