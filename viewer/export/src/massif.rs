//! The massif format: bytes held over time, and what held them at the peak.
//!
//! ```text
//!  time      0 ────┬────┬────┬────┬────► end      a snapshot after each of them
//!                       │
//!                       └─ the peak, with a tree of what held it, from the allocating functions outwards
//! ```
//!
//! Times are in milliseconds. Sizes are those requested: the allocator's overhead is unknown. Like massif's own file,
//! ours ends with what was not freed: by the processes still running, or else by the last one that ended.

use super::events::{Weight, end};
use crate::origin::{command, creator_and_caveats};
use analysis::format::count;
use analysis::{Birth, Cutoff, Death, End, Life, Metric, Shown, Tree, Watch};
use capture::{Ended, ProcessId};
use engine::{Error, Events, Loaded, observe};
use report::text::escape;
use std::io::{self, Write};

/// Snapshots in addition to the peak; massif itself makes up to a hundred.
const SNAPSHOTS: u64 = 98;

/// The unit of time in nanoseconds: `ms_print` knows no smaller one.
const MILLISECOND: u64 = 1_000_000;

/// Most callers shown of an allocation: `ms_print` warns about more.
const DEEPEST: usize = 90;

/// Functions that hold less than 1/100 of the peak are summed up, as massif does.
const THRESHOLD: i64 = 100;

/// Writes the timeline and the peak.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, events: &dyn Events) -> Result<(), Error> {
    let timeline = observe(loaded, events, Timeline::new(loaded))?.finish();
    writeln!(out, "desc: {}", creator_and_caveats(loaded))?;
    writeln!(out, "cmd: {}", escape(&command(loaded)))?;
    writeln!(out, "time_unit: ms")?;
    let peak = &loaded.profile.peak;
    let mut number = 0;
    let mut snapshot = |out: &mut dyn Write, time: u64, bytes: i64| {
        writeln!(out, "#-----------\nsnapshot={number}\n#-----------")?;
        number += 1;
        writeln!(out, "time={}\nmem_heap_B={bytes}\nmem_heap_extra_B=0\nmem_stacks_B=0", time / MILLISECOND)
    };
    let (before, after) = timeline.split_at(timeline.partition_point(|(time, _)| *time < peak.at.time));
    for (time, bytes) in before {
        snapshot(out, *time, *bytes)?;
        writeln!(out, "heap_tree=empty")?;
    }
    snapshot(out, peak.at.time, peak.held.bytes)?;
    writeln!(out, "heap_tree=peak")?;
    tree(out, loaded)?;
    for (time, bytes) in after {
        snapshot(out, *time, *bytes)?;
        writeln!(out, "heap_tree=empty")?;
    }
    Ok(())
}

/// The bytes held, sampled at equal distances.
struct Timeline {
    weight: Weight,
    step: u64,
    held: i64,
    next: u64,
    end: u64,
    snapshots: Vec<(u64, i64)>,
    /// Some process is still running when events end.
    goes_on: bool,
    /// What a process left that may be the last one: counted as held until another one turns out to continue.
    left: Option<LeftoverBytes>,
}

/// What a process left when it ended.
struct LeftoverBytes {
    process: ProcessId,
    bytes: i64,
    /// Number of snapshots before its end.
    from: usize,
}

impl Timeline {
    fn new(loaded: &Loaded) -> Self {
        let end = end(loaded);
        let step = (end / SNAPSHOTS).max(MILLISECOND);
        let goes_on = loaded.profile.processes.iter().any(|one| one.seen && one.ended == Ended::Running);
        Self {
            weight: Weight::new(loaded),
            step,
            held: 0,
            next: step,
            end,
            snapshots: vec![(0, 0)],
            goes_on,
            left: None,
        }
    }

    // Cost: one comparison, unless a step is over.
    fn pass(&mut self, time: u64) {
        while time > self.next && self.next < self.end {
            self.snapshots.push((self.next, self.held));
            self.next = self.next.saturating_add(self.step);
        }
    }

    /// Subtracts what an ended process left, from its end on: others continued.
    fn settle(&mut self) {
        let Some(LeftoverBytes { bytes, from, .. }) = self.left.take() else { return };
        self.held = self.held.wrapping_sub(bytes);
        self.snapshots[from..].iter_mut().for_each(|(_, held)| *held = held.wrapping_sub(bytes));
    }

    fn finish(mut self) -> Vec<(u64, i64)> {
        self.pass(self.end);
        if self.goes_on {
            self.settle();
        }
        self.snapshots.push((self.end, self.held));
        self.snapshots
    }
}

impl Watch for Timeline {
    type Attached = ();

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        self.settle();
        self.pass(birth.at.time);
        self.held = self.held.wrapping_add(self.weight.bytes(birth.size));
    }

    fn died(&mut self, life: &Life<()>, death: &Death) {
        let bytes = self.weight.bytes(life.size);
        let End::Left { ended, .. } = death.end else {
            self.settle();
            self.pass(death.at.time);
            self.held = self.held.wrapping_sub(bytes);
            return;
        };
        if ended == Ended::Running {
            // The process goes on and still has the block.
            return;
        }
        if self.left.as_ref().is_some_and(|left| left.process != life.process) {
            self.settle();
        }
        self.pass(death.at.time);
        let (process, from) = (life.process, self.snapshots.len());
        let left = self.left.get_or_insert(LeftoverBytes { process, bytes: 0, from });
        left.bytes = left.bytes.wrapping_add(bytes);
    }
}

/// The tree of the peak.
///
/// ```text
/// n2: 350 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
///  n1: 300 0x0: b (b.c:11)
///   n0: 300 0x0: a (a.c:11)
///  n0: 50 in 3 places, all below massif's threshold (1.00%)
/// ```
///
/// The place of a function lists several of its lines; the address is 0, since one function stands for all of them.
fn tree(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    let Loaded { profile, tables, names, .. } = loaded;
    let metric = Metric::Peak;
    let least = (profile.peak.held.bytes / THRESHOLD).max(1);
    let tree = Tree::inverted(profile, tables, names, metric, least);
    let cutoff = Cutoff { least, limit: usize::MAX, few: 0 };
    // Nodes to be written, and the sums of those that are not.
    let mut rest = vec![(0, Line::Node(Tree::ROOT))];
    while let Some((depth, line)) = rest.pop() {
        let indent = " ".repeat(depth);
        let (id, bytes) = match line {
            Line::Node(id) => (id, tree.node(id).total.bytes),
            Line::Hidden(places, bytes) => {
                let plural = if places == 1 { "" } else { "s" };
                let all = if places == 1 { "" } else { " all" };
                writeln!(
                    out,
                    "{indent}n0: {bytes} in {} place{plural},{all} below massif's threshold (1.00%)",
                    count(places as u64)
                )?;
                continue;
            }
        };
        let Shown { children, hidden, hidden_total, .. } = Shown::of(&tree, id, names, metric, cutoff);
        // Anything further out is included in the number of the last one.
        let (children, hidden_total) =
            if depth < DEEPEST { (children, hidden_total) } else { Default::default() };
        let below = children.len() + usize::from(hidden_total.bytes != 0);
        let name = match id {
            Tree::ROOT => "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.".to_owned(),
            id => format!("0x0: {}", escape(&names.label(tree.node(id).label).name)),
        };
        writeln!(out, "{indent}n{below}: {bytes} {name}")?;
        if hidden_total.bytes != 0 {
            rest.push((depth + 1, Line::Hidden(hidden, hidden_total.bytes)));
        }
        rest.extend(children.into_iter().rev().map(|child| (depth + 1, Line::Node(child))));
    }
    Ok(())
}

enum Line {
    Node(u32),
    /// The number of hidden functions, and their bytes.
    Hidden(usize, i64),
}
