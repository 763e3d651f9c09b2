//! Reads and writes another process's memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Most bytes read at once: the relocation tables of the largest programs take some tens of MiB.
const MOST: u64 = 256 << 20;
/// Longest string.
const LONGEST: usize = 1024;

/// The memory of a process that we may trace. Its contents are untrusted.
#[derive(Debug)]
pub(crate) struct Memory(File);

impl Memory {
    pub(crate) fn of(pid: u32) -> io::Result<Memory> {
        let path = format!("/proc/{pid}/mem");
        // A kernel can be configured to refuse writes.
        File::options().read(true).write(true).open(&path).or_else(|_| File::open(&path)).map(Memory)
    }

    /// A file in place of a process's memory.
    #[cfg(test)]
    pub(crate) fn in_file(file: File) -> Memory {
        Memory(file)
    }

    /// The bytes from an address on; `None` unless all of them can be read.
    pub(crate) fn bytes(&self, address: u64, length: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).ok().filter(|_| length <= MOST)?];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    /// The bytes from an address on, as many as can be read.
    pub(crate) fn bytes_up_to(&self, address: u64, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let mut length = 0;
        while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
            match self.0.read_at(rest, address.wrapping_add(length as u64)) {
                Ok(0) | Err(_) => break,
                Ok(more) => length += more,
            }
        }
        bytes.truncate(length);
        bytes
    }

    /// Writes bytes from an address on.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
    }

    /// A word.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// A NUL-terminated string.
    pub(crate) fn text(&self, address: u64) -> String {
        let bytes = self.bytes_up_to(address, LONGEST);
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}
