//! Unwinds the user stack of one sample.

use super::batch::{Copied, MappedCode, Step};
use super::record::User;
use super::stacks::marker;
use crate::remote_unwind::files::{FileId, Files, KnownFile};
use crate::remote_unwind::space::{Mapping, Space, View};
use capture::Pseudo;
use rustc_hash::FxHashMap;
use unwind::{CodeAddress, Scratch, StackSample, unwind_sample};

/// The inputs of one walk.
pub(super) struct Walk<'a> {
    pub(super) files: &'a Files,
    pub(super) space: &'a Space,
    pub(super) pid: u32,
    pub(super) modules: &'a mut FxHashMap<FileId, u32>,
    pub(super) scratch: &'a mut Scratch,
    pub(super) max_depth: usize,
    /// Modules that are new in this batch.
    pub(super) added: &'a mut Vec<KnownFile>,
}

impl Walk<'_> {
    /// Appends the user's frames, innermost first; returns why there are no more.
    pub(super) fn user(mut self, user: User<'_>, frames: &mut Vec<Step>) -> Option<Pseudo> {
        let (start, stack, is_cut) = match user {
            User::None => return None,
            // 32-bit code has other unwind rules: only the innermost frame is known.
            User::Bits32 { ip } => {
                frames.push(self.step(CodeAddress::Exact(ip)));
                return Some(Pseudo::NoUnwindInfo);
            }
            User::Bits64 { start, stack, is_cut } => (start, stack, is_cut),
        };
        let view = View { space: self.space, files: self.files, pid: self.pid };
        let registers = start.registers();
        let sample = StackSample { registers, link: start.link, stack, max_depth: self.max_depth };
        let mut codes = Vec::new();
        let end = unwind_sample(&sample, &view, self.scratch, |frame| codes.push(frame.code()));
        if codes.is_empty() {
            // Interrupted where no code is known: the address is recorded all the same.
            codes.push(registers.ip);
        }
        frames.extend(codes.into_iter().map(|code| self.step(code)));
        match marker(end) {
            // The copy holds the whole stack, so the unwind did not run out of copied bytes.
            Some(Pseudo::Truncated) if !is_cut && frames.len() < self.max_depth => Some(Pseudo::Broken),
            marker => marker,
        }
    }

    /// What the stack is unwound from, to be kept; nothing for threads without user space or in 32-bit code.
    // Cost: a lookup in the mappings for each word of the stack, half a tenth of a millisecond for 16 KiB.
    pub(super) fn copied(mut self, user: User<'_>, sample: usize) -> Option<Copied> {
        let User::Bits64 { start, stack, is_cut } = user else { return None };
        let mut code: Vec<MappedCode> = Vec::new();
        let (words, _) = stack.as_chunks::<8>();
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let addresses = std::iter::once(start.ip).chain(start.link).chain(words);
        for address in addresses.map(CodeAddress::without_signature) {
            if code.iter().any(|known| (known.start..known.end).contains(&address)) {
                continue;
            }
            let Some((start, Mapping { end, offset, file })) = self.space.find(address) else { continue };
            let module = file.map(|file| self.module(file));
            code.push(MappedCode { start, end, offset, module });
        }
        Some(Copied { sample, start, is_cut, stack: stack.to_vec(), code })
    }

    fn step(&mut self, code: CodeAddress) -> Step {
        let (address, exact) = (code.address(), matches!(code, CodeAddress::Exact(_)));
        let found = self.space.find(code.lookup());
        let Some((start, mapping, file)) = found.and_then(|(start, map)| Some((start, map, map.file?)))
        else {
            return Step::Unfiled { pid: self.pid, address, exact };
        };
        let bias = match self.files.code(file, self.pid) {
            Some(code) => code.bias(start, mapping.offset),
            None => start.wrapping_sub(mapping.offset),
        };
        Step::Code { module: self.module(file), address: address.wrapping_sub(bias), exact }
    }

    /// The file's module number in the batches.
    fn module(&mut self, file: FileId) -> u32 {
        let next = self.modules.len() as u32;
        *self.modules.entry(file).or_insert_with(|| {
            self.added.push(self.files.file(file, self.pid));
            next
        })
    }
}
