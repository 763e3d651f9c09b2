//! A stack as places: functions and lines.

use analysis::{LabelId, Site, functions_of};
use capture::{Frame, FrameId, NodeId, ProcessId};
use engine::Loaded;

/// A line of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    /// The function, or what stands for it.
    pub(super) label: LabelId,
    /// The line, 0 if unknown.
    pub(super) line: u32,
}

/// The places of a stack, innermost first; the last one is its process.
pub(super) fn places<'a>(loaded: &'a Loaded, site: &Site) -> impl Iterator<Item = Place> + 'a {
    places_of(loaded, site.process, site.node)
}

/// The same for a stack of a process.
pub(super) fn places_of(
    loaded: &Loaded,
    process: ProcessId,
    node: NodeId,
) -> impl Iterator<Item = Place> + '_ {
    let process = Place { label: loaded.names.process(process), line: 0 };
    functions_of(&loaded.tables, &loaded.names, node)
        .map(|(_, step)| Place { label: step.label, line: step.line.unwrap_or(0) })
        .chain([process])
}

/// Whether a frame is code of the kernel itself, not of one of its modules.
pub(super) fn is_kernels(loaded: &Loaded, frame: FrameId) -> bool {
    match loaded.tables.frames.get(frame.index()) {
        Some(Frame::Code { module: Some(module), .. }) => {
            loaded.tables.modules.get(module.index()).is_some_and(|module| module.path == "[kernel]")
        }
        _ => false,
    }
}

/// By label, the first source file in which a function occurs.
pub(super) fn source_files(loaded: &Loaded) -> Vec<Option<&str>> {
    let mut files = vec![None; loaded.names.len()];
    for site in &loaded.profile.sites {
        for (_, step) in functions_of(&loaded.tables, &loaded.names, site.node) {
            let file = &mut files[step.label.index()];
            if file.is_none() {
                *file = step.file.map(|file| loaded.tables.string(file)).filter(|path| !path.is_empty());
            }
        }
    }
    files
}
