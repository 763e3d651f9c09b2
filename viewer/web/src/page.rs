//! Assembles a page, and keeps it within its size.

use super::baseline::Baseline;
use super::call_tree::{CallTree, Row};
use super::data::{Parts, Shared, data};
use super::overview::overview;
use super::pieces::Pieces;
use super::scan::HeldScans;
use super::script::script;
use crate::deflate::deflate;
use crate::fold::{Folded, Limits};
use crate::limits::{LIMITS, MOST_BYTES};
use crate::options::PageOptions;
use crate::tables::tables;
use analysis::History;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::{Loaded, PeakMemory, Sources};
use flate2::Compression;
use report::views;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::io::{self, Write};

/// Attempts to make the data fit, each with at most three quarters of the previous limits.
const ATTEMPTS: usize = 24;

const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");

/// Writes the page, compared with an older capture if there is one, and with the results of scans.
///
/// # Errors
/// Those of the writer.
pub fn page(
    out: &mut dyn Write,
    loaded: &Loaded,
    history: &History,
    memory: Option<PeakMemory>,
    baseline: Option<Baseline>,
    scans: &HeldScans,
    options: &PageOptions,
) -> io::Result<()> {
    let (script, scans) = (script(), scans.markup());
    let room = MOST_BYTES - PAGE.len() - STYLE.len() - script.len() - scans.len() - 1000;
    // Base64 turns three bytes into four characters.
    let size = Size { room: room / 4 * 3, compression: Compression::default() };
    let mut packer = Packer::new(loaded, history, memory, baseline, options)?;
    let encoded = STANDARD.encode(packer.pack(loaded, [history; 2], options, size)?);
    assemble(out, &script, &policy(&script, "'none'"), [&encoded, &scans])
}

/// The page for a server, without data, and its policy, which the server must send as well: the page requests `data`
/// next to its own address.
pub fn served_page() -> (Vec<u8>, String) {
    let script = script();
    let policy = policy(&script, "'self'");
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = assemble(&mut page, &script, &policy, ["", ""]);
    (page, policy)
}

fn policy(script: &str, connect: &str) -> String {
    format!(
        "default-src 'none'; connect-src {connect}; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(STYLE)
    )
}

fn assemble(out: &mut dyn Write, script: &str, policy: &str, [data, scans]: [&str; 2]) -> io::Result<()> {
    let parts = [("POLICY", policy), ("STYLE", STYLE), ("DATA", data), ("SCANS", scans), ("SCRIPT", script)];
    let mut rest = PAGE;
    for (name, text) in parts {
        let (before, after) = rest.split_once(&format!("{{{{{name}}}}}")).expect("the page has this place");
        out.write_all(before.as_bytes())?;
        out.write_all(text.as_bytes())?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// How large data may be, and how hard to compress it.
#[derive(Clone, Copy, Debug)]
struct Size {
    room: usize,
    compression: Compression,
}

/// Packs the data of a capture; what all of its histories share is computed once.
pub struct Packer {
    shared: Shared,
    /// For a server, once data was requested.
    pieces: Option<Pieces>,
}

impl Packer {
    /// For any history of these sites. When compared with an older capture, the numbers and names must be those
    /// returned by [`Baseline::new`].
    ///
    /// # Errors
    /// None that a capture could cause.
    pub fn new(
        loaded: &Loaded,
        history: &History,
        memory: Option<PeakMemory>,
        baseline: Option<Baseline>,
        options: &PageOptions,
    ) -> io::Result<Self> {
        let sources = RefCell::new(Sources::new(options.path_map.clone()));
        let call_tree = CallTree::new(loaded, history, baseline.as_ref().map(|baseline| &baseline.diff));
        let pages = memory.as_ref().map(|memory| {
            let mut document = views::pages(loaded, &memory.pages);
            document.notes.insert(0, "at the peak of the whole capture".into());
            tables(loaded, &document)
        });
        let (overview, baseline_overview) = match baseline {
            Some(Baseline { newer, baseline_overview, .. }) => (newer, Some(baseline_overview)),
            None => (overview(loaded)?, None),
        };
        let shared = Shared { call_tree, sources, memory, pages, overview, baseline_overview };
        Ok(Self { shared, pieces: None })
    }

    /// The data of a history for a nearby server: fast to make. `whole` is the history of the whole time; `history`
    /// is the same, or what [`Analyzer::history_within`](engine::Analyzer::history_within) made from it.
    ///
    /// # Errors
    /// When what the capture says about itself is too long for a page.
    pub fn served(
        &mut self,
        loaded: &Loaded,
        whole: &History,
        history: &History,
        options: &PageOptions,
    ) -> io::Result<Vec<u8>> {
        if self.pieces.is_none() && self.shared.call_tree.nodes.len() <= LIMITS.nodes {
            self.pieces = Some(Pieces::new(&self.parts(loaded, whole, options))?);
        }
        if let Some(pieces) = &self.pieces
            && let Some(data) = pieces.joined(&self.parts(loaded, whole, options), history)?
        {
            return Ok(data);
        }
        let size = Size { room: MOST_BYTES, compression: Compression::fast() };
        self.pack(loaded, [whole, history], options, size)
    }

    fn parts<'a>(&'a self, loaded: &'a Loaded, whole: &'a History, options: &'a PageOptions) -> Parts<'a> {
        Parts { loaded, history: whole, options, shared: &self.shared }
    }

    fn pack(
        &mut self,
        loaded: &Loaded,
        [whole, history]: [&History; 2],
        options: &PageOptions,
        size: Size,
    ) -> io::Result<Vec<u8>> {
        self.shared.call_tree.take_changes(history);
        let parts = self.parts(loaded, whole, options);
        let call_tree = &self.shared.call_tree;
        let changes = call_tree.rows.iter().map(Row::entries).sum::<usize>();
        let mut limits =
            Limits { nodes: LIMITS.nodes.min(call_tree.nodes.len()), changes: LIMITS.changes.min(changes) };
        for _ in 0..ATTEMPTS {
            let folded = Folded::new(call_tree, &loaded.profile.total, limits);
            let packed = deflate(&data(&parts, history, &folded)?, size.compression)?;
            if packed.len() <= size.room {
                return Ok(packed);
            }
            let share = (size.room as f64 / packed.len() as f64 * 0.95).min(0.75);
            limits.nodes = (limits.nodes as f64 * share) as usize;
            limits.changes = (limits.changes as f64 * share) as usize;
        }
        Err(io::Error::other("what the capture says of itself does not fit into a page"))
    }
}

/// The hash by which a policy allows a script or style.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests;
