//! Every event of a capture, or every CPU sample, a line each.

use crate::json;
use crate::options::EventOptions;
use crate::text::{EventLines, Style};
use analysis::Profile;
use capture::{Event, Reader, Sample};
use engine::{Error, Loaded, LookedUp, Naming, Needed, Source, named, open_reader, refuse_aggregated};
use std::io::{self, Write};
use std::path::Path;

/// Writes every event of a capture as a line of text.
///
/// # Errors
/// Those of the file and of the writer.
pub fn events(
    path: &Path,
    naming: Naming,
    out: &mut dyn Write,
    options: EventOptions,
    style: &Style,
) -> Result<LookedUp, Error> {
    let (reader, loaded) = open(path, naming, options, "individual events")?;
    let mut lines = EventLines::new(out, &loaded, options, *style);
    each_event(&reader, &loaded.source, |event| lines.event(event))?;
    Ok(loaded.looked_up)
}

/// Writes every event of a capture as a line of JSON.
///
/// # Errors
/// Those of the file and of the writer.
pub fn events_json(
    path: &Path,
    naming: Naming,
    out: &mut dyn Write,
    options: EventOptions,
) -> Result<LookedUp, Error> {
    let (reader, loaded) = open(path, naming, options, "individual events")?;
    let mut lines = json::EventLines::new(out, &loaded, options)?;
    each_event(&reader, &loaded.source, |event| lines.event(event))?;
    Ok(loaded.looked_up)
}

/// Writes every CPU sample of a capture as a line, in text or JSON.
///
/// # Errors
/// Those of the file and of the writer.
pub fn samples(
    path: &Path,
    naming: Naming,
    out: &mut dyn Write,
    options: EventOptions,
    is_json: bool,
) -> Result<LookedUp, Error> {
    let (reader, loaded) = open(path, naming, options, "CPU samples")?;
    if is_json {
        let mut lines = json::EventLines::of(out, &loaded, options, "samples")?;
        each_sample(&reader, &loaded.source, |sample| lines.sample(sample))?;
    } else {
        let mut lines = EventLines::new(out, &loaded, options, Style::default());
        each_sample(&reader, &loaded.source, |sample| lines.sample(sample))?;
    }
    Ok(loaded.looked_up)
}

/// A capture whose entries are listed one by one, which are called so, and what they refer to.
fn open(
    path: &Path,
    naming: Naming,
    options: EventOptions,
    wanted: &'static str,
) -> Result<(Reader, Loaded), Error> {
    let (reader, source) = open_reader(path)?;
    let mut tables = reader.tables().clone();
    let looked_up = named(&mut tables, Needed::All, naming);
    refuse_aggregated(&tables, &source, wanted)?;
    let mut loaded = Loaded { looked_up, ..Loaded::new(tables, Profile::default(), source) };
    if options.short_names {
        loaded.names.leave_out_arguments();
    }
    Ok((reader, loaded))
}

fn each_event(
    reader: &Reader,
    source: &Source,
    mut visit: impl FnMut(&Event) -> io::Result<()>,
) -> Result<(), Error> {
    let unreadable = |error| Error::Capture { file: source.file.clone(), error };
    let mut cursor = reader.cursor().map_err(unreadable)?;
    while let Some(events) = cursor.next_batch().map_err(unreadable)? {
        events.iter().try_for_each(&mut visit)?;
    }
    Ok(())
}

fn each_sample(
    reader: &Reader,
    source: &Source,
    mut visit: impl FnMut(&Sample) -> io::Result<()>,
) -> Result<(), Error> {
    let mut written = Ok(());
    let read = reader.for_each_samples(|samples| {
        if written.is_ok() {
            written = samples.iter().try_for_each(&mut visit);
        }
    });
    written?;
    read.map_err(|error| Error::Capture { file: source.file.clone(), error })
}
