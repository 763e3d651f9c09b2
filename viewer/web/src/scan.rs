//! The results of a scan for the page: separate data, since most readers never look at it.
//!
//! ```text
//!  Scanned ──► Found ──► Columns ──► deflate ──┬──► base64, in an element of its own: report.html
//!              tree, tables, each cut          └──► a server's answer, when the page asks for it
//! ```
//!
//! Its layout is that of the page's [`data`](super::data), with nodes and names for its own stacks: so it can be read
//! without the page's data, whatever is folded there.

mod data;
mod found;
mod held;
mod numbering;

pub use held::HeldScans;

use crate::deflate::deflate;
use engine::Loaded;
use flate2::Compression;
use found::Found;
use heap_graph::{Pace, Scanned};
use std::io;

/// Rows kept of each table, and of the tree. Rows beyond the 30,000th are invisible in any drawing.
const MOST_ROWS: usize = 30_000;

/// Most bytes of the data for a nearby server.
const MOST_SERVED: usize = 4_000_000;

/// The data of a scan for a server: fast to make. None when the caller gives up.
///
/// # Errors
/// None that a capture could cause.
pub fn scan(loaded: &Loaded, scanned: &Scanned, pace: &Pace<'_>) -> io::Result<Option<Vec<u8>>> {
    packed(loaded, scanned, pace, MOST_SERVED, Compression::fast())
}

/// The data of a scan, deflated, with as many rows as fit into `room` bytes.
fn packed(
    loaded: &Loaded,
    scanned: &Scanned,
    pace: &Pace<'_>,
    room: usize,
    compression: Compression,
) -> io::Result<Option<Vec<u8>>> {
    let Some(found) = Found::new(scanned, pace) else { return Ok(None) };
    let mut most = MOST_ROWS;
    loop {
        if pace.ask().is_none() {
            return Ok(None);
        }
        let packed = deflate(&data::data(loaded, scanned, &found, most)?, compression)?;
        if packed.len() <= room {
            return Ok(Some(packed));
        }
        if most == 0 {
            return Err(io::Error::other("what a scan says of itself does not fit"));
        }
        most = most.min(found.most_rows()) / 2;
    }
}

#[cfg(test)]
mod tests;
