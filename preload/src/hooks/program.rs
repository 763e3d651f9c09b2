//! Programs that do not start with the agent preloaded.
//!
//! The shared runtime of `AddressSanitizer` ends the program unless it comes first of all libraries. Whether a
//! program needs it is looked up where the dynamic loader does, in the file:
//!
//! ```text
//!  header          ─► program headers ─► PT_DYNAMIC ─► DT_NEEDED, DT_STRTAB
//!  PT_LOAD         ─► where the file has the address that DT_STRTAB names
//!  name in strings ─► libasan.so.8
//! ```
//!
//! Programs for another processor, including 32-bit ones, would start, but not as they do alone: their dynamic loader
//! prints to standard error that it cannot load the agent.
//!
//! Nothing is mapped or allocated and no lock is taken, since this also runs in children of vfork. Scripts are not
//! examined: their interpreters rarely need such a runtime, and what they start is examined then.

use crate::platform::allowed_calls::{self, Need};
use crate::platform::config;
use crate::platform::elf::{DT_NEEDED, DT_NULL, DT_STRTAB};
use core::ffi::{CStr, c_char, c_int};
use libc::{PT_DYNAMIC, PT_LOAD};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};

/// How the names of libraries begin that must come first.
const WANT_TO_BE_FIRST: [&[u8]; 2] = [b"libasan.so", b"libclang_rt.asan"];
/// Bytes of a library's name that decide.
const TELLING: usize = 16;
/// Longest path at which a name is looked for.
const MAX_PATH: usize = 1024;
/// Most program headers that are examined: loaded segments and the dynamic section are among the first.
const MAX_SEGMENTS: usize = 18;
/// Most entries of a dynamic section that are examined: needed libraries come first, and the strings soon after.
const MAX_DYNAMIC: usize = 64;

const ELF: &[u8] = b"\x7FELF";
/// The magic number of 64-bit little-endian files.
const OURS: &[u8] = b"\x7FELF\x02\x01";
const MACHINE: usize = crate::platform::elf::MACHINE as usize;
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const DYNAMIC: usize = 16;

/// What an exec is asked to start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program {
    /// A path, relative to an open folder.
    At(c_int, *const c_char),
    /// A name that is looked for in the folders of `PATH`, unless it is a path.
    Named(*const c_char),
    /// An open file.
    Open(c_int),
}

/// True for a library that ends the program unless it comes first.
pub(crate) fn wants_to_be_first(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    WANT_TO_BE_FIRST.iter().any(|first| name.starts_with(first))
}

impl Program {
    /// True if the program would not start as usual with the agent preloaded; false also when its file cannot be
    /// read.
    // Cost: nine system calls.
    #[cold]
    #[inline(never)]
    pub(crate) fn wants_to_be_alone(self) -> bool {
        if !allowed_calls::allows(Need::Files) {
            return false;
        }
        match self {
            Program::At(folder, path) => {
                let Some((folder, path)) = descriptor(folder).zip(text(path)) else { return false };
                if path.is_empty() { needs_it(folder) } else { needs_it_at(folder, path) == Some(true) }
            }
            Program::Named(name) => {
                let Some(name) = text(name) else { return false };
                if name.to_bytes().contains(&b'/') {
                    return needs_it_at(CWD, name) == Some(true);
                }
                let folders = config::variable(b"PATH").unwrap_or(b"/bin:/usr/bin");
                let mut found =
                    folders.split(|byte| *byte == b':').filter_map(|folder| in_folder(folder, name));
                found.next() == Some(true)
            }
            Program::Open(file) => descriptor(file).is_some_and(needs_it),
        }
    }
}

fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: what an exec is given is a string or null.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

fn descriptor<'a>(number: c_int) -> Option<BorrowedFd<'a>> {
    // SAFETY: not -1, the one value that is forbidden. Whether it is open is for the kernel to say; nothing is closed
    // here.
    (number != -1).then(|| unsafe { BorrowedFd::borrow_raw(number) })
}

/// Whether a program in a folder of `PATH` must start alone; `None` where libc would continue its search.
fn in_folder(folder: &[u8], name: &CStr) -> Option<bool> {
    let mut path = [0; MAX_PATH];
    let slash: &[u8] = if folder.is_empty() { b"" } else { b"/" };
    let parts = folder.iter().chain(slash).chain(name.to_bytes_with_nul());
    for (to, from) in path.iter_mut().zip(parts) {
        *to = *from;
    }
    needs_it_at(CWD, CStr::from_bytes_until_nul(&path).ok()?)
}

/// Whether a program must start alone; `None` where there is nothing to execute.
fn needs_it_at(folder: BorrowedFd<'_>, path: &CStr) -> Option<bool> {
    let mode = rustix::fs::statat(folder, path, AtFlags::empty()).ok()?.st_mode;
    // Opening anything but a regular file may have side effects.
    let is_file = FileType::from_raw_mode(mode) == FileType::RegularFile;
    let is_executable = Mode::from_raw_mode(mode).intersects(Mode::XUSR | Mode::XGRP | Mode::XOTH);
    if !is_file || !is_executable {
        return None;
    }
    let file = rustix::fs::openat(folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    Some(file.is_ok_and(|file| needs_it(file.as_fd())))
}

fn needs_it(file: BorrowedFd<'_>) -> bool {
    let mut needs_it = false;
    let read = |offset, buffer: &mut [u8]| rustix::io::pread(file, buffer, offset).unwrap_or(0);
    let mut header = [0; HEADER];
    if read(0, &mut header) == HEADER && is_for_another(&header) {
        return true;
    }
    // A file that is not ELF needs nothing.
    let _ = each_needed(read, |name| needs_it |= wants_to_be_first(name));
    needs_it
}

/// True for the header of a program for another processor than the agent's, or another of its address sizes.
fn is_for_another(header: &[u8; HEADER]) -> bool {
    let is_of_ours = header.starts_with(OURS) && half(header, 18) == Some(MACHINE);
    header.starts_with(ELF) && !is_of_ours
}

/// Calls `found` with the first bytes of the name of each needed library. `read` fills a buffer from an offset of the
/// file on, and returns how many bytes there are.
fn each_needed(read: impl Fn(u64, &mut [u8]) -> usize, mut found: impl FnMut(&[u8])) -> Option<()> {
    let mut header = [0; HEADER];
    let is_elf = read(0, &mut header) == HEADER && header.starts_with(OURS);
    if !is_elf || half(&header, 54)? != SEGMENT {
        return None;
    }
    let mut segments = [0; SEGMENT * MAX_SEGMENTS];
    let bytes = read(word(&header, 32)?, &mut segments).min(SEGMENT.wrapping_mul(half(&header, 56)?));
    let segments = || segments.get(..bytes).unwrap_or(&[]).chunks_exact(SEGMENT);
    let of_kind =
        |kind| segments().filter(move |segment| word(segment, 0).map(|word| word as u32) == Some(kind));
    let dynamic = of_kind(PT_DYNAMIC).next()?;

    let mut entries = [0; DYNAMIC * MAX_DYNAMIC];
    let size = usize::try_from(word(dynamic, 32)?).ok()?;
    let bytes = read(word(dynamic, 8)?, &mut entries).min(size);
    let entries = || {
        let entries = entries.get(..bytes).unwrap_or(&[]).chunks_exact(DYNAMIC);
        let pair = |entry: &[u8]| Some((word(entry, 0)?, word(entry, 8)?));
        entries.map_while(pair).take_while(|(tag, _)| *tag != DT_NULL)
    };
    let strings = entries().find(|(tag, _)| *tag == DT_STRTAB)?.1;
    // The strings are as far behind the segment's start in the file as in memory.
    let strings = of_kind(PT_LOAD).find_map(|segment| {
        let behind = strings.checked_sub(word(segment, 16)?)?;
        (behind < word(segment, 32)?).then(|| word(segment, 8)?.checked_add(behind))?
    })?;
    for (_, offset) in entries().filter(|(tag, _)| *tag == DT_NEEDED) {
        let mut name = [0; TELLING];
        let bytes = read(strings.checked_add(offset)?, &mut name);
        found(name.get(..bytes)?);
    }
    Some(())
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn half(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The libraries that a file needs.
    fn needed(file: &[u8]) -> Vec<Vec<u8>> {
        let mut names = Vec::new();
        let read = |offset, buffer: &mut [u8]| {
            let rest = usize::try_from(offset).ok().and_then(|offset| file.get(offset..)).unwrap_or(&[]);
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            count
        };
        let _ = each_needed(read, |name| names.push(name.split(|byte| *byte == 0).next().unwrap().to_vec()));
        names
    }

    /// Check that what this very program needs is found.
    #[test]
    fn needed_libraries_are_found() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let names = needed(&file);
        assert!(names.iter().any(|name| name == b"libc.so.6"), "{names:?}");
        assert!(names.iter().all(|name| name.starts_with(b"lib") || name.starts_with(b"ld-")), "{names:?}");
        assert_eq!(
            needed(b"#!/bin/sh\necho this is a script, longer than what an ELF file begins with\n"),
            [b""; 0]
        );
    }

    /// Check that programs are told from those for another processor, and from files that are no programs.
    #[test]
    fn programs_for_another_processor_are_told() {
        let header = |start: &[u8], machine: u16| {
            let mut header = [0; HEADER];
            header[..start.len()].copy_from_slice(start);
            header[18..20].copy_from_slice(&machine.to_le_bytes());
            header
        };
        for (header, is_told) in [
            (header(OURS, crate::platform::elf::MACHINE), false),
            (header(OURS, libc::EM_RISCV), true),
            (header(b"\x7FELF\x01\x01", libc::EM_386), true),
            // x32
            (header(b"\x7FELF\x01\x01", libc::EM_X86_64), true),
            (header(b"\x7FELF\x02\x02", libc::EM_PPC64), true),
            (header(b"#!/bin/sh", libc::EM_386), false),
        ] {
            assert_eq!(is_for_another(&header), is_told, "{header:x?}");
        }
    }

    /// Check which names belong to a runtime that must come first, with a folder or without.
    #[test]
    fn names_tell_who_wants_to_be_first() {
        for name in
            ["libasan.so.8", "/usr/lib/libasan.so", "libclang_rt.asan-x86_64.so", "x/libclang_rt.asan.so"]
        {
            assert!(wants_to_be_first(name.as_bytes()), "{name}");
        }
        for name in ["", "libc.so.6", "libtsan.so.2", "/opt/libasan.so.8/libc.so.6", "notlibasan.so"] {
            assert!(!wants_to_be_first(name.as_bytes()), "{name}");
        }
    }

    proptest! {
        /// Check that files which were changed anywhere or cut off are read without a panic.
        #[test]
        fn broken_files_are_read(changes in proptest::collection::vec((0usize..4096, any::<u8>()), 0..8), length in 0usize..70_000) {
            let mut file = std::fs::read("/proc/self/exe").unwrap();
            file.truncate(length);
            for (at, value) in changes {
                if let Some(byte) = file.get_mut(at) {
                    *byte = value;
                }
            }
            let _ = needed(&file);
        }
    }
}
