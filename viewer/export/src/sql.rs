//! A capture as an `SQLite` database, and queries in SQL.
//!
//! ```text
//!  processes ◄── threads        functions ◄── frame_functions ──► frames ──► modules
//!      ▲            ▲                                                ▲
//!      └── costs ───┼──────────────────────────────► stacks ─────────┘
//!                   └── blocks ────────────────────────┘
//! ```
//!
//! `schema.sql` describes each table. Rows are numbered as in the capture.

mod blocks;
mod database;
mod question;
mod tables;

pub use database::{Error, write};
pub use question::{Form, query};
