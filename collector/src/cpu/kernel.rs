//! The kernel's part of stacks.

use super::batch::{Batch, KernelFrame};
use perf_event_open_sys::bindings as sys;
use rustc_hash::FxHashMap;
use symbols::{Cache, KernelFunction, KernelSymbols, Reason};

/// Addresses from here on are markers between the parts of a stack.
const FIRST_MARK: u64 = sys::PERF_CONTEXT_MAX;

/// The module that the kernel's own code is in.
pub(super) const KERNEL: &str = "[kernel]";

/// The kernel's functions, and the kernel frames seen so far.
#[derive(Default)]
pub(super) struct Kernel {
    /// Read when the first frame needs a name.
    symbols: Option<KernelSymbols>,
    /// Where the symbols may be kept.
    cache: Option<Cache>,
    /// The symbols were read from the kernel because the cache did not have them, or those of other modules.
    is_unkept: bool,
    /// Code has come or gone since the symbols were read.
    is_stale: bool,
    frames: FxHashMap<(u64, bool), u32>,
}

impl Kernel {
    /// Creates one whose symbols may be cached from recording to recording.
    pub(super) fn new(cache: Option<Cache>) -> Kernel {
        Kernel { cache, ..Kernel::default() }
    }

    /// Caches the symbols, once the rings no longer have to be read.
    pub(super) fn keep(&self) {
        if let (Some(cache), Some(symbols), true) = (&self.cache, &self.symbols, self.is_unkept) {
            symbols.store(cache);
        }
    }

    /// Gives back the memory of the symbols if this round had new frames: the next ones are elsewhere in the table.
    pub(super) fn end_round(&self, batch: &Batch) {
        if let (Some(symbols), false) = (&self.symbols, batch.kernel.is_empty()) {
            symbols.release();
        }
    }

    /// Kernel code was loaded or unloaded.
    pub(super) fn changed(&mut self) {
        self.is_stale = true;
    }

    /// True if the stack has kernel frames.
    pub(super) fn has_frames(chain: &[u8]) -> bool {
        let (words, _) = chain.as_chunks::<8>();
        words.iter().any(|word| u64::from_le_bytes(*word) == sys::PERF_CONTEXT_KERNEL)
    }

    /// Hands the frames of a kernel stack to `visit`, outermost first.
    pub(super) fn frames(&mut self, chain: &[u8], batch: &mut Batch, mut visit: impl FnMut(u32)) {
        let (words, _) = chain.as_chunks::<8>();
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let kernel: Vec<u64> = words
            .skip_while(|word| *word != sys::PERF_CONTEXT_KERNEL)
            .skip(1)
            .take_while(|word| *word < FIRST_MARK)
            .collect();
        for (place, address) in kernel.iter().enumerate().rev() {
            visit(self.frame(*address, place == 0, batch));
        }
    }

    fn frame(&mut self, address: u64, exact: bool, batch: &mut Batch) -> u32 {
        if let Some(known) = self.frames.get(&(address, exact)) {
            return *known;
        }
        let id = self.frames.len() as u32;
        self.frames.insert((address, exact), id);
        batch.kernel.push(self.named(address, exact));
        id
    }

    fn named(&mut self, address: u64, exact: bool) -> KernelFrame {
        let lookup = if exact { address } else { address.wrapping_sub(1) };
        if self.symbols.is_none() {
            self.symbols = self.cache.as_ref().and_then(KernelSymbols::cached);
        }
        let is_outdated = |symbols: &KernelSymbols| {
            (self.is_stale || symbols.is_partial()) && symbols.find(lookup).is_err()
        };
        if self.symbols.as_ref().is_none_or(is_outdated) {
            self.read();
        }
        let symbols = self.symbols.get_or_insert_default();
        let (module, base, name) = match symbols.find(lookup) {
            Ok(KernelFunction { name, module: "", base }) => (KERNEL.to_owned(), base, Ok(name.to_owned())),
            Ok(KernelFunction { name, module, base }) => (format!("[{module}]"), base, Ok(name.to_owned())),
            Err(reason) => (KERNEL.to_owned(), symbols.start(), Err(reason)),
        };
        KernelFrame { module, address: address.wrapping_sub(base), exact, name }
    }

    fn read(&mut self) {
        self.is_unkept |= self.symbols.as_ref().is_none_or(KernelSymbols::is_outdated);
        self.symbols = Some(KernelSymbols::of_this_kernel());
        self.is_stale = false;
    }
}

impl KernelFrame {
    /// Why the frame has no name.
    pub(super) fn reason(&self) -> Option<Reason> {
        self.name.as_ref().err().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> Kernel {
        let table =
            "ffffffff81000000 T _stext\nffffffff81000100 t inner\nffffffffc0200010 t hook [a_module]\n";
        let modules = "a_module 4096 0 - Live 0xffffffffc0200000\n";
        Kernel { symbols: Some(KernelSymbols::parse(table.as_bytes(), modules)), ..Kernel::default() }
    }

    fn chain(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Check that frames come outermost first, that only the innermost is an exact instruction, and that markers and
    /// user-space addresses found by the kernel are left out.
    #[test]
    fn kernel_stacks_are_turned_round() {
        let (mut kernel, mut batch, mut seen) = (kernel(), Batch::default(), Vec::new());
        let words = [
            sys::PERF_CONTEXT_KERNEL,
            0xffff_ffff_8100_0110,
            0xffff_ffff_c020_0018,
            0xffff_ffff_8100_0100,
            sys::PERF_CONTEXT_USER,
            0x1234,
        ];
        kernel.frames(&chain(&words), &mut batch, |frame| seen.push(frame));
        kernel.frames(&chain(&words), &mut batch, |frame| seen.push(frame));
        assert_eq!(seen, [0, 1, 2, 0, 1, 2]);
        let frame = |module: &str, address, exact, name: &str| KernelFrame {
            module: module.into(),
            address,
            exact,
            name: Ok(name.into()),
        };
        assert_eq!(
            batch.kernel,
            [
                // The call was the last instruction of the function before this address.
                frame("[kernel]", 0x100, false, "_stext"),
                frame("[a_module]", 0x18, false, "hook"),
                frame("[kernel]", 0x110, true, "inner"),
            ]
        );
    }

    /// Check that code of an unloaded module keeps the name that it had when it was seen.
    #[test]
    fn unloaded_modules_keep_their_names() {
        let (mut kernel, mut batch, mut seen) = (kernel(), Batch::default(), Vec::new());
        let words = [sys::PERF_CONTEXT_KERNEL, 0xffff_ffff_c020_0018];
        kernel.frames(&chain(&words), &mut batch, |frame| seen.push(frame));
        kernel.symbols = Some(KernelSymbols::parse(b"ffffffff81000000 T _stext\n", ""));
        kernel.changed();
        kernel.frames(&chain(&words), &mut batch, |frame| seen.push(frame));
        assert_eq!(seen, [0, 0]);
        assert_eq!(batch.kernel[0].name.as_deref(), Ok("hook"));
        assert_eq!(batch.kernel[0].module, "[a_module]");
    }

    /// Check that a chain without a kernel part, or with half a word, gives no frames.
    #[test]
    fn other_chains_have_no_frames() {
        for bytes in [chain(&[]), chain(&[sys::PERF_CONTEXT_USER, 1]), vec![1, 2, 3]] {
            kernel().frames(&bytes, &mut Batch::default(), |frame| panic!("{frame}"));
        }
    }
}
