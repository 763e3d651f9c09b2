//! Stacks of samples, unwound again from what was kept of them.
//!
//! The walk is the one of the recording, over the files as they are here now. So it finds the same frames as long as the files are
//! the ones that were mapped, and shows what has become of them where they are not, or where the unwinder has changed.

use super::files::{FileId, Files};
use super::registers::{HAS_LINK, Start};
use super::space::{Mapping, Space, View};
use super::stacks::marker;
use capture::{Error, Frame, ModuleId, NodeId, Pseudo, Reader, StackCopy, Tables};
use std::path::Path;
use unwind::{CodeAddress, Scratch, StackSample, unwind_sample};

/// Frames of a stack, where the capture does not say how many were wanted.
const MAX_DEPTH: usize = 1024;
/// Name of the option that says it.
const OPTION: &str = "max_depth";

/// A stack that was unwound again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// Number of its sample in the capture.
    pub sample: u64,
    /// Bytes of the stack that were kept.
    pub bytes: usize,
    /// The frames that were found now, innermost first, and perhaps why there are no more.
    pub frames: Vec<Frame>,
    /// They are those of the recording.
    pub is_same: bool,
    /// It was recorded on a machine with other registers than this one, and is not unwound here.
    pub is_foreign: bool,
}

/// Unwinds again what a capture has kept, and hands each stack to `visit`.
///
/// # Errors
/// When the capture cannot be read.
// Memory: four bytes for each sample, and one copied stack.
pub fn unwind_again(file: &Path, mut visit: impl FnMut(&Again)) -> Result<(), Error> {
    let reader = Reader::open(file)?;
    let tables = reader.tables();
    let mut stacks: Vec<NodeId> = Vec::new();
    reader.for_each_samples(|samples| stacks.extend(samples.iter().map(|sample| sample.stack)))?;
    let mut files = Files::of_a_file();
    let modules: Vec<Option<FileId>> = tables
        .modules
        .iter()
        .map(|module| files.id(module.path.as_bytes(), &module.build_id, module.inode))
        .collect();
    let option = tables.metadata.options.iter().find(|(name, _)| name == OPTION);
    let max_depth = option.and_then(|(_, value)| value.parse().ok()).unwrap_or(MAX_DEPTH).min(MAX_DEPTH);
    let mut walker = Walker { files: &files, modules: &modules, max_depth, scratch: Box::default() };
    reader.for_each_stack_copy(|copy| {
        let is_foreign = copy.link.is_some() != HAS_LINK;
        let frames = if is_foreign { Vec::new() } else { walker.frames(copy) };
        let recorded = usize::try_from(copy.sample).ok().and_then(|sample| stacks.get(sample));
        let is_same = !is_foreign && recorded.is_some_and(|stack| is_same(tables, *stack, &frames));
        visit(&Again { sample: copy.sample, bytes: copy.stack.len(), frames, is_same, is_foreign });
    })
}

struct Walker<'a> {
    files: &'a Files,
    /// Files of the capture's modules.
    modules: &'a [Option<FileId>],
    max_depth: usize,
    scratch: Box<Scratch>,
}

impl Walker<'_> {
    /// The frames that a copied stack leads to, as a recording stores them.
    fn frames(&mut self, copy: &StackCopy) -> Vec<Frame> {
        let mut space = Space::default();
        for code in &copy.code {
            let file = code.module.and_then(|module| self.modules.get(module.index()).copied().flatten());
            space.map(code.start, Mapping { end: code.end, offset: code.offset, file });
        }
        let view = View { space: &space, files: self.files, pid: std::process::id() };
        let start = Start { ip: copy.ip, sp: copy.sp, bp: copy.bp, link: copy.link };
        let (registers, stack) = (start.registers(), copy.stack.as_slice());
        let sample = StackSample { registers, link: start.link, stack, max_depth: self.max_depth };
        let mut codes = Vec::new();
        let end = unwind_sample(&sample, &view, &mut self.scratch, |frame| codes.push(frame.code()));
        if codes.is_empty() {
            codes.push(registers.ip);
        }
        let end = match marker(end) {
            Some(Pseudo::Truncated) if !copy.is_cut && codes.len() < self.max_depth => Some(Pseudo::Broken),
            end => end,
        };
        let frames = codes.into_iter().map(|code| self.frame(code, copy));
        frames.chain(end.map(Frame::Pseudo)).collect()
    }

    fn frame(&self, code: CodeAddress, copy: &StackCopy) -> Frame {
        let (address, exact) = (code.address(), matches!(code, CodeAddress::Exact(_)));
        let lookup = code.lookup();
        let mapped = copy.code.iter().find(|code| (code.start..code.end).contains(&lookup));
        let Some((mapped, module)) = mapped.and_then(|mapped| Some((mapped, mapped.module?))) else {
            return Frame::Code { module: None, address, exact };
        };
        let file = self.modules.get(module.index()).copied().flatten();
        let bias = match file.and_then(|file| self.files.code(file, std::process::id())) {
            Some(code) => code.bias(mapped.start, mapped.offset),
            None => mapped.start.wrapping_sub(mapped.offset),
        };
        Frame::Code { module: Some(module), address: address.wrapping_sub(bias), exact }
    }
}

/// Whether a recorded stack is made of these frames, with nothing but the kernel's on top of them.
fn is_same(tables: &Tables, stack: NodeId, frames: &[Frame]) -> bool {
    let recorded: Vec<Frame> =
        tables.stack(stack).filter_map(|(_, node)| tables.frames.get(node.frame.index()).copied()).collect();
    let Some(kernel) = recorded.len().checked_sub(frames.len()) else { return false };
    let (kernel, user) = recorded.split_at(kernel);
    kernel.iter().all(|frame| has_no_file(tables, frame))
        && user.iter().zip(frames).all(|(recorded, now)| match (recorded, now) {
            // What memory such code is in is looked up while its process is there.
            (
                Frame::Code { address, exact, .. },
                Frame::Code { module: None, address: now, exact: exact_now },
            ) => (address, exact) == (now, exact_now) && has_no_file(tables, recorded),
            _ => recorded == now,
        })
}

/// True for code of the kernel, and for what lies in no file.
fn has_no_file(tables: &Tables, frame: &Frame) -> bool {
    let path = |module: ModuleId| tables.modules.get(module.index()).map(|module| module.path.as_str());
    match frame {
        Frame::Code { module: None, .. } => true,
        Frame::Code { module: Some(module), .. } => path(*module).is_some_and(|path| path.starts_with('[')),
        Frame::Pseudo(_) => false,
    }
}
