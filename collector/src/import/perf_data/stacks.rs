//! Stacks of samples: the addresses that the kernel found, or those unwound from registers and a piece of stack.

use super::fields::Fields;
use super::layout::Sample;
use super::processes::Processes;
use crate::base::options::DEFAULT_DEPTH;
use crate::cpu::marker;
use crate::remote_unwind::space::{Space, View};
use capture::{Error, Frame, FrameId, Module, NodeId, Pseudo, Sink, SourceFrame, Symbolized, Writer};
use rustc_hash::FxHashMap;
use symbols::{KernelSymbols, Reason};
use unwind::{CodeAddress, Scratch, StackSample, unwind_sample};

/// Addresses from here on are markers between the parts of a stack.
const FIRST_MARK: u64 = 4096_u64.wrapping_neg();
/// Kernel addresses follow.
const KERNEL: u64 = 128_u64.wrapping_neg();
/// User addresses follow.
const USER: u64 = 512_u64.wrapping_neg();
/// Most frames of a stack, as in a recording of our own.
const MAX_DEPTH: usize = DEFAULT_DEPTH as usize;

/// Converts the stacks of samples.
#[derive(Default)]
pub(super) struct Stacks {
    /// This machine's kernel symbols, if the file was recorded in this boot.
    kernel: Option<KernelSymbols>,
    kernel_frames: FxHashMap<(u64, bool), FrameId>,
    scratch: Box<Scratch>,
    /// Stacks that end early, for a reason other than the end of the copied piece.
    pub(super) incomplete: u64,
    /// Stacks that continue beyond the copied piece.
    pub(super) truncated: u64,
    pub(super) has_kernel: bool,
}

impl Stacks {
    /// The file says where its kernel's code begins, and its build id. If both match this machine, its symbols are
    /// used: the address is chosen at random for each boot.
    pub(super) fn kernel(&mut self, start: u64, build_id: &[u8]) {
        if build_id.is_empty() || build_id != running_kernel() {
            return;
        }
        let symbols = KernelSymbols::of_this_kernel();
        if symbols.find(start).is_ok_and(|function| matches!(function.name, "_text" | "_stext")) {
            self.kernel = Some(symbols);
        }
    }

    /// The stack of a sample.
    pub(super) fn node<S: Sink>(
        &mut self,
        sample: &Sample<'_>,
        is_kernel: bool,
        space: &Space,
        processes: &mut Processes,
        writer: &mut Writer<S>,
    ) -> Result<NodeId, Error> {
        let (mut kernel, mut user, mut end) = (Vec::new(), Vec::new(), None);
        match (sample.chain, sample.user) {
            (None, None) if is_kernel => kernel.push(sample.ip),
            (None, None) => user.push(CodeAddress::Exact(sample.ip)),
            (chain, registers) => {
                let (of_kernel, of_user) = parts(chain.unwrap_or_default());
                kernel = of_kernel;
                let first = CodeAddress::Exact;
                let chained = of_user.iter().enumerate();
                user.extend(
                    chained.map(|(place, ip)| if place == 0 { first(*ip) } else { CodeAddress::Return(*ip) }),
                );
                if let Some((start, stack, may_go_on)) = registers {
                    user.clear();
                    let sample = StackSample {
                        registers: start.registers(),
                        link: start.link,
                        stack,
                        max_depth: MAX_DEPTH,
                    };
                    let view = View { space, files: &processes.files, pid: 0 };
                    let ended =
                        unwind_sample(&sample, &view, &mut self.scratch, |frame| user.push(frame.code()));
                    if user.is_empty() {
                        user.push(first(start.ip));
                    }
                    end = match marker(ended) {
                        Some(Pseudo::Truncated) if !may_go_on && user.len() < MAX_DEPTH => {
                            Some(Pseudo::Broken)
                        }
                        end => end,
                    };
                }
            }
        }
        user.truncate(MAX_DEPTH);
        kernel.truncate(MAX_DEPTH);
        self.has_kernel |= !kernel.is_empty();
        let mut node = NodeId::ROOT;
        if let Some(end) = end {
            *(if end == Pseudo::Truncated { &mut self.truncated } else { &mut self.incomplete }) += 1;
            let frame = writer.frame(Frame::Pseudo(end))?;
            node = writer.node(node, frame)?;
        }
        for code in user.into_iter().rev() {
            let frame = user_frame(code, space, processes, writer)?;
            node = writer.node(node, frame)?;
        }
        for (place, address) in kernel.into_iter().enumerate().rev() {
            let frame = self.kernel_frame(address, place == 0, writer)?;
            node = writer.node(node, frame)?;
        }
        Ok(node)
    }

    fn kernel_frame<S: Sink>(
        &mut self,
        address: u64,
        exact: bool,
        writer: &mut Writer<S>,
    ) -> Result<FrameId, Error> {
        if let Some(known) = self.kernel_frames.get(&(address, exact)) {
            return Ok(*known);
        }
        let module = Some(writer.module(Module { path: "[kernel]".into(), ..Module::default() })?);
        let frame = writer.frame(Frame::Code { module, address, exact })?;
        let lookup = if exact { address } else { address.wrapping_sub(1) };
        let found = self.kernel.as_ref().map_or(Err(Reason::FileMissing), |kernel| kernel.find(lookup));
        let (names, reason) = match found {
            Ok(function) => {
                let function = Some(writer.string(function.name)?);
                (vec![SourceFrame { function, file: None, line: None }], None)
            }
            Err(reason) => (Vec::new(), Some(writer.string(&reason.to_string())?)),
        };
        writer.symbolized(Symbolized { frame, names, reason, ..Symbolized::default() })?;
        self.kernel_frames.insert((address, exact), frame);
        Ok(frame)
    }
}

/// Build id of this machine's kernel; empty if unknown.
fn running_kernel() -> Vec<u8> {
    build_id(&std::fs::read("/sys/kernel/notes").unwrap_or_default()).unwrap_or_default().to_vec()
}

/// The build id among the notes of an ELF file. Each note has the lengths of its name and contents, its type, and
/// both of these, aligned to four bytes.
fn build_id(notes: &[u8]) -> Option<&[u8]> {
    let mut notes = Fields(notes);
    loop {
        let (name, content) = (notes.u32().ok()?, notes.u32().ok()?);
        let kind = notes.u32().ok()?;
        let mut padded = |length: u32| {
            let bytes = notes.many(u64::from(length).next_multiple_of(4), 1).ok()?;
            bytes.get(..length as usize)
        };
        let (name, content) = (padded(name)?, padded(content)?);
        if (kind, name) == (3, b"GNU\0") {
            return Some(content);
        }
    }
}

/// The kernel and the user part of a chain, innermost frame first. Addresses before any marker are the user's.
fn parts(chain: &[u8]) -> (Vec<u64>, Vec<u64>) {
    let (mut kernel, mut user, mut part) = (Vec::new(), Vec::new(), USER);
    let (words, _) = chain.as_chunks::<8>();
    for word in words.iter().map(|word| u64::from_le_bytes(*word)) {
        match (word, part) {
            (FIRST_MARK.., _) => part = word,
            (word, KERNEL) => kernel.push(word),
            (word, USER) => user.push(word),
            // Code of virtual machine guests cannot be named here.
            _ => {}
        }
    }
    (kernel, user)
}

fn user_frame<S: Sink>(
    code: CodeAddress,
    space: &Space,
    processes: &mut Processes,
    writer: &mut Writer<S>,
) -> Result<FrameId, Error> {
    let (address, exact) = (code.address(), matches!(code, CodeAddress::Exact(_)));
    let mapping =
        space.find(code.lookup()).and_then(|(start, mapping)| Some((start, mapping.offset, mapping.file?)));
    let Some((start, offset, file)) = mapping else {
        return writer.frame(Frame::Code { module: None, address, exact });
    };
    let bias = match processes.files.code(file, 0) {
        Some(code) => code.bias(start, offset),
        None => start.wrapping_sub(offset),
    };
    let module = Some(processes.module(file, writer)?);
    writer.frame(Frame::Code { module, address: address.wrapping_sub(bias), exact })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a build id is found after other notes, and that truncated notes have none.
    #[test]
    fn build_ids_are_found_in_notes() {
        let note = |kind: u32, name: &[u8], content: &[u8]| {
            let mut bytes = Vec::new();
            for number in [name.len() as u32, content.len() as u32, kind] {
                bytes.extend(number.to_le_bytes());
            }
            for part in [name, content] {
                bytes.extend_from_slice(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes
        };
        let notes = [note(6, b"Linux\0", b"x"), note(3, b"GNU\0", &[1, 2, 3, 4, 5])].concat();
        assert_eq!(build_id(&notes), Some(&[1, 2, 3, 4, 5][..]));
        for length in 0..notes.len() - 3 {
            assert_eq!(build_id(&notes[..length]), None, "{length}");
        }
    }

    /// Check that markers separate the parts of a chain, and that those of virtual machines are left out.
    #[test]
    fn chains_have_parts() {
        let chain = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let guest = 2048_u64.wrapping_neg();
        for (words, kernel, user) in [
            (&[KERNEL, 7, 8, USER, 1, 2][..], &[7, 8][..], &[1, 2][..]),
            (&[1, 2], &[], &[1, 2]),
            (&[guest, 9, USER, 1], &[], &[1]),
            (&[], &[], &[]),
        ] {
            assert_eq!(parts(&chain(words)), (kernel.to_vec(), user.to_vec()), "{words:x?}");
        }
    }
}
