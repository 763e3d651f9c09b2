//! Views of a capture as text, JSON, Markdown, HTML and `JUnit`, written to the writer that they are given.
//!
//! ```no_run
//! let loaded = engine::open("app.1000.memprof".as_ref(), engine::Naming::from_files())?;
//! let options = report::ReportOptions::default();
//! report::text::report(&mut std::io::stdout(), &loaded, &options, &report::text::Style::default())?;
//! # Ok::<(), engine::Error>(())
//! ```

mod ended;
mod options;

pub mod json;
pub mod text;

mod dump;
pub mod junit;
pub mod outline;

pub use dump::{dump, dump_json, dump_samples};
pub use ended::ended_word;
pub use options::{DiffOptions, DumpOptions, ReportOptions, ResidentBy, Shape};
