//! `dump`: every event of a capture, or every CPU sample, a line each.

mod samples;

use crate::dump::samples::SampleDump;
use crate::json;
use crate::options::DumpOptions;
use crate::text::{Dump, Style};
use analysis::Names;
use capture::{Error as CaptureError, Event, Reader, Tables};
use engine::{Error, LookedUp, Naming, Needed, Source, named, open_reader, refuse_aggregated};
use std::io::{self, Write};
use std::path::Path;

/// Writes every event of a capture as a line of text.
///
/// # Errors
/// Those of the file and of the writer.
pub fn dump(
    path: &Path,
    naming: Naming,
    out: &mut dyn Write,
    options: DumpOptions,
    style: &Style,
) -> Result<LookedUp, Error> {
    let Listed { reader, source, tables, names, looked_up } = Listed::open(path, naming, options)?;
    refuse_aggregated(&tables, &source, "individual events")?;
    let mut dump = Dump::new(out, &tables, &names, options, *style);
    each_event(&reader, &source, |event| dump.event(event))?;
    Ok(looked_up)
}

/// Writes every event of a capture as a line of JSON.
///
/// # Errors
/// Those of the file and of the writer.
pub fn dump_json(
    path: &Path,
    naming: Naming,
    out: &mut dyn Write,
    options: DumpOptions,
) -> Result<LookedUp, Error> {
    let Listed { reader, source, tables, names, looked_up } = Listed::open(path, naming, options)?;
    refuse_aggregated(&tables, &source, "individual events")?;
    let mut dump = json::Dump::new(out, &tables, &names, options, &source.file)?;
    each_event(&reader, &source, |event| dump.event(event))?;
    Ok(looked_up)
}

/// Writes every CPU sample of a capture as a line, in text or JSON.
///
/// # Errors
/// Those of the file and of the writer.
pub fn dump_samples(
    path: &Path,
    naming: Naming,
    out: &mut dyn Write,
    options: DumpOptions,
    is_json: bool,
) -> Result<LookedUp, Error> {
    let to = (out, options, is_json);
    dump_readings(
        path,
        naming,
        to,
        "samples",
        |reader, visit| reader.for_each_samples(visit),
        |to, one| to.sample(one),
    )
}

/// Writes what is recorded apart from the events: everything that `read` hands over, a line each.
fn dump_readings<T>(
    path: &Path,
    naming: Naming,
    (out, options, is_json): (&mut dyn Write, DumpOptions, bool),
    document: &'static str,
    read: impl FnOnce(&Reader, &mut dyn FnMut(&[T])) -> Result<(), CaptureError>,
    write: impl Fn(&mut SampleDump<'_>, &T) -> io::Result<()>,
) -> Result<LookedUp, Error> {
    let Listed { reader, source, tables, names, looked_up } = Listed::open(path, naming, options)?;
    refuse_aggregated(&tables, &source, "CPU samples")?;
    let mut dump = SampleDump { out, tables: &tables, names: &names, options, is_json };
    let mut written = dump.first(document, &source.file);
    let read = read(&reader, &mut |some| {
        if written.is_ok() {
            written = some.iter().try_for_each(|one| write(&mut dump, one));
        }
    });
    written?;
    read.map_err(|error| Error::Capture { file: source.file, error })?;
    Ok(looked_up)
}

/// A capture whose entries are listed one by one.
struct Listed {
    reader: Reader,
    source: Source,
    tables: Tables,
    names: Names,
    looked_up: LookedUp,
}

impl Listed {
    fn open(path: &Path, naming: Naming, options: DumpOptions) -> Result<Listed, Error> {
        let (reader, source) = open_reader(path)?;
        let mut tables = reader.tables().clone();
        let looked_up = named(&mut tables, Needed::All, naming);
        let names = dump_names(&tables, options);
        Ok(Listed { reader, source, tables, names, looked_up })
    }
}

fn dump_names(tables: &Tables, options: DumpOptions) -> Names {
    let mut names = Names::new(tables);
    if options.short_names {
        names.leave_out_arguments();
    }
    names
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
