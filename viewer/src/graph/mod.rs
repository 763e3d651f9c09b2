//! Which block keeps which alive, at one moment of one process.
//!
//! ```text
//!  words of memory            links                    dominators           by stack
//!
//!  cache ──► A                cache ─► A ─► B          cache                cache       96 B
//!  A+8   ──► B                         │    │          └─ A   96 B          └─ insert   96 B
//!  A+16  ──► C                         └──► C             ├─ B  32 B           └─ node  64 B
//!  B+0   ──► C                                            └─ C  32 B
//!  (of a free chunk) ──► D    D                        unreachable: D
//! ```
//!
//! A *root* is what the program reaches without a block: a variable, the stack of a thread, a register. A block is *reachable*
//! when a way of pointers leads to it from a root; others are *unreachable*: nobody can ever free them. One block *keeps* another
//! when all such ways lead through it: without it, the other would be unreachable. What it *retains* is itself and all that it
//! keeps.
//!
//! Any word that looks like a pointer counts as one, to anywhere in a block. So a block may seem to be held by a number, or by what
//! is left of an old pointer: more may be unreachable than is shown. What is shown is so as far as all memory was looked at and
//! pointers are stored plainly: one that is packed, encrypted or counted from elsewhere is not seen.
//!
//! Memory is linear in blocks and pointers, and time nearly so, whatever they are: they come from somebody else's file.

mod arenas;
mod block;
mod builder;
mod classes;
mod components;
mod dominators;
#[cfg(test)]
mod drawn;
mod heap_graph;
mod holder;
mod links;
mod pace;
mod places;
mod retained;
mod root_name;
mod roots;
mod scanned;
mod several;
mod tree;
mod unreachable;
mod which;

pub use block::{BlockId, HeldBlock};
pub use builder::GraphBuilder;
pub(crate) use classes::ClassesBuilder;
pub use classes::{ClassRow, Classes};
pub use heap_graph::{Figures, HeapGraph};
pub use holder::{Holder, Keeper, Rank, RootId, Source};
pub use pace::Pace;
pub use retained::{Retained, RetainedRow, RootRow};
pub use root_name::root_name;
pub(crate) use roots::{Memory, Roots};
pub use scanned::{Reach, Scanned};
pub use several::Several;
pub use tree::{KeptRow, KeptTree};
pub use unreachable::{Unreachable, UnreachableHead, UnreachableRow};
pub use which::WhichScan;
