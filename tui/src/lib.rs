//! A capture in a terminal.
//!
//! ```text
//!  keys, mouse ──► update ──► Model ──► draw ──► terminal
//!                               │  ▲
//!                        wanted │  │ answers            one thread draws, the other counts
//!                               ▼  │
//!                              worker ──► viewer: the same analysis as every other view
//! ```
//!
//! What it guarantees:
//! - **The thread that draws never counts.** What the model wants to know is computed by another thread; until the
//!   answer comes, the last one is shown, with a sign that it is out of date if that takes more than 50 ms.
//! - **At most one request is being answered**, the one that the model wants now. An older one is cancelled.
//! - **The model is pure**: it knows no terminal, no file and no clock, so tests can feed it keys and answers of any
//!   kind and in any order.
//! - **The cost of a screen is that of its rows**, whatever the size of a tree: no view makes a list of all rows of a
//!   tree.
//! - **The terminal is restored**, after an error, a panic or a signal, too.
//!
//! # Files
//!
//! | file | what it does |
//! |---|---|
//! | `shell` | reads events, asks the worker, draws, performs effects |
//! | `update` | what keys and the mouse do to the model |
//! | `model` | everything that the screen depends on |
//! | `work` | requests, and the thread that answers them |
//! | `draw` | a file for each view |
//! | `keys` `catalogue` | which key does what, and all sentences, as tables |
//! | `top` | a running recording |
//! | `editor` `options` | the user's editor; what the command line asks of the screen |

mod catalogue;
mod draw;
mod editor;
mod keys;
mod model;
mod options;
mod shell;
mod top;
mod update;
mod work;

pub use options::Options;
pub use shell::run;
pub use top::{Command, Top, top};

#[cfg(test)]
#[path = "../../viewer/tests/support/mod.rs"]
mod support;
#[cfg(test)]
mod tests;
