//! What the lifetimes of blocks tell beyond their sums: how long, how large, from whom to whom.
//!
//! Each view is an observer of a pass ([`Watch`](crate::count::watch::Watch)), which is told of the blocks that were
//! asked for: those allocated in the selected part of the capture, followed up to its end. So their sums match those
//! of every other view, and an end that was not seen is shown as such: a block still live has lived *at least* that
//! long.
//!
//! Memory is bounded by live blocks and by the number of distinct stacks, threads and classes.

pub(crate) mod accesses;
mod address_map;
mod age;
mod freed;
pub(crate) mod frees;
mod heaps;
mod history;
mod invalid_frees;
mod life_table;
mod mapped;
pub(crate) mod pages;
mod reallocs;
mod several;
pub(crate) mod shapes;
mod size;
mod sizes;
mod temporary;
mod threads;

pub use address_map::{AddressMap, MapCell, MapTable};
pub use age::Age;
pub use frees::{BlockStats, Endpoint, Frees, FreesRow, Order, Passed, Side};
pub use heaps::{Heap, HighestBlock};
pub use history::{Entry, History, Turn};
pub use invalid_frees::{Block, Cause, InvalidFreeRow, InvalidFrees, Return, Suspects};
pub use life_table::{Cell, LifeRow, LifeTable, Lifetimes};
pub use mapped::{Mapped, MappedRow};
pub use pages::{FULLNESS, PAGE, PageTable, Pages, StackPages};
pub use reallocs::{ReallocRow, Reallocs};
pub use several::{Observer, Several, observer};
pub use shapes::{Shape, Shapes, StackShape};
pub use size::{SizeClass, usable_by_glibc};
pub use sizes::{SizeRow, SizeTable, Sizes};
pub use temporary::{Temporary, TemporaryRow};
pub use threads::{CrossRow, PairRow, ThreadRow, ThreadTable, Threads};
