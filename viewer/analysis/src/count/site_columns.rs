//! How rows are stored: what was freed is mostly all that is not left, so what is stored of it is the difference.

use super::profile::Site;
use crate::base::columns::Columns;
use crate::base::cost::{Amount, Cost};
use capture::{NodeId, ProcessId};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Process, difference of the stack from that of the row before, and eight amounts.
type SiteColumns = Columns<{ 2 + 2 * 8 }>;

pub(super) fn serialize<S: Serializer>(sites: &[Site], serializer: S) -> Result<S::Ok, S::Error> {
    let mut columns = SiteColumns::new();
    let mut before = 0;
    for site in sites {
        // Samples are added when a capture is read.
        let Cost { allocated, freed, temporary, frees, peak, leaked, uncertain, at_exec, cpu: _ } = site.cost;
        let rest = allocated - freed - leaked - uncertain - at_exec;
        let node = i64::from(site.node.0);
        let amounts = [allocated, rest, temporary, frees, peak, leaked, uncertain, at_exec];
        columns.push(&[i64::from(site.process.0), node - before], amounts);
        before = node;
    }
    columns.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Site>, D::Error> {
    let columns = SiteColumns::deserialize(deserializer)?;
    let mut node = 0_i64;
    let site = |row: usize| {
        let id = |number: i64| u32::try_from(number).map_err(D::Error::custom);
        node = node.wrapping_add(columns.number(row, 1));
        let [allocated, rest, temporary, frees, peak, leaked, uncertain, at_exec] = columns.amounts(row, 2);
        let freed = allocated - rest - leaked - uncertain - at_exec;
        let cpu = Amount::ZERO;
        let cost = Cost { allocated, freed, temporary, frees, peak, leaked, uncertain, at_exec, cpu };
        let process = ProcessId(id(columns.number(row, 0))?);
        Ok(Site { process, thread: None, node: NodeId(id(node)?), cost })
    };
    (0..columns.rows()).map(site).collect()
}
