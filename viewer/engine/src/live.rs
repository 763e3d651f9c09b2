//! A recording while it goes on: who holds most now, who allocates now.
//!
//! ```text
//!  growing capture ──► Follower ──► Load ──► Ledger ──► Reading ──► text, JSON, terminal
//!                      reads on     the pass    now, the    a few rows     ▲
//!                                               last look,                 │ when they are found
//!                                               the beginning       Namer, a thread
//! ```
//!
//! It is a view like others: it reads the capture, and the recording is not aware of it. Its memory is bounded by
//! live blocks and distinct stacks: some 80 bytes per block, half a kilobyte per stack. Names are looked up by a
//! separate thread for the rows that are shown, or for all stacks when rows are functions; a reading does not wait
//! for them unless told to.

mod figures;
mod follower;
mod functions;
mod ledger;
mod named_stacks;
mod namer;
mod order;
mod reading;
mod shown;

pub use figures::{Change, Figures};
pub use follower::Follower;
pub use functions::Function;
pub use named_stacks::NamedStacks;
pub use order::{By, Order};
pub use reading::{Live, Reading, Row};
