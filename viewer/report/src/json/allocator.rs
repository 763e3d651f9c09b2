//! `report --allocator --json`: CPU time in the allocator, by caller.

use super::head::Head;
use super::stack::{Who, who};
use super::write_document;
use analysis::{AllocatorTime, allocator_time};
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    /// In the whole capture.
    samples: i64,
    rows: Vec<RowFields<'a>>,
}

#[derive(Serialize)]
struct RowFields<'a> {
    #[serde(flatten)]
    caller: Who<'a>,
    samples: i64,
    allocate_samples: i64,
    free_samples: i64,
    hook_samples: i64,
    allocations: i64,
    bytes: i64,
}

/// Writes the document.
///
/// # Errors
/// Those of the writer.
pub fn allocator(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    let Loaded { profile, tables, names, .. } = loaded;
    let rows = allocator_time(profile, tables, names).into_iter().map(|(label, row)| {
        let AllocatorTime { allocate, free, hooks, allocated } = row;
        RowFields {
            caller: who(tables, names, label),
            samples: row.total().blocks,
            allocate_samples: allocate.blocks,
            free_samples: free.blocks,
            hook_samples: hooks.blocks,
            allocations: allocated.blocks,
            bytes: allocated.bytes,
        }
    });
    let document = Document {
        head: Head::new(loaded, "allocator"),
        samples: profile.total.cpu.blocks,
        rows: rows.collect(),
    };
    write_document(out, &document)
}
