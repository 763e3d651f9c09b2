//! Copies a capture, adding the names that were looked up and, on request, redacting it so that it can be shared; or adds
//! the names to the capture itself.
//!
//! ```text
//!  Reader ─► tables ─► names looked up ─► Redaction ─► Writer     all rows at once, in their order
//!     └────► events, samples, faults … ── ids mapped ────┘        a chunk at a time
//! ```
//!
//! Rows that become equal when their texts change are merged, so ids are mapped. Chunks from a later version are left
//! out, since their content is unknown; the copy says so.

mod ids;
mod redaction;

pub use redaction::Redaction;

use analysis::Counting;
use capture::{Error as CaptureError, Event, Object, Reader, ScanId, Sink, Summary, Tables, Writer};
use engine::{Error, LookedUp, Naming, Needed, Source, named, open_reader};
pub(crate) use ids::Ids;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What was done for a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// How the search for missing names went.
    pub looked_up: LookedUp,
    /// Command lines that were left out.
    pub commands: u64,
    /// Texts that were redacted.
    pub texts: u64,
}

/// Copies a whole capture. A redaction removes command lines and copied stacks, and changes texts.
///
/// # Errors
/// When the capture cannot be read, or the copy cannot be written.
pub fn copy<S: Sink>(
    path: &Path,
    naming: Naming,
    sink: S,
    redaction: Option<Redaction>,
) -> Result<(S, Copied), Error> {
    let (reader, source) = open_reader(path)?;
    let mut tables = reader.tables().clone();
    let looked_up = named(&mut tables, Needed::All, naming);
    let cut = source.cut;
    let mut copied = Copied { looked_up, ..Copied::default() };
    if let Some(redaction) = redaction.clone() {
        let redaction = redaction.of(&mut tables);
        (copied.commands, copied.texts) = redaction.apply(&mut tables);
    }
    // Copied stacks contain whatever the program had in its variables.
    let sink = write(&reader, &tables, cut.as_deref(), redaction.is_none(), sink)
        .map_err(|error| Error::Capture { file: source.file, error })?;
    Ok((sink, copied))
}

/// Adds to a finished capture, in place, the names that it lacks, so that it can be opened where its files are not.
///
/// # Errors
/// When the capture cannot be read or written.
pub fn add_names(path: &Path, naming: Naming) -> Result<(), Error> {
    let (reader, Source { file, .. }) = open_reader(path)?;
    let mut tables = reader.tables().clone();
    if named(&mut tables, Needed::All, naming).named == 0 {
        return Ok(());
    }
    let write = || {
        let Some(mut writer) = Writer::after(reader.index(), reader.tables())? else { return Ok(()) };
        let place = writer.length();
        Ids::same(reader.tables(), &tables).grow(&tables, &mut writer)?;
        let end = writer.finish(tables.summary.as_ref().unwrap_or(&Summary::default()))?;
        let failed = |source| CaptureError::Io { action: "write the capture".into(), source };
        // Longer than what it replaces: nobody sees a file without an end for longer than that takes.
        let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        file.write_all_at(&end, place).and_then(|()| file.sync_all()).map_err(failed)
    };
    write().map_err(|error| Error::Capture { file, error })
}

fn write<S: Sink>(
    reader: &Reader,
    tables: &Tables,
    cut: Option<&str>,
    has_stacks: bool,
    sink: S,
) -> Result<S, CaptureError> {
    let mut writer = Writer::observed(sink, &tables.metadata, Counting::new(&tables.metadata))?;
    let ids = Ids::write(tables, &mut writer)?;
    let mut last = 0;
    each(
        |visit| reader.for_each_batch(visit),
        |event: &Event| {
            last = event.time;
            writer.event(ids.event(*event))
        },
    )?;
    let mut samples = 0;
    each(
        |visit| reader.for_each_samples(visit),
        |sample| {
            samples += 1;
            writer.sample(ids.sample(*sample))
        },
    )?;
    if has_stacks {
        each(
            |visit| reader.for_each_stack_copy(|copy| visit(std::slice::from_ref(copy))),
            // A damaged capture may have stack copies whose sample cannot be read.
            |copy| if copy.sample < samples { writer.stack_copy(&ids.stack_copy(copy)) } else { Ok(()) },
        )?;
    }
    each(|visit| reader.for_each_counters(visit), |counter| writer.counter(*counter))?;
    each(|visit| reader.for_each_faults(visit), |fault| writer.fault(ids.fault(*fault)))?;
    for scan in (0..tables.scans.len()).map(ScanId::from_index) {
        each_slice(|visit| reader.for_each_pointers(scan, visit), |some| writer.pointers(scan, some))?;
        let put = |some: &[Object]| {
            let some = some.iter().map(|object| Object { class: ids.string(object.class), ..*object });
            writer.objects(scan, &some.collect::<Vec<_>>())
        };
        each_slice(|visit| reader.for_each_objects(scan, visit), put)?;
    }
    let mut summary =
        tables.summary.clone().unwrap_or_else(|| Summary { duration_ns: last, ..Summary::default() });
    if let Some(cut) = cut {
        summary.remarks.push(format!("Copied from an incomplete capture: {cut}."));
    }
    if reader.skipped() > 0 {
        let chunks = analysis::format::counted(reader.skipped(), "chunk");
        summary.remarks.push(format!("Copied without {chunks} that only a newer version can read."));
    }
    writer.finish(&summary)
}

/// Passes on each item of the reader's slices: see [`each_slice`].
fn each<T>(
    read: impl FnOnce(&mut dyn FnMut(&[T])) -> Result<(), CaptureError>,
    mut take: impl FnMut(&T) -> Result<(), CaptureError>,
) -> Result<(), CaptureError> {
    each_slice(read, |items| items.iter().try_for_each(&mut take))
}

/// Passes on the reader's slices, up to the first failure of either side. Damage in the capture ends the copy where
/// it ends every other view.
fn each_slice<T>(
    read: impl FnOnce(&mut dyn FnMut(&[T])) -> Result<(), CaptureError>,
    mut take: impl FnMut(&[T]) -> Result<(), CaptureError>,
) -> Result<(), CaptureError> {
    let mut taken = Ok(());
    let result = read(&mut |items| {
        if taken.is_ok() {
            taken = take(items);
        }
    });
    taken?;
    match result {
        Err(CaptureError::Damaged { .. }) => Ok(()),
        result => result,
    }
}
