//! Events in, tables out: no input or output, no terminal, no HTML.
//!
//! ```text
//!  events ──► Load ──► Profile ──┬─► Tree        top-down, inverted
//!                                ├─► functions   self and total
//!  tables ──► Names ─────────────┴─► stacks      rows by allocating function
//! ```
//!
//! Counting means the same everywhere:
//! - every successful call that returned a block is one allocation of its requested size;
//! - a successful `realloc` of a block is one free and one allocation; `realloc(p, 0)` that frees is one free;
//! - `free(NULL)` and failed calls count nowhere: calls that got no memory have rows of their own ([`Failure`]);
//!   `mmap` and `brk` have totals of their own;
//! - *temporary*: freed by the thread that allocated it before that thread's next allocation, `realloc`'s own
//!   free excepted;
//! - *leaked*: alive when its process ended, or when the recording ended and the process still ran;
//! - *alive at exec*: alive when its process was replaced by another program; *uncertain*: alive across a gap or
//!   pause of the recording and never freed. Both are reported beside leaked, never as part of it.
//!
//! In a sampled capture all of these are estimates of the same numbers, each with its [`Spread`]: see `estimate`.

mod accesses;
mod account;
mod cost;
mod counters;
mod estimate;
mod failures;
mod hash;
mod heap;
mod history;
mod lineage;
mod load;
mod mappings;
mod pages;
mod peak;
mod pools;
mod process;
mod profile;
mod residency;
mod saved;
mod sites;
mod spread;
mod tally;
mod thread;
mod totals;
mod watch;

mod agent_library;
mod allocator;
mod allocator_library;
mod appearance;
mod diff;
mod early_ends;
mod frames;
mod functions;
mod inverted;
mod lines;
mod metric;
mod nameless;
mod names;
mod namesakes;
mod neighbours;
mod noise;
mod opening;
mod order;
mod outstanding;
mod page_tree;
mod process_name;
mod regions;
mod resident;
mod same_file;
mod samples;
mod share;
mod short_name;
mod short_path;
mod shown;
mod stack_map;
mod stacks;
mod state;
mod successors;
mod templates;
mod timeline;
mod top_down;
mod tracks;
mod tree;

pub use accesses::{Access, Use, uses};
pub use account::{Account, Oddities, Standing};
pub use allocator::{AllocatorTime, allocator_time};
pub use allocator_library::allocator_library;
pub use appearance::rows_as_read;
pub use cost::{Amount, Cost};
pub use counters::{Counters, Point};
pub use diff::{ChangeKind, Diff, DiffRow, Match, Spelling, United, normal_name, size, unite};
pub use early_ends::{EarlyEnd, early_ends};
pub use failures::{Failure, Reason};
pub(crate) use frames::plumbing;
pub use frames::{call_kind, call_of, call_of_row, called_of, functions_of, is_plumbing, meaningful};
pub use functions::{FunctionCost, functions};
pub use history::{
    Crossing, Detail, During, Flow, History, Recorder, SiteHistory, SizeClass, Slice, Spectrum,
};
pub use lines::{FunctionPlace, LineCost, lines, lines_of, passing_through, places_of_functions};
pub use load::Load;
pub use mappings::Mappings;
pub use metric::{Metric, UnknownMetric};
pub use nameless::{Nameless, nameless};
pub(crate) use names::file_name;
pub use names::{Kind, Label, LabelId, Names, Owner, Step};
pub use neighbours::Neighbours;
pub use noise::{is_noise, is_noise_file};
pub use opening::Opening;
pub use order::natural;
pub use outstanding::{Outstanding, RequestPoints};
pub use page_tree::page_tree;
pub(crate) use pages::Pages;
pub use peak::Moment;
pub use pools::PoolEvents;
pub use process_name::{ProcessTitles, process_name};
pub use profile::{
    Anomalies, GapTotals, PagesPeak, PauseTotals, PoolProfile, ProcessProfile, Profile, Site, Snapshots, Span,
};
pub use regions::{Inside, Lengths, MarkName, Region, marks_by_name};
pub(crate) use residency::Ranges;
pub use residency::{Choice, HeldRow, Look, Residency, ResidencySums, ResidencyTable, TouchRow};
pub use resident::{busy_processors, processor_time, resident, resident_sums};
pub(crate) use same_file::representatives;
pub use samples::{SampleSites, add_idle_threads, name_threads, owners, threads};
pub use saved::Saved;
pub use share::{Share, ShareError};
pub use short_name::short_name;
pub use shown::{Cutoff, Shown};
pub use spread::Spread;
pub(crate) use stack_map::StackMap;
pub use stacks::{Group, Row, groups, rows};
pub use state::{StackState, StateShare, stack_states, state_share};
pub use successors::{goes_on, thread_count};
pub use tally::Tally;
pub use timeline::{Bucket, Timeline};
pub use totals::Totals;
pub use tracks::{Beside, Track};
pub use tree::{Tree, TreeNode};
pub use watch::{Birth, Death, End, Instant, InvalidFree, Left, Life, Moved, Stage, Watch};
