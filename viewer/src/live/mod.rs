//! A recording while it goes on: who holds most now, who allocates now.
//!
//! ```text
//!  growing capture ──► Follower ──► Account ──► Ledger ──► Reading ──► text, JSON, terminal
//!                      reads on     the pass    now, the    a few rows     ▲
//!                                               last look,                 │ when they are found
//!                                               the beginning       Namer, a thread
//! ```
//!
//! It is a view like others: it reads the capture, and the recording knows nothing of it. What it keeps is bounded by
//! live blocks and different stacks: some 80 bytes for a block, half a kilobyte for a stack. Names are looked up for the rows that
//! are shown, of all stacks where rows are functions, by a thread of their own; a reading never waits for them unless it is told
//! to.

mod figures;
mod follower;
mod functions;
mod intervals;
mod ledger;
mod namer;
mod order;
mod reading;
mod shown;

pub use figures::{Change, Figures};
pub use follower::Follower;
pub use functions::Function;
pub use intervals::Intervals;
pub use order::{By, Order};
pub use reading::{Live, Reading, Row};
