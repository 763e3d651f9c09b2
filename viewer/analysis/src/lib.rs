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
//!
//! # Folders
//!
//! | folder | what is in it |
//! |---|---|
//! | `base` | amounts, costs, metrics, spreads: values that everything else is made of |
//! | `names` | names of functions, files and processes, and which functions of a stack a view shows |
//! | `count` | the pass over the events, and the numbers that it leaves; `watch` is for observers of it |
//! | `query` | what to look at: a part, blocks, processes, a heap |
//! | `lifetimes` | observers that tell more of blocks than their sums: how long, how large, from whom to whom |
//! | `residency` | which pages are resident, whose blocks lie on them, who touched them first |
//! | `timeline` | the heap over time: slices, regions, tracks |
//! | `rows` | rows and trees that views list |
//! | `diff` | what changed between two profiles, and captures in one set of tables |
//! | `counting` | the pass over a recording while it is written |
//! | `format` | numbers for people |

pub mod format;

mod base;
mod names;

mod count;

pub mod query;

pub mod lifetimes;
mod residency;

mod rows;

mod diff;
mod timeline;

mod counting;

pub use base::cost::{Amount, Cost};
pub use base::metric::{Metric, UnknownMetric};
pub use base::order::natural;
pub use base::parts::add_by_key;
pub use base::share::{Share, ShareError};
pub use base::spread::Spread;
pub use count::builder::ProfileBuilder;
pub use count::checkpoint::Checkpoint;
pub use count::counters::{Counters, Point};
pub use count::failures::{Failure, Reason};
pub use count::mappings::Mappings;
pub use count::pages::Pages;
pub use count::peak::Moment;
pub use count::pools::PoolEvents;
pub use count::profile::{
    Anomalies, GapTotals, PagesPeak, PauseTotals, PoolProfile, ProcessProfile, Profile, Site, Snapshots, Span,
};
pub use count::row_totals::{ProcessAnomalies, RowTotals};
pub use count::samples::{SampleSites, add_idle_threads, name_threads, owners, threads};
pub use count::tally::{Tallies, Tally};
pub use count::totals::Totals;
pub use count::watch::{Birth, Death, End, Instant, InvalidFree, Left, Life, Mapping, Moved, Stage, Watch};
pub use counting::{Counting, Results, STEPS, VERSION};
pub use diff::{ChangeKind, Diff, DiffRow, IdMap, Match, Spelling, Union, normal_name, size, unite};
pub use format::seems_later;
pub use lifetimes::accesses::{Access, Use, uses};
pub use names::file_name::file_name;
pub use names::frames::library_frames;
pub use names::frames::{
    call_kind, call_of, call_of_row, called_of, functions_of, is_library_frame, meaningful,
};
pub use names::library_frames::{is_library_file, is_library_function};
pub use names::process_name::{ProcessTitles, process_name};
pub use names::same_file::representatives;
pub use names::short_name::short_name;
pub use names::table::{Kind, Label, LabelId, Names, Owner, Script, Step};
pub use residency::{Choice, HeldRow, Look, Residency, ResidencySums, ResidencyTable, TouchRow};
pub use rows::allocator::{AllocatorTime, allocator_time};
pub use rows::allocator_library::allocator_library;
pub use rows::appearance::rows_as_read;
pub use rows::early_ends::{EarlyEnd, early_ends};
pub use rows::exec_chain::{follows_exec, thread_count};
pub use rows::functions::{FunctionCost, functions, ranked_functions};
pub use rows::lines::{FunctionPlace, LineCost, lines, lines_of, passing_through, places_of_functions};
pub use rows::nameless::{Nameless, nameless, nameless_addresses};
pub use rows::neighbours::Neighbours;
pub use rows::opening::Opening;
pub use rows::page_tree::page_tree;
pub use rows::resident::{busy_processors, processor_time, resident, resident_sums};
pub use rows::shown::{Cutoff, Shown};
pub use rows::stack_map::StackMap;
pub use rows::stacks::{Group, Row, groups, rows};
pub use rows::state::{StackState, StateShare, stack_states, state_share};
pub use rows::tree::{Tree, TreeNode};
pub use timeline::buckets::{Bucket, Timeline};
pub use timeline::history::{
    Detail, During, Flow, History, Recorder, SiteHistory, SizeClass, Slice, Spectrum,
};
pub use timeline::regions::{Inside, Lengths, MarkName, Region, marks_by_name};
pub use timeline::tracks::{Track, TrackSet};
