//! Builds records as the kernel writes them, for tests.

use super::{Start, sys};
use crate::cpu::registers::HAS_LINK;

/// The kernel stack of the samples built here.
pub(in crate::cpu) const CHAIN: [u64; 2] = [sys::PERF_CONTEXT_KERNEL, 0xffff_ffff_8100_0010];

/// The registers of the samples built here.
pub(in crate::cpu) const START: Start =
    Start { ip: 0x30, sp: 0x20, bp: 0x10, link: if HAS_LINK { Some(0x18) } else { None } };

/// A record under construction.
pub(in crate::cpu) struct Made(Vec<u8>);

impl Made {
    pub(in crate::cpu) fn new(kind: u32) -> Made {
        Made::with(kind, 0)
    }

    pub(in crate::cpu) fn with(kind: u32, misc: u32) -> Made {
        Made([&kind.to_le_bytes()[..], &(misc as u16).to_le_bytes(), &[0, 0]].concat())
    }

    pub(in crate::cpu) fn u32(self, value: u32) -> Made {
        self.bytes(&value.to_le_bytes())
    }

    pub(in crate::cpu) fn u64(self, value: u64) -> Made {
        self.bytes(&value.to_le_bytes())
    }

    pub(in crate::cpu) fn bytes(mut self, bytes: &[u8]) -> Made {
        self.0.extend(bytes);
        self
    }

    /// Appends a text with its NUL, padded to eight bytes.
    pub(in crate::cpu) fn text(mut self, text: &[u8]) -> Made {
        self.0.extend(text);
        self.0.resize((self.0.len() + 1).next_multiple_of(8), 0);
        self
    }

    /// Appends the ABI, and user registers.
    pub(in crate::cpu) fn registers(self, abi: u64, start: Start) -> Made {
        let made = self.u64(abi).u64(start.bp);
        let made = if let Some(link) = start.link { made.u64(link) } else { made };
        made.u64(start.sp).u64(start.ip)
    }

    /// Finishes it with the part that ends all records but samples.
    pub(in crate::cpu) fn end(self, time: u64) -> Vec<u8> {
        self.u64(0).u64(time).u64(0).bare()
    }

    /// Finishes it as it is.
    pub(in crate::cpu) fn bare(mut self) -> Vec<u8> {
        let size = (self.0.len() as u16).to_le_bytes();
        self.0[6..8].copy_from_slice(&size);
        self.0
    }
}

/// A sample on processor 3, with kernel and user frames.
pub(in crate::cpu) fn sample(pid: u32, time: u64) -> Vec<u8> {
    let head = Made::new(sys::PERF_RECORD_SAMPLE).u64(0x30).u32(pid).u32(pid).u64(time).u32(3).u32(0);
    let chain = head.u64(1_000_000).u64(2).u64(CHAIN[0]).u64(CHAIN[1]);
    chain.registers(2, START).u64(16).u64(1).u64(0).u64(8).bare()
}

/// A mapping of `/lib/x.so`.
pub(in crate::cpu) fn map(pid: u32, time: u64) -> Vec<u8> {
    map_of(pid, time, 0x1000, b"/lib/x.so")
}

/// A mapping of the given file.
pub(in crate::cpu) fn map_of(pid: u32, time: u64, start: u64, path: &[u8]) -> Vec<u8> {
    let made = Made::with(sys::PERF_RECORD_MMAP2, sys::PERF_RECORD_MISC_MMAP_BUILD_ID);
    let made = made.u32(pid).u32(pid).u64(start).u64(0x2000).u64(0x3000).u32(20).bytes(&[0xab; 20]);
    made.u32(5).u32(2).text(path).end(time)
}

/// An exec.
pub(in crate::cpu) fn comm(pid: u32, time: u64) -> Vec<u8> {
    let made = Made::with(sys::PERF_RECORD_COMM, sys::PERF_RECORD_MISC_COMM_EXEC);
    made.u32(pid).u32(pid).text(b"name").end(time)
}

/// A fork of process 1.
pub(in crate::cpu) fn fork(pid: u32, time: u64) -> Vec<u8> {
    Made::new(sys::PERF_RECORD_FORK).u32(pid).u32(1).u32(pid).u32(1).u64(time).end(time)
}

/// The end of a thread.
pub(in crate::cpu) fn exit(pid: u32, time: u64) -> Vec<u8> {
    Made::new(sys::PERF_RECORD_EXIT).u32(pid).u32(1).u32(pid).u32(1).u64(time).end(time)
}
