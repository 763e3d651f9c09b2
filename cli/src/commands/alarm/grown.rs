//! The stacks that have grown, for an alarm.

use analysis::format::bytes;
use analysis::{Metric, file_name, meaningful, rows_as_read};
use engine::Loaded;
use serde_json::{Value, json};

/// How many stacks an alarm names, and how many functions of each.
const STACKS: usize = 5;
const FUNCTIONS: usize = 30;
/// Functions of a stack in a line.
const IN_A_LINE: usize = 4;

/// A stack, and by how much it has grown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grown {
    bytes: i64,
    blocks: i64,
    /// Function, file and line, innermost first.
    functions: Vec<(String, Option<String>, Option<u32>)>,
}

/// Those that have grown most, of a change.
pub(super) fn grown(change: &Loaded) -> Vec<Grown> {
    let Loaded { profile, tables, names, .. } = change;
    let rows = rows_as_read(profile, tables, names, Metric::Live);
    let grown = rows.iter().filter(|row| row.cost.live().bytes > 0).take(STACKS);
    let grown = grown.map(|row| {
        let functions = meaningful(tables, names, row.node).take(FUNCTIONS).map(|(_, step)| {
            let file = step.file.map(|file| tables.string(file).to_owned());
            (names.label(step.label).name.clone(), file, step.line)
        });
        Grown { bytes: row.cost.live().bytes, blocks: row.cost.live().blocks, functions: functions.collect() }
    });
    grown.collect()
}

impl Grown {
    /// `+1.20 GiB load (page.c:12) < main`.
    pub(super) fn text(&self) -> String {
        let names = self.functions.iter().take(IN_A_LINE).map(|(name, file, line)| {
            let place = file.as_ref().zip(*line);
            let place = place.map(|(file, line)| format!(" ({}:{line})", file_name(file)));
            name.clone() + &place.unwrap_or_default()
        });
        let names: Vec<String> = names.collect();
        let more = if self.functions.len() > IN_A_LINE { " < …" } else { "" };
        format!("+{} {}{more}", bytes(self.bytes), names.join(" < "))
    }

    pub(super) fn json(&self) -> Value {
        let function = |(name, file, line): &(String, Option<String>, Option<u32>)| json!({"function": name, "file": file, "line": line});
        let stack: Vec<Value> = self.functions.iter().map(function).collect();
        json!({"bytes": self.bytes, "blocks": self.blocks, "stack": stack})
    }
}
