//! How rows are stored: one column for each number, since the numbers of a column are alike and most columns are zeros.
//! What was freed is mostly all that is not left, so what is stored of it is the difference.

use super::profile::Site;
use crate::base::cost::{Amount, Cost};
use capture::{NodeId, ProcessId};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Process, difference of the stack from that of the row before, and two numbers for each of eight amounts.
const COLUMNS: usize = 2 + 2 * 8;

/// The amounts of a row; samples are added when a capture is read.
fn amounts(cost: &Cost) -> [Amount; 8] {
    let Cost { allocated, freed, temporary, frees, peak, leaked, uncertain, at_exec, cpu: _ } = *cost;
    let rest = allocated - freed - leaked - uncertain - at_exec;
    [allocated, rest, temporary, frees, peak, leaked, uncertain, at_exec]
}

pub(super) fn serialize<S: Serializer>(sites: &[Site], serializer: S) -> Result<S::Ok, S::Error> {
    let mut columns = vec![Vec::new(); COLUMNS];
    let mut before = 0;
    for site in sites {
        let node = i64::from(site.node.0);
        let ids = [i64::from(site.process.0), node - before];
        before = node;
        let amounts = amounts(&site.cost).into_iter().flat_map(|amount| [amount.blocks, amount.bytes]);
        columns
            .iter_mut()
            .zip(ids.into_iter().chain(amounts))
            .for_each(|(column, number)| column.push(number));
    }
    columns.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Site>, D::Error> {
    let columns: Vec<Vec<i64>> = Deserialize::deserialize(deserializer)?;
    let rows = columns.first().map_or(0, Vec::len);
    if columns.len() != COLUMNS || columns.iter().any(|column| column.len() != rows) {
        return Err(D::Error::custom("columns of different lengths"));
    }
    let mut node = 0_i64;
    let site = |row: usize| {
        let number = |column: usize| columns[column][row];
        let amount = |place: usize| Amount { blocks: number(2 * place + 2), bytes: number(2 * place + 3) };
        let id = |number: i64| u32::try_from(number).map_err(D::Error::custom);
        node = node.wrapping_add(number(1));
        let [allocated, rest, temporary, frees, peak, leaked, uncertain, at_exec] =
            std::array::from_fn(amount);
        let freed = allocated - rest - leaked - uncertain - at_exec;
        let cpu = Amount::ZERO;
        let cost = Cost { allocated, freed, temporary, frees, peak, leaked, uncertain, at_exec, cpu };
        Ok(Site { process: ProcessId(id(number(0))?), thread: None, node: NodeId(id(node)?), cost })
    };
    (0..rows).map(site).collect()
}
