//! The numbers of a stack, as the columns of a table.

use analysis::{Amount, Cost};

/// The names of two columns, for blocks and for bytes, and the amount that they show.
pub(crate) type Columns = (&'static str, &'static str, fn(&Cost) -> Amount);

/// Those of every capture.
pub(crate) const COLUMNS: [Columns; 9] = [
    ("allocations", "allocated_bytes", |cost| cost.allocated),
    ("frees", "freed_bytes", |cost| cost.freed),
    ("temporary", "temporary_bytes", |cost| cost.temporary),
    ("peak_blocks", "peak_bytes", |cost| cost.peak),
    ("leaked_blocks", "leaked_bytes", |cost| cost.leaked),
    ("uncertain_blocks", "uncertain_bytes", |cost| cost.uncertain),
    ("exec_blocks", "exec_bytes", |cost| cost.at_exec),
    ("live_blocks", "live_bytes", Cost::live),
    ("cpu_samples", "cpu_weight", |cost| cost.cpu),
];

/// One more if the stacks of frees were recorded.
pub(crate) const FREES: Columns = ("frees_here", "freed_here_bytes", |cost| cost.frees);
