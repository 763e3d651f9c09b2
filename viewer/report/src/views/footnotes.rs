//! What the names and the stacks of a view lack, and what to do about it.
//!
//! ```text
//! Functions without a name
//!   Install debug symbols (docs/symbols.md has the commands), or build without stripping.
//!  addresses  allocating  on stacks  reason
//!        412      52.1 %     98.2 %  No symbols in binary file: git, libpcre2-8.so.0
//! ```

use crate::table::{Column, Most, Readers, Row, Table, Value, phrase};
use analysis::{Metric, Nameless, early_ends, file_name, nameless};
use engine::Loaded;
use symbols::Reason;

/// Most files that are named for one reason.
const FILES: usize = 4;

const ADVICE: &str =
    "Build it with -fasynchronous-unwind-tables or -fno-omit-frame-pointer; assembly needs .cfi directives.";

const ADVICE_FOR_MADE_CODE: &str =
    "Code made at run time needs frame pointers, as of java -XX:+PreserveFramePointer.";

/// Functions without a name, and stacks that end for lack of unwind information.
pub(crate) fn footnotes(loaded: &Loaded, metric: Metric) -> [Table; 2] {
    [without_name(loaded, metric), ended_early(loaded, metric)]
}

/// A row for each reason.
fn without_name(loaded: &Loaded, metric: Metric) -> Table {
    let reasons = nameless(&loaded.profile, &loaded.tables, &loaded.names, metric);
    let whole = metric.rank(metric.of(&loaded.profile.total));
    let share = |amount| Value::Share(metric.rank(amount), whole);
    let rows = reasons.iter().map(|reason| {
        let cells = [Value::count(reason.frames), share(reason.own), share(reason.cost)];
        Row::new(cells, what(loaded, reason))
    });
    let mut advice: Vec<&'static str> = Vec::new();
    for text in reasons.iter().map(self::advice) {
        if !advice.contains(&text) {
            advice.push(text);
        }
    }
    let columns =
        [Column::shown("addresses"), Column::shown("allocating"), Column::shown("on stacks").width(9)];
    let table = Table::new("nameless", columns, "reason").titled("Functions without a name");
    let notes = advice.into_iter().map(Value::from).collect();
    Table { notes, most: Most::All, ..table }.only(Readers::People).rows(rows)
}

/// The reason and the files.
fn what(loaded: &Loaded, nameless: &Nameless) -> Value {
    let modules = nameless.modules.iter().filter_map(|module| loaded.tables.modules.get(module.index()));
    let mut files: Vec<String> = modules.map(|module| file_name(&module.path).to_owned()).collect();
    files.sort_unstable();
    files.dedup();
    let reason = nameless.reason.clone().map_or("Names were not looked up".into(), Value::from);
    if files.is_empty() { reason } else { phrase![reason, ": ", Value::Listed(files, FILES)] }
}

fn advice(nameless: &Nameless) -> &'static str {
    match nameless.reason.as_deref().map(Reason::from_text) {
        Some(Some(reason)) => reason.advice(),
        Some(None) => "A newer version of sysprof-memprof may know more.",
        None => "Open the capture on the machine that has the programs, without --no-symbolize.",
    }
}

/// A row for each file whose stacks end there.
fn ended_early(loaded: &Loaded, metric: Metric) -> Table {
    let whole = metric.rank(metric.of(&loaded.profile.total));
    let (mut has_file, mut has_made_code) = (false, false);
    let ends = early_ends(&loaded.profile, &loaded.tables, metric);
    let rows: Vec<Row> = (ends.iter().take(FILES))
        .map(|end| {
            let module = end.module.and_then(|module| loaded.tables.modules.get(module.index()));
            let is_made = module.is_none_or(|module| module.path.starts_with("[anonymous code"));
            (has_file, has_made_code) = (has_file || !is_made, has_made_code || is_made);
            let file = module.map_or("code outside any file", |module| file_name(&module.path));
            Row::new([Value::Share(metric.rank(end.cost), whole)], Value::name(file))
        })
        .collect();
    let advice = [(ADVICE, has_file), (ADVICE_FOR_MADE_CODE, has_made_code)];
    let notes = advice.into_iter().filter(|(_, fits)| *fits).map(|(advice, _)| advice.into()).collect();
    let table = Table::new("early_ends", [Column::shown("on stacks")], "in code without unwind information");
    Table { notes, most: Most::All, ..table.titled("Stacks that end early").only(Readers::People) }.rows(rows)
}
