//! Views of a capture as text, JSON, Markdown, HTML and `JUnit`, written to the writer that they are given.
//!
//! ```no_run
//! let loaded = engine::open("app.1000.memprof".as_ref(), engine::Naming::from_files())?;
//! let options = report::ReportOptions::default();
//! report::text::report(&mut std::io::stdout(), &loaded, &options, &report::text::Style::default())?;
//! # Ok::<(), engine::Error>(())
//! ```
//!
//! # Folders
//!
//! | folder | what is in it |
//! |---|---|
//! | `text` | a file for each view in columns; `columns`, `style`, `units` and `escape` are shared by all |
//! | `json` | a file for each document, described in `JSON.md`; `blocks` has those of single blocks |
//! | `outline` | rows as they are on a screen, to be pasted elsewhere: text, Markdown, HTML |
//! | `junit` `github` | results of rules for build servers |
//! | `dump` | every event, or every CPU sample, a line each |
//! | `options` `ended` | what a user can ask for; how a process ended, in words |

mod ended;
mod options;

pub mod json;
pub mod text;

mod dump;
pub mod github;
pub mod junit;
pub mod outline;

pub use dump::{dump, dump_json, dump_samples};
pub use ended::ended_word;
pub use options::{DiffOptions, DumpOptions, ReportOptions, ResidentBy, Shape};
