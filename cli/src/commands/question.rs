//! Options shared by views: which part of a capture, and which blocks.

use clap::Args;
use viewer::query::{Anchor, Filter, Module, Part, Query, Selected, Sizes, When};

/// A part of a capture.
#[derive(Args, Debug)]
#[command(next_help_heading = "Which part")]
pub(super) struct WhichPart {
    /// What was there at this moment: 12.5s, 50%, peak, end, a mark …
    ///
    /// A moment is a time such as 12.5s or 800ms (a number alone means seconds), a share of the recording such as 50%,
    /// start, end, peak, or the name of a mark (mark:NAME if it looks like one of these); or a time after or before one of
    /// them, as in peak+1s or end-10s.
    #[arg(long, value_name = "MOMENT", conflicts_with_all = ["from", "to"])]
    at: Option<When>,
    #[command(flatten)]
    range: WhichRange,
}

/// A range of a capture.
#[derive(Args, Debug)]
#[command(next_help_heading = "Which part")]
pub(super) struct WhichRange {
    /// Only what happened after this moment [default: start, when --to is given]
    #[arg(long, value_name = "MOMENT")]
    from: Option<When>,
    /// Only what happened up to this moment [default: end, when --from is given]
    #[arg(long, value_name = "MOMENT")]
    to: Option<When>,
}

/// Which blocks.
#[derive(Args, Debug)]
#[command(next_help_heading = "Which blocks")]
pub(super) struct WhichBlocks {
    /// Only of processes of this pid or name; may be repeated
    #[arg(long, value_name = "PROCESS")]
    process: Vec<Selected>,
    /// Blocks of this heap of the program's own, as info lists them, instead of those of the allocator
    #[arg(long, value_name = "NAME")]
    pub(super) heap: Option<String>,
    /// Hits of this tracepoint, as info lists them, where several were recorded [default: the first]
    #[arg(long, value_name = "NAME")]
    tracepoint: Option<String>,
    /// Only allocated by threads of this id or name, and samples of them; may be repeated
    #[arg(long, value_name = "THREAD")]
    thread: Vec<Selected>,
    /// Only of these sizes: 64, 64..4K, 1M..
    #[arg(long, value_name = "SIZES")]
    size: Option<Sizes>,
    /// Only of stacks that pass through this file, as in libz.so; may be repeated
    #[arg(long, value_name = "FILE")]
    module: Vec<String>,
    /// Only allocated during a region of this name, in any of its instances, by whichever thread; may be repeated
    #[arg(long, value_name = "REGION")]
    during: Vec<String>,
}

/// A whole question.
#[derive(Args, Debug)]
pub(super) struct Question {
    #[command(flatten)]
    when: WhichPart,
    #[command(flatten)]
    which: WhichBlocks,
}

impl Question {
    pub(super) fn query(&self) -> Query {
        self.which.query(self.when.part())
    }
}

impl WhichPart {
    pub(super) fn part(&self) -> Part {
        self.at.clone().map_or_else(|| self.range.part(), Part::At)
    }
}

impl WhichRange {
    pub(super) fn part(&self) -> Part {
        let or = |when: &Option<When>, anchor: Anchor| when.clone().unwrap_or(anchor.into());
        match self {
            Self { from: None, to: None } => Part::Whole,
            Self { from, to } => Part::Range(or(from, Anchor::Start), or(to, Anchor::End)),
        }
    }
}

impl WhichBlocks {
    /// The query for these blocks in a part.
    pub(super) fn query(&self, part: Part) -> Query {
        let (heap, tracepoint) = (self.heap.clone(), self.tracepoint.clone());
        Query { part, filter: self.filter(), heap, tracepoint }
    }

    pub(super) fn filter(&self) -> Filter {
        Filter {
            processes: self.process.clone(),
            threads: self.thread.clone(),
            sizes: self.size.clone(),
            modules: self.module.iter().cloned().map(Module).collect(),
            during: self.during.clone(),
            stack: None,
        }
    }
}
