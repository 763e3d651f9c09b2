//! Which memory is resident, by who allocated it or touched it first.

use crate::commands::block_selection::BlocksArguments;
use crate::exit::{Failure, Outcome};
use anyhow::anyhow;
use engine::Loaded;
use report::views;
use report::{Format, ResidentBy};

/// Prints it.
pub(super) fn execute(blocks: &BlocksArguments, by: ResidentBy) -> Outcome {
    blocks.refuse_heap("which are resident")?;
    let (loaded, table) =
        blocks.question(|asked| asked.analyzer.resident(asked.query, asked.filter, asked.naming))?;
    if !table.has_faults && blocks.format() != Format::Json {
        return Err(not_recorded(&loaded));
    }
    blocks.print(&loaded, &views::resident(&loaded, &table, by))
}

/// Without recorded page faults, no memory would seem touched.
fn not_recorded(loaded: &Loaded) -> Failure {
    let file = &loaded.source.file;
    let refused = loaded.tables.summary.as_ref().map_or("", |summary| &summary.faults.refused);
    if !refused.is_empty() {
        return Failure::usage(anyhow!("{file}: {refused}"));
    }
    // The two options exclude each other, so this one cannot be advised.
    let is_aggregated = loaded.tables.metadata.aggregate().is_some();
    let without = if is_aggregated { ", without --aggregate" } else { "" };
    Failure::usage(anyhow!(
        "{file}: page faults were not recorded: record with `sysprof-memprof run --faults`{without}"
    ))
}
