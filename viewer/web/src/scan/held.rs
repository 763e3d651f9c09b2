//! The scans that are stored in a page.

use super::packed;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use capture::Scan;
use engine::Loaded;
use flate2::Compression;
use heap_graph::{Pace, Scanned};
use std::collections::HashMap;
use std::io;

/// Most scans in a page: it has at most 10 MB, and each scan is a graph.
const MOST: usize = 64;

/// Most scans of one process: one pass over all events serves this many.
const MOST_OF_A_PROCESS: usize = 4;

/// Most characters that all of them take.
const MOST_BYTES: usize = 4_000_000;

/// The scans of a capture that are selected for a page.
#[derive(Debug, Default)]
pub struct HeldScans {
    places: Vec<usize>,
    /// By number, in order, in base64.
    elements: Vec<(usize, String)>,
}

impl HeldScans {
    /// Selects the last one, and those in which most memory was searched: among many processes, the largest.
    pub fn choose(scans: &[Scan]) -> Self {
        let mut order: Vec<usize> = (0..scans.len()).rev().collect();
        order.get_mut(1..).unwrap_or_default().sort_by_key(|&place| std::cmp::Reverse(scans[place].searched));
        let mut of_process: HashMap<_, usize> = HashMap::new();
        order.retain(|&place| {
            let number = of_process.entry(scans[place].process).or_default();
            *number += 1;
            *number <= MOST_OF_A_PROCESS
        });
        order.truncate(MOST);
        order.sort_unstable();
        Self { places: order, elements: Vec::new() }
    }

    /// Their indices in the capture, in order.
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// Adds the results of one of them, with the names that the page has.
    ///
    /// # Errors
    /// None that a capture could cause.
    pub fn add(&mut self, loaded: &Loaded, scanned: &Scanned) -> io::Result<()> {
        // Base64 turns three bytes into four characters.
        let room = MOST_BYTES / self.places.len().max(1) / 4 * 3;
        let packed = packed(loaded, scanned, &Pace::default(), room, Compression::default())?;
        self.elements.extend(packed.map(|packed| (scanned.number, STANDARD.encode(packed))));
        self.elements.sort_unstable_by_key(|(number, _)| *number);
        Ok(())
    }

    /// Their elements in the page: none without scans.
    pub(crate) fn markup(&self) -> String {
        let element = |(number, data): &(usize, String)| {
            format!("\n<script id=\"scan-{number}\" type=\"application/octet-stream\">{data}</script>")
        };
        self.elements.iter().map(element).collect()
    }
}
