//! Everything that the screen depends on: no terminal, no file, no clock.

mod answers;
mod cursor;
mod flame;
mod functions;
mod hits;
mod labelled;
pub(crate) mod layout;
mod node_path;
mod opened;
mod page;
mod pane;
mod prompt;
mod scans;
mod state;
mod time;
mod trail;
mod visible_tree;
mod wrap;

pub(crate) use cursor::Cursor;
pub(crate) use flame::{Cell, Flame};
pub(crate) use functions::Focus;
pub(crate) use labelled::Labelled;
pub(crate) use page::Page;
pub(crate) use pane::{Pane, Row};
pub(crate) use prompt::{Prompt, Purpose};
pub(crate) use state::Model;
pub(crate) use wrap::wrapped;
