//! Unwinds samples' stacks again, from the copies that a capture keeps.
//!
//! The walk is the same as during recording, but over the files as they are on this machine now. It finds the same
//! frames as long as these are the files that were mapped; otherwise, or if the unwinder has changed, it shows what
//! differs.

use super::registers::{HAS_LINK, Start};
use super::stacks::marker;
use crate::base::options::{DEFAULT_DEPTH, MAX_DEPTH};
use crate::proc::mapped_file::Identity;
use crate::remote_unwind::files::{FileId, Files};
use crate::remote_unwind::space::{Mapping, Space, View};
use capture::{Error, Frame, ModuleId, NodeId, Pseudo, Reader, StackCopy, Tables};
use std::path::Path;
use unwind::{CodeAddress, Scratch, StackSample, unwind_sample};

/// Name of the option that records the limit.
const OPTION: &str = "max_depth";

/// A stack that was unwound again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwoundAgain {
    /// Number of the stack's sample in the capture.
    pub sample: u64,
    /// Bytes of the stack that were kept.
    pub bytes: usize,
    /// The frames found now, innermost first, with a marker at the end if the stack is incomplete.
    pub frames: Vec<Frame>,
    /// The frames are the same as in the recording.
    pub is_same: bool,
    /// The stack was recorded on a machine with other registers than this one, so it is not unwound here.
    pub is_foreign: bool,
}

/// Unwinds every stack that a capture keeps, and hands each to `visit`.
///
/// # Errors
/// If the capture cannot be read.
// Memory: four bytes for each sample, and one copied stack.
pub fn unwind_again(file: &Path, mut visit: impl FnMut(&UnwoundAgain)) -> Result<(), Error> {
    let reader = Reader::open(file)?;
    let tables = reader.tables();
    let mut stacks: Vec<NodeId> = Vec::new();
    reader.for_each_samples(|samples| stacks.extend(samples.iter().map(|sample| sample.stack)))?;
    let mut files = Files::of_a_file();
    let modules: Vec<Option<FileId>> = tables
        .modules
        .iter()
        .map(|module| {
            files.id(module.path.as_bytes(), &module.build_id, Identity { device: 0, inode: module.inode })
        })
        .collect();
    let option = tables.metadata.options.iter().find(|(name, _)| name == OPTION);
    let max_depth =
        option.and_then(|(_, value)| value.parse().ok()).unwrap_or(DEFAULT_DEPTH).min(MAX_DEPTH) as usize;
    let mut walker = Walker { files: &files, modules: &modules, max_depth, scratch: Box::default() };
    reader.for_each_stack_copy(|copy| {
        let is_foreign = copy.link.is_some() != HAS_LINK;
        let frames = if is_foreign { Vec::new() } else { walker.frames(copy) };
        let recorded = usize::try_from(copy.sample).ok().and_then(|sample| stacks.get(sample));
        let is_same = !is_foreign && recorded.is_some_and(|stack| is_same(tables, *stack, &frames));
        visit(&UnwoundAgain { sample: copy.sample, bytes: copy.stack.len(), frames, is_same, is_foreign });
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
    /// The frames that a copied stack unwinds to, in the form in which a recording stores them.
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

/// Whether a recorded stack consists of these frames, with only kernel frames on top.
fn is_same(tables: &Tables, stack: NodeId, frames: &[Frame]) -> bool {
    let recorded: Vec<Frame> =
        tables.stack(stack).filter_map(|(_, node)| tables.frames.get(node.frame.index()).copied()).collect();
    let Some(kernel) = recorded.len().checked_sub(frames.len()) else { return false };
    let (kernel, user) = recorded.split_at(kernel);
    kernel.iter().all(|frame| has_no_file(tables, frame))
        && user.iter().zip(frames).all(|(recorded, now)| match (recorded, now) {
            // The recording found the memory that such code lies in while its process ran; that is over.
            (
                Frame::Code { address, exact, .. },
                Frame::Code { module: None, address: now, exact: exact_now },
            ) => (address, exact) == (now, exact_now) && has_no_file(tables, recorded),
            _ => recorded == now,
        })
}

/// True for kernel code and for code that no file holds.
fn has_no_file(tables: &Tables, frame: &Frame) -> bool {
    let path = |module: ModuleId| tables.modules.get(module.index()).map(|module| module.path.as_str());
    match frame {
        Frame::Code { module: None, .. } => true,
        Frame::Code { module: Some(module), .. } => path(*module).is_some_and(|path| path.starts_with('[')),
        Frame::Pseudo(_) => false,
    }
}
