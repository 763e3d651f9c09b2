//! Data for a server. Most of it is the same for every range of time and is deflated only once.
//!
//! ```text
//!  head           what all ranges share       slices, changes        each deflated alone, up to a byte's end, so
//!  of the range   nodes, rows, names …        of the range           that they form one stream when concatenated
//! ```

use super::call_tree::Row;
use super::data::{Fixed, Parts, over_time};
use super::fold::Folded;
use crate::limits::{LIMITS, MOST_BYTES};
use analysis::{Flow, History, add_by_key};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::borrow::Cow;
use std::io::{self, Write};

/// What all ranges share, if nothing needs to be folded because of its size.
pub(super) struct Pieces {
    fixed: Fixed,
    /// Its columns, deflated.
    packed: Vec<u8>,
    /// Pairs of a row and a site of the histories, ordered by row.
    sites: Vec<(u32, usize)>,
    rows: usize,
    /// Number of row entries other than changes.
    entries: usize,
}

impl Pieces {
    /// From a tree without the changes of any history.
    pub(super) fn new(parts: &Parts<'_>) -> io::Result<Self> {
        let call_tree = &parts.shared.call_tree;
        let folded = Folded::whole(call_tree);
        let fixed = Fixed::new(parts, &folded);
        let packed = deflated(&fixed.columns.bytes)?;
        let sites = call_tree.of_sites.iter().enumerate();
        let mut sites: Vec<(u32, usize)> = sites.map(|(site, &row)| (folded.row_of[row], site)).collect();
        sites.sort_unstable();
        let entries = folded.rows.iter().map(Row::entries).sum();
        Ok(Self { fixed, packed, sites, rows: folded.rows.len(), entries })
    }

    /// The data with the changes of a history; none if that does not fit.
    pub(super) fn joined(&self, parts: &Parts<'_>, history: &History) -> io::Result<Option<Vec<u8>>> {
        let changes = self.changes(history);
        if self.entries + changes.iter().map(|changes| changes.len()).sum::<usize>() > LIMITS.changes {
            return Ok(None);
        }
        let over_time = over_time(parts.loaded, history, &changes);
        let head = deflated(&self.fixed.head(parts, &over_time)?)?;
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&over_time.bytes)?;
        let data = [&head, &self.packed, &encoder.finish()?].map(Vec::as_slice).concat();
        Ok(Some(data).filter(|data| data.len() <= MOST_BYTES))
    }

    /// By row.
    fn changes<'h>(&self, history: &'h History) -> Vec<Cow<'h, [(u32, Flow)]>> {
        let mut rows = vec![Cow::Borrowed(&[][..]); self.rows];
        for of_row in self.sites.chunk_by(|a, b| a.0 == b.0) {
            let of_site = |site: usize| history.sites.get(site).map_or(&[][..], |site| history.changes(site));
            rows[of_row[0].0 as usize] = match of_row {
                [(_, site)] => Cow::Borrowed(of_site(*site)),
                several => {
                    let mut sum = Vec::new();
                    several.iter().for_each(|(_, site)| add_by_key(&mut sum, of_site(*site)));
                    Cow::Owned(sum)
                }
            };
        }
        rows
    }
}

/// Deflates a piece that is followed by others.
fn deflated(data: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data)?;
    encoder.flush()?;
    Ok(std::mem::take(encoder.get_mut()))
}
