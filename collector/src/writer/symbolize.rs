//! Names are looked up at the end of a recording and stored in the capture, so that it opens anywhere.
//!
//! Names still missing when the user gives up stay missing.

use super::pipeline::Pipeline;
use crate::base::capture_writer::Writer;
use crate::base::log::debug;
use crate::base::name_search::NameSearch;
use crate::proc::vdso::VDSO;
use crate::proc::vdso::vdso;
use crate::tables::anonymous_code::JitReport;
use crate::tables::unnamed::CodeFrame;
use capture::{Error, ModuleId, SourceFrame, Symbolized};
use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use symbols::{Batch, KernelImage, Lookup, ModuleFile, Reason, Source, Symbolizer};

/// Which names are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All of them.
    All,
    /// Those that cannot be found later: of code that is in no file.
    Unfiled,
}

/// Looks names up and writes them.
pub(crate) fn symbolize(
    pipeline: &mut Pipeline,
    wanted: Wanted,
    options: symbols::Options,
    search: &NameSearch,
) -> Result<(), Error> {
    let mut by_module: BTreeMap<Option<u32>, Vec<CodeFrame>> = BTreeMap::new();
    for frame in pipeline.addresses.frames.take() {
        let is_unfiled = frame.module.is_none_or(|module| pipeline.addresses.made.contains_key(&module));
        if wanted == Wanted::All || is_unfiled {
            by_module.entry(frame.module.map(|module| module.0)).or_default().push(frame);
        }
    }
    let batches: Vec<Batch> = by_module
        .iter()
        .map(|(module, frames)| Batch {
            source: source(module.map(ModuleId), pipeline),
            addresses: frames.iter().map(address).collect(),
        })
        .collect();
    let mut frames: Vec<Vec<CodeFrame>> = by_module.into_values().collect();
    let (mut batches, kernel) = (batches, pipeline.kernel_frames());
    // Names of kernel functions are known already; the kernel's own file, if it is here, has line numbers.
    let image = (wanted == Wanted::All && !kernel.is_empty()).then(KernelImage::of_this_kernel).flatten();
    let kernel_batch = image.as_ref().map(|image| {
        let addresses = kernel.iter().map(|frame| address(frame).wrapping_add(image.start)).collect();
        batches.push(Batch { source: Source::File(image.file.clone()), addresses });
        frames.push(kernel);
        batches.len() - 1
    });
    search.begin(batches.iter().map(|batch| batch.addresses.len() as u64).sum());
    Symbolizer::new(options).look_up(&batches, &search.is_given_up, |(batch, place, lookup)| {
        search.answer();
        if let (0, Some(reason), Source::File(file)) = (place, lookup.reason, &batches[batch].source) {
            debug!("first address in {}: {reason}", file.path.display());
        }
        if Some(batch) == kernel_batch && lookup.function().is_none() {
            return Ok(());
        }
        write(&mut pipeline.writer, frames[batch][place], lookup)
    })
}

/// The address to look up. For a return address it is one less, since a call may be its function's last instruction.
fn address(frame: &CodeFrame) -> u64 {
    if frame.exact { frame.address } else { frame.address.wrapping_sub(1) }
}

fn source(module: Option<ModuleId>, pipeline: &Pipeline) -> Source {
    let Some(module) = module else { return Source::None(Reason::NoMapping) };
    match pipeline.addresses.made.get(&module) {
        Some(JitReport { code: Some(code), otherwise }) => Source::Jit(code.clone(), *otherwise),
        Some(JitReport { code: None, otherwise }) => Source::None(*otherwise),
        None => {
            match (of_file(pipeline.addresses.files.get(&module)), pipeline.addresses.handles.get(&module)) {
                (Source::File(file), Some(handle)) => {
                    match pipeline.addresses.copies.before(module, &file, handle) {
                        Some(copy) => Source::Image(copy),
                        None => Source::Held(file, format!("/proc/self/fd/{}", handle.as_raw_fd()).into()),
                    }
                }
                (source, _) => source,
            }
        }
    }
}

fn of_file(file: Option<&Result<ModuleFile, Reason>>) -> Source {
    match file {
        Some(Err(reason)) => Source::None(*reason),
        Some(Ok(file)) if file.path.as_os_str() == VDSO => {
            vdso().map_or(Source::None(Reason::FileMissing), Source::Image)
        }
        Some(Ok(file)) => Source::File(file.clone()),
        None => Source::None(Reason::FileUnknown),
    }
}

fn write(writer: &mut Writer, frame: CodeFrame, lookup: Lookup) -> Result<(), Error> {
    let mut names = Vec::with_capacity(lookup.frames.len());
    for source in lookup.frames {
        let mut id = |text: Option<String>| text.map(|text| writer.string(&text)).transpose();
        names.push(SourceFrame { function: id(source.function)?, file: id(source.file)?, line: source.line });
    }
    let reason = lookup.reason.map(|reason| writer.string(&reason.to_string())).transpose()?;
    let linkage = lookup.linkage.map(|name| writer.string(&name)).transpose()?;
    writer.symbolized(Symbolized { frame: frame.frame, names, reason, linkage, start: lookup.start })
}
