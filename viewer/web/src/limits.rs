//! How large a page may become.

use crate::fold::Limits;

/// Most bytes of a page.
pub const MOST_BYTES: usize = 10_000_000;

/// Most cells of the memory map in a page.
pub const MOST_CELLS: usize = 4096;

/// The initial limits. Stacks beyond the 200,000th by weight are invisible in any drawing.
pub(crate) const LIMITS: Limits = Limits { nodes: 1_000_000, changes: 2_500_000 };
