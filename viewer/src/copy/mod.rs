//! A capture as another capture: with the names that were looked up in it, and, if wanted, fit to be given away.
//!
//! ```text
//!  Reader ─► tables ─► names looked up ─► Redaction ─► Writer     all rows at once, in their order
//!     └────► events, samples, faults … ── ids mapped ────┘        a chunk at a time
//! ```
//!
//! Rows that are the same once their texts are changed become one, so ids are mapped. Chunks of a later version are left out,
//! since nobody knows what is in them; the copy says so.

mod ids;
mod redaction;

pub use redaction::Redaction;

use crate::open::{Error, named, open_reader};
use crate::symbolize::{LookedUp, Naming, Needed};
use capture::{Error as CaptureError, Event, Object, Reader, ScanId, Sink, Summary, Tables, Writer};
pub(crate) use ids::Ids;
use std::path::Path;

/// What a copy holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The search for names that the capture lacked.
    pub looked_up: LookedUp,
    /// Command lines that were left out.
    pub commands: u64,
    /// Texts that were changed.
    pub texts: u64,
}

/// Copies a capture, all of it. With a redaction, without command lines and copied stacks, and with its texts changed.
///
/// # Errors
/// When the capture cannot be read, or the copy not written.
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
    // Copied stacks hold whatever the program had in its variables.
    let sink = write(&reader, &tables, cut.as_deref(), redaction.is_none(), sink)
        .map_err(|error| Error::Capture { file: source.file, error })?;
    Ok((sink, copied))
}

fn write<S: Sink>(
    reader: &Reader,
    tables: &Tables,
    cut: Option<&str>,
    has_stacks: bool,
    sink: S,
) -> Result<S, CaptureError> {
    let mut writer = Writer::new(sink, &tables.metadata)?;
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
            // Of a damaged capture there may be copies of samples that nobody can read.
            |copy| if copy.sample < samples { writer.stack_copy(&ids.stack_copy(copy)) } else { Ok(()) },
        )?;
    }
    each(|visit| reader.for_each_counters(visit), |counter| writer.counter(*counter))?;
    each(|visit| reader.for_each_faults(visit), |fault| writer.fault(ids.fault(*fault)))?;
    each(|visit| reader.for_each_hits(visit), |hit| writer.hit(ids.hit(*hit)))?;
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
        summary.remarks.push(format!("This is a copy of a capture without its end: {cut}."));
    }
    if reader.skipped() > 0 {
        let chunks = crate::format::counted(reader.skipped(), "chunk");
        summary.remarks.push(format!("This is a copy without {chunks} that only a later version can read."));
    }
    writer.finish(&summary)
}

/// Hands each item of the reader's slices on: see [`each_slice`].
fn each<T>(
    read: impl FnOnce(&mut dyn FnMut(&[T])) -> Result<(), CaptureError>,
    mut take: impl FnMut(&T) -> Result<(), CaptureError>,
) -> Result<(), CaptureError> {
    each_slice(read, |items| items.iter().try_for_each(&mut take))
}

/// Hands the reader's slices on, up to the first failure of either side. Damage that the reader meets ends the copy where the
/// capture ends for every other view.
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
