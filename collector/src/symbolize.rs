//! Names at the end of a recording, stored in the capture so that it opens anywhere.
//!
//! Modules are taken by as many threads as there are processors, the ones with most frames first; each has one
//! module's tables in memory at a time. Names that are missing when the user gives up stay missing.

use crate::log::debug;
use crate::modules::VDSO;
use crate::pipeline::Pipeline;
use crate::stacks::CodeFrame;
use capture::{Error, ModuleId, SourceFrame, Symbolized, Writer};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use symbols::{Lookup, ModuleFile, Reason, Symbolizer};

/// A module and the frames in it that want names.
struct Work {
    file: Option<ModuleFile>,
    frames: Vec<CodeFrame>,
}

/// Looks all names up and writes them.
pub(crate) fn symbolize(pipeline: &mut Pipeline, cancel: &AtomicBool) -> Result<(), Error> {
    let mut by_module: BTreeMap<u32, Vec<CodeFrame>> = BTreeMap::new();
    for frame in pipeline.frames.drain(..) {
        by_module.entry(frame.module.0).or_default().push(frame);
    }
    let mut work: Vec<Work> = by_module
        .into_iter()
        .map(|(module, mut frames)| {
            // Several processes may have told of one frame.
            frames.sort_unstable_by_key(|frame| frame.frame);
            frames.dedup_by_key(|frame| frame.frame);
            Work { file: pipeline.files.get(&ModuleId(module)).cloned(), frames }
        })
        .collect();
    work.sort_by_key(|work| std::cmp::Reverse(work.frames.len()));
    let (next, (sender, results)) = (AtomicUsize::new(0), mpsc::sync_channel(1024));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(work.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, work, next) = (sender.clone(), &work, &next);
            scope.spawn(move || {
                let symbolizer = Symbolizer::default();
                // Relaxed: the counter only hands out places.
                while let Some(work) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !look_up(&symbolizer, work, &sender, cancel) {
                        return;
                    }
                }
            });
        }
        drop(sender);
        results.iter().try_for_each(|(frame, lookup)| write(&mut pipeline.writer, frame, lookup))
    })
}

/// Looks the names of one module up; false when nobody wants them any more.
fn look_up(
    symbolizer: &Symbolizer,
    work: &Work,
    sender: &mpsc::SyncSender<(CodeFrame, Lookup)>,
    cancel: &AtomicBool,
) -> bool {
    if cancel.load(Ordering::Relaxed) {
        return false;
    }
    let module = match &work.file {
        Some(file) if file.path.as_os_str() == VDSO => open_vdso(symbolizer),
        Some(file) => symbolizer.open(file),
        None => Err(Reason::FileMissing),
    };
    if let (Some(file), Err(reason)) = (&work.file, &module) {
        debug!("no names from {}: {reason}", file.path.display());
    }
    for frame in &work.frames {
        if cancel.load(Ordering::Relaxed) {
            return false;
        }
        let lookup = match &module {
            Ok(module) => {
                module.lookup(if frame.exact { frame.address } else { frame.address.wrapping_sub(1) })
            }
            Err(reason) => Lookup { frames: Vec::new(), reason: Some(*reason) },
        };
        if sender.send((*frame, lookup)).is_err() {
            return false;
        }
    }
    true
}

/// The kernel maps the same vdso into us as into the processes that we recorded.
fn open_vdso(symbolizer: &Symbolizer) -> Result<symbols::ModuleSymbols, Reason> {
    let image = vdso().ok_or(Reason::FileMissing)?;
    symbolizer.open_image(image)
}

/// A copy of our own vdso.
fn vdso() -> Option<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let maps = procfs::process::Process::myself().ok()?.maps().ok()?;
    let map = maps.iter().find(|map| map.pathname == procfs::process::MMapPath::Vdso)?;
    let (start, end) = map.address;
    let mut image = vec![0; usize::try_from(end - start).ok()?];
    std::fs::File::open("/proc/self/mem").ok()?.read_exact_at(&mut image, start).ok()?;
    Some(image)
}

fn write(writer: &mut Writer, frame: CodeFrame, lookup: Lookup) -> Result<(), Error> {
    let mut names = Vec::with_capacity(lookup.frames.len());
    for source in lookup.frames {
        let mut id = |text: Option<String>| text.map(|text| writer.string(&text)).transpose();
        names.push(SourceFrame { function: id(source.function)?, file: id(source.file)?, line: source.line });
    }
    let reason = lookup.reason.map(|reason| writer.string(&reason.to_string())).transpose()?;
    writer.symbolized(Symbolized { frame: frame.frame, names, reason })
}
