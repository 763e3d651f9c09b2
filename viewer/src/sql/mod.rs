//! A capture as a database of `SQLite`, and questions in SQL.
//!
//! ```text
//!  processes ◄── threads        functions ◄── frame_functions ──► frames ──► modules
//!      ▲            ▲                                                ▲
//!      └── costs ───┼──────────────────────────────► stacks ─────────┘
//!                   └── blocks ────────────────────────┘
//! ```
//!
//! `schema.sql` describes each table. Rows of tables have the numbers that the capture gives them.

mod blocks;
mod database;
mod parquet;
mod question;
mod tables;

pub use database::{Error, write};
pub use parquet::write_parquet;
pub use question::{Form, query};
