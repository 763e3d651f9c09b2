//! framehop, an independent unwinder for the same tables.

use crate::support::Process;
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder};
use unwind::{Memory, Modules, Registers};

#[cfg(target_arch = "x86_64")]
mod machine {
    pub(super) use framehop::x86_64::{CacheX86_64 as Cache, UnwinderX86_64 as Machine};

    pub(super) fn registers(start: unwind::Registers) -> framehop::x86_64::UnwindRegsX86_64 {
        framehop::x86_64::UnwindRegsX86_64::new(start.ip.address(), start.sp, start.bp)
    }
}

#[cfg(target_arch = "aarch64")]
mod machine {
    pub(super) use framehop::aarch64::{CacheAarch64 as Cache, UnwinderAarch64 as Machine};

    /// The frame from which a test walks has saved its return address.
    pub(super) fn registers(start: unwind::Registers) -> framehop::aarch64::UnwindRegsAarch64 {
        framehop::aarch64::UnwindRegsAarch64::new(0, start.sp, start.bp)
    }
}

/// framehop with the modules of this process.
pub(crate) struct Framehop {
    unwinder: machine::Machine<Vec<u8>>,
    cache: machine::Cache,
}

impl Framehop {
    /// framehop with the modules of `process`.
    pub(crate) fn new(process: &Process) -> Self {
        let mut unwinder = machine::Machine::new();
        for image in process.images() {
            let code = image.code.as_slice().first().expect("modules have code").clone();
            let Some(sections) = process.find(code.start) else { continue };
            let end = sections.segment_address + sections.segment.len() as u64;
            let from = |address: u64| &sections.segment[(address - sections.segment_address) as usize..];
            let hdr = from(sections.hdr_address);
            // The usual header: `.eh_frame` as an i32 relative to its own place.
            let distance = i32::from_le_bytes(hdr[4..8].try_into().expect("four bytes"));
            let eh_frame = (sections.hdr_address + 4).wrapping_add_signed(i64::from(distance));
            let range = |address: u64| address - image.bias..end - image.bias;
            let info = ExplicitModuleSectionInfo {
                base_svma: 0,
                eh_frame_svma: Some(range(eh_frame)),
                eh_frame: Some(from(eh_frame).to_vec()),
                eh_frame_hdr_svma: Some(range(sections.hdr_address)),
                eh_frame_hdr: Some(hdr.to_vec()),
                ..Default::default()
            };
            unwinder.add_module(Module::new(String::new(), code, image.bias, info));
        }
        Self { unwinder, cache: machine::Cache::new() }
    }

    /// The addresses of the frames from `start` on.
    pub(crate) fn walk(&mut self, start: Registers, memory: &mut impl Memory, mut visit: impl FnMut(u64)) {
        let registers = machine::registers(start);
        let mut read = |address| memory.read(address).ok_or(());
        let mut frames = self.unwinder.iter_frames(start.ip.address(), registers, &mut self.cache, &mut read);
        while let Ok(Some(frame)) = frames.next() {
            visit(frame.address());
        }
    }
}
