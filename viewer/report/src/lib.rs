//! Views of a capture as text, JSON, CSV, Markdown, HTML and `JUnit`, written to the writer that they are given.
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
//! | `table` | what a view shows, as typed values |
//! | `views` | builders of tables, a file for each view; all formats have these |
//! | `text` | columns of a terminal: of tables, and a file for each view that is none yet |
//! | `json` | documents for programs, described in `JSON.md`: of tables, and a file for each of the others |
//! | `outline` | rows as they are on a screen, to be pasted elsewhere: text, Markdown, HTML |
//! | `csv` | tables with exact numbers |
//! | `format` | all formats of a table |
//! | `junit` `github` | results of rules for build servers |
//! | `events` | every event, or every CPU sample, a line each |
//! | `options` `ended` | what a user can ask for; how a process ended, in words |

mod ended;
mod options;
pub mod table;
pub mod views;

pub mod csv;
pub mod json;
pub mod text;

mod events;
mod format;
pub mod github;
pub mod junit;
pub mod outline;

pub use ended::ended_word;
pub use events::{events, events_json, samples};
pub use format::Format;
pub use options::{DiffOptions, EventOptions, ReportOptions, ResidentBy, Shape};
