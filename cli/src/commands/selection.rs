//! Options shared by views: which part of a capture, and which blocks.

use analysis::query::{Anchor, Filter, Part, Pattern, Query, Selected, Sizes, When};
use clap::Args;

/// A part of a capture.
#[derive(Args, Debug)]
#[command(next_help_heading = "Which part")]
pub(super) struct WhichPart {
    /// Show the state at this moment: 12.5s, 50%, peak, end, a mark, …
    ///
    /// A moment is a time such as 12.5s or 800ms (a plain number means seconds), a share of the recording such as
    /// 50%, start, end, peak, or the name of a mark (mark:NAME if it looks like one of these). A time can be added or
    /// subtracted, as in peak+1s or end-10s.
    #[arg(long, value_name = "MOMENT", conflicts_with_all = ["from", "to"])]
    at: Option<When>,
    #[command(flatten)]
    range: WhichRange,
}

/// A range of a capture.
#[derive(Args, Debug)]
#[command(next_help_heading = "Which part")]
pub(super) struct WhichRange {
    /// Only what happened after this moment [default: start, if --to is given]
    #[arg(long, value_name = "MOMENT")]
    from: Option<When>,
    /// Only what happened up to this moment [default: end, if --from is given]
    #[arg(long, value_name = "MOMENT")]
    to: Option<When>,
}

/// Which blocks.
#[derive(Args, Debug)]
#[command(next_help_heading = "Which blocks")]
pub(super) struct WhichBlocks {
    /// Only processes with this pid or name, as in 'worker-*'; may be repeated
    #[arg(long, value_name = "PROCESS")]
    process: Vec<Selected>,
    /// Blocks of this pool instead of the allocator's; `info` lists pools
    #[arg(long, value_name = "NAME")]
    heap: Option<String>,
    /// Only blocks allocated by, and samples of, threads with this id or name; may be repeated
    #[arg(long, value_name = "THREAD")]
    thread: Vec<Selected>,
    /// Only blocks of these sizes: 64, 64..4K, 1M..
    #[arg(long, value_name = "SIZES")]
    size: Option<Sizes>,
    /// Only stacks that pass through this file, as in libz.so or 'libssl*'; may be repeated
    #[arg(long, value_name = "FILE")]
    module: Vec<String>,
    /// Only blocks allocated during a region of this name, in any instance and by any thread; may be repeated
    #[arg(long, value_name = "REGION")]
    during: Vec<String>,
}

/// Which part, and which blocks.
#[derive(Args, Debug)]
pub(super) struct Selection {
    #[command(flatten)]
    when: WhichPart,
    #[command(flatten)]
    which: WhichBlocks,
}

impl Selection {
    /// The pool whose blocks were asked for.
    pub(super) fn heap(&self) -> Option<&str> {
        self.which.heap.as_deref()
    }

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
        Query { part, filter: self.filter(), heap: self.heap.clone() }
    }

    pub(super) fn filter(&self) -> Filter {
        Filter {
            processes: self.process.clone(),
            threads: self.thread.clone(),
            sizes: self.size.clone(),
            modules: self.module.iter().map(|file| Pattern::glob(file)).collect(),
            during: self.during.clone(),
            stack: None,
        }
    }
}
