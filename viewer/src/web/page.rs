//! Puts a page together, and sees that it has its size.

use super::PageOptions;
use super::data::{Parts, data};
use super::fold::{Folded, Limits};
use super::forest::Forest;
use super::overview::overview;
use super::script::script;
use crate::analysis::History;
use crate::loaded::Loaded;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// The most bytes that a page has.
pub const MOST_BYTES: usize = 10_000_000;

/// What a page begins with. Stacks that weigh less than the 200,000th are not seen in any picture of it.
const LIMITS: Limits = Limits { nodes: 1_000_000, changes: 1_500_000 };

/// Attempts to make the data fit, each with at most three quarters of what the one before had.
const ATTEMPTS: usize = 24;

const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");

pub(super) fn write(
    out: &mut dyn Write,
    loaded: &Loaded,
    history: &History,
    options: &PageOptions,
) -> io::Result<()> {
    let script = script();
    let room = MOST_BYTES - PAGE.len() - STYLE.len() - script.len() - 1000;
    // Three bytes become four letters.
    let encoded = STANDARD.encode(packed(loaded, history, options, room / 4 * 3)?);
    assemble(out, &script, &policy(&script, "'none'"), &encoded)
}

/// A page without data, and its policy: what it asks for comes from where it came from.
pub(super) fn served() -> (Vec<u8>, String) {
    let script = script();
    let policy = policy(&script, "'self'");
    let mut page = Vec::new();
    // Nothing can fail in memory.
    let _ = assemble(&mut page, &script, &policy, "");
    (page, policy)
}

fn policy(script: &str, connect: &str) -> String {
    format!(
        "default-src 'none'; connect-src {connect}; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(STYLE)
    )
}

fn assemble(out: &mut dyn Write, script: &str, policy: &str, data: &str) -> io::Result<()> {
    let parts = [("POLICY", policy), ("STYLE", STYLE), ("DATA", data), ("SCRIPT", script)];
    let mut rest = PAGE;
    for (name, text) in parts {
        let (before, after) = rest.split_once(&format!("{{{{{name}}}}}")).expect("the page has this place");
        out.write_all(before.as_bytes())?;
        out.write_all(text.as_bytes())?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// The data, packed into at most `room` bytes.
pub(super) fn packed(
    loaded: &Loaded,
    history: &History,
    options: &PageOptions,
    room: usize,
) -> io::Result<Vec<u8>> {
    let forest = Forest::new(loaded, history);
    let overview = overview(loaded)?;
    let parts = Parts { loaded, history, options, forest: &forest, overview: &overview };
    let changes = forest.rows.iter().map(|row| row.changes.len()).sum::<usize>();
    let mut limits =
        Limits { nodes: LIMITS.nodes.min(forest.nodes.len()), changes: LIMITS.changes.min(changes) };
    for _ in 0..ATTEMPTS {
        let folded = Folded::new(&forest, &loaded.profile.total, limits);
        let packed = deflate(&data(&parts, &folded)?)?;
        if packed.len() <= room {
            return Ok(packed);
        }
        let share = (room as f64 / packed.len() as f64 * 0.95).min(0.75);
        limits.nodes = (limits.nodes as f64 * share) as usize;
        limits.changes = (limits.changes as f64 * share) as usize;
    }
    Err(io::Error::other("what the capture says of itself does not fit into a page"))
}

fn deflate(data: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data)?;
    encoder.finish()
}

/// How a policy names what it allows.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests;
