//! From a file to a view: the only place in this crate that reads captures.

use crate::analysis::{History, Names};
use crate::export::Events;
use crate::format::duration;
use crate::graph::WhichScan;
use crate::json;
use crate::loaded::{Loaded, Source};
use crate::moments::{Moments, PeakMemory};
use crate::options::DumpOptions;
use crate::query::{Query, Unknown};
use crate::samples::SampleDump;
use crate::symbolize::{LookedUp, Naming, Needed, symbolize};
use crate::text::{Dump, Style};
use capture::{Error as CaptureError, Event, Reader, Sample, Tables};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What can go wrong between a capture and its view.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The capture cannot be read. The text says where and what to do.
    #[error("{file}: {error}")]
    Capture {
        /// The file, as the user named it.
        file: String,
        /// What is wrong with it.
        #[source]
        error: CaptureError,
    },
    /// The question names something that the capture does not have.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The range that was asked for ends before it begins.
    #[error("the range ends at {}, before it begins at {}: give the earlier moment first", duration(*.to), duration(*.from))]
    Backwards {
        /// Its beginning, nanoseconds since the start of the recording.
        from: u64,
        /// Its end.
        to: u64,
    },
    /// The capture is aggregated, and the question is about single blocks.
    #[error(
        "{file} is aggregated: it has totals per stack at snapshots, but no {wanted}. Record without --aggregate; if that is too \
         large, --sample makes it smaller, and attach and daemon limit it by --max-size and --keep"
    )]
    Aggregated {
        /// The file, as the user named it.
        file: String,
        /// What was asked for that it lacks.
        wanted: &'static str,
    },
    /// The capture does not have the scan that was asked for.
    #[error("{file} {}: sysprof-memprof scan PID scans a process that is recorded, run --scan-at-exit each process at its end", scans(*.count, .which))]
    NotScanned {
        /// The file, as the user named it.
        file: String,
        /// Number of scans in the capture.
        count: usize,
        /// The one that was asked for.
        which: WhichScan,
    },
    /// The view cannot be written; a closed pipe is one reason.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}

/// Which scans there are instead.
fn scans(count: usize, which: &WhichScan) -> String {
    match (count, which) {
        (0, _) | (_, WhichScan::Last) => "has no memory scan".into(),
        (_, WhichScan::Of(_)) => "has no scan of this process, only of others (info lists them)".into(),
        (1, WhichScan::Number(number)) => format!("has one scan, and no number {number}"),
        (count, WhichScan::Number(number)) => format!("has {count} scans, and no number {number}"),
    }
}

/// Reads and counts a capture. If the file is truncated or damaged, everything before that point is counted, and
/// [`Source::cut`] says why there is no more.
///
/// # Errors
/// [`Error::Capture`] when the file cannot be read or is not a capture.
pub fn open(path: &Path, naming: Naming) -> Result<Loaded, Error> {
    let mut moments = Moments::open(path)?;
    let profile = moments.profile(&Query::default())?;
    Ok(moments.show(profile, naming))
}

/// [`open`], plus the history of the heap.
///
/// # Errors
/// As [`open`].
pub fn open_with_history(
    path: &Path,
    naming: Naming,
) -> Result<(Loaded, History, Option<PeakMemory>), Error> {
    let mut moments = Moments::open(path)?;
    let (profile, history) = moments.history()?;
    let map = moments.map_at_peak(&profile, crate::web::MOST_CELLS)?;
    Ok((moments.show(profile, naming), history, map))
}

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

/// Writes every tracepoint hit of a capture as a line, in text or JSON.
///
/// # Errors
/// Those of the file and of the writer.
pub fn dump_hits(
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
        "hits",
        |reader, visit| reader.for_each_hits(visit),
        |to, one| to.hit(one),
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
    refuse_aggregated(&tables, &source, "CPU samples and no tracepoint hits")?;
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

/// The events of a capture file, which is opened anew for each pass.
#[derive(Clone, Debug)]
pub struct Recorded {
    file: PathBuf,
}

impl Recorded {
    /// The events of this file.
    pub fn new(file: &Path) -> Self {
        Self { file: file.to_owned() }
    }
}

impl Events for Recorded {
    fn each(&self, visit: &mut dyn FnMut(&Event)) -> Result<(), Error> {
        let (reader, source) = open_reader(&self.file)?;
        let read = reader.for_each_batch_ahead(0..reader.index().len(), |_, events| {
            events.iter().for_each(&mut *visit);
            true
        });
        match read {
            // Everything before the damage was counted; there is no more.
            Ok(()) | Err(CaptureError::Damaged { .. }) => Ok(()),
            Err(error) => Err(Error::Capture { file: source.file, error }),
        }
    }

    fn samples(&self) -> Result<Box<dyn Iterator<Item = Sample> + '_>, Error> {
        let (reader, _) = open_reader(&self.file)?;
        let mut chunk = 0;
        // One chunk is in memory at a time. Nothing after damage was counted.
        let chunks = std::iter::from_fn(move || {
            let samples = reader.samples(reader.index().get(chunk)?).ok()?;
            chunk += 1;
            Some(samples)
        });
        Ok(Box::new(chunks.flatten()))
    }
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

pub(crate) fn named(tables: &mut Tables, needed: Needed<'_>, naming: Naming) -> LookedUp {
    match naming {
        Naming::Stored => LookedUp::default(),
        Naming::FromFiles(options) => symbolize(tables, needed, &options),
    }
}

pub(crate) fn open_reader(path: &Path) -> Result<(Reader, Source), Error> {
    let file = path.display().to_string();
    let reader = Reader::open(path).map_err(|error| Error::Capture { file: file.clone(), error })?;
    let cut = reader.cut().map(|cut| cut.to_string());
    let source = Source { file, cut, unknown_chunks: reader.skipped() };
    Ok((reader, source))
}

/// Fails when a capture has no single blocks.
pub(crate) fn refuse_aggregated(tables: &Tables, source: &Source, wanted: &'static str) -> Result<(), Error> {
    match tables.metadata.aggregate() {
        Some(_) => Err(Error::Aggregated { file: source.file.clone(), wanted }),
        None => Ok(()),
    }
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
