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
//! A *root* is what the program reaches without going through a block: a variable, the stack of a thread, a register.
//! A block is *reachable* if a path of pointers leads to it from a root; otherwise it is *unreachable*, and can never
//! be freed. A block *keeps* another if all such paths lead through it: without it, the other would be unreachable.
//! What it *retains* is itself and all that it keeps.
//!
//! Any word that looks like a pointer counts as one, to anywhere in a block. So a number or a stale pointer may seem
//! to hold a block, and more may be unreachable than is shown. What is shown as unreachable is so as far as all
//! memory was read and pointers are stored plainly: packed, encrypted or relative pointers are not recognized.
//!
//! Memory is linear in blocks and pointers, and time nearly so, whatever these are: they come from an untrusted file.
//!
//! # Files
//!
//! | file | what it does |
//! |---|---|
//! | `scanned` `which` | the graph of a scan with its names, and which scan of a capture that is |
//! | `builder` | blocks and the pointers between them, as a graph |
//! | `graph` | that graph, and what each block keeps |
//! | `components` `dominators` `links` | cycles as one vertex; through whom all paths lead; links as rows |
//! | `roots` `root_name` `arenas` | memory outside of blocks: what it is, how it is called, where glibc's arenas lie |
//! | `holder` `places` `block` | where pointers are stored; which block has an address |
//! | `classes` | C++ classes of blocks, and what their objects retain |
//! | `drawn` | small graphs for tests, as texts |
//! | `amounts` `pace` | sums and their order; whether long work is still wanted |

mod amounts;
mod arenas;
mod block;
mod builder;
mod classes;
mod components;
mod dominators;
#[cfg(test)]
mod drawn;
mod graph;
mod holder;
mod links;
mod pace;
mod places;
mod root_name;
mod roots;
mod scanned;
mod which;

pub use block::{BlockId, HeldBlock};
pub use builder::GraphBuilder;
pub use classes::ClassesBuilder;
pub use classes::{ClassRow, Classes};
pub use graph::retained::{Retained, RetainedRow, RootRow};
pub use graph::several::Several;
pub use graph::tree::{RetainedTree, RetainedTreeRow};
pub use graph::unreachable::{Unreachable, UnreachableHead, UnreachableRow};
pub use graph::{Figures, HeapGraph};
pub use holder::{Dominator, Holder, Rank, RootId, Source};
pub use pace::Pace;
pub use root_name::root_name;
pub use roots::{Memory, Open, Roots};
pub use scanned::{Reach, Scanned};
pub use which::WhichScan;
