//! The mappings of this process as the kernel lists them: which file is mapped at an address.
//!
//! The loader's name for a module is only what it was asked to open: a path relative to a folder that the program has
//! left, or one that leads to another file by now. The kernel says which file it was, and where that is.

use crate::platform::allowed_calls::{self, Need};
use crate::platform::sys;
use core::ffi::CStr;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use shared_ring::module_log::MappedFile;

/// Most bytes of the list, some forty thousand mappings. Only the pages that are filled take memory.
const MOST: usize = 4 << 20;
/// What the kernel appends to the path of a file that is no longer there.
const DELETED: &[u8] = b" (deleted)";

/// A copy of the list, in memory of its own.
#[derive(Debug)]
pub(super) struct Mappings {
    /// Null if there is no memory.
    memory: *mut u8,
    /// Lines that end in zero bytes.
    length: usize,
}

impl Mappings {
    /// Reads the list up to the line for `last`. It is empty where that is forbidden or impossible.
    // Cost: the kernel takes a microsecond for some lines. The file is open for a moment.
    #[cold]
    pub(super) fn read(last: u64) -> Self {
        if !allowed_calls::allows(Need::Mappings) {
            return Self { memory: core::ptr::null_mut(), length: 0 };
        }
        let mut list = Self { memory: sys::map_sparse(MOST).cast(), length: 0 };
        if !list.memory.is_null() {
            let _ = list.fill(last);
        }
        list
    }

    fn fill(&mut self, last: u64) -> Result<(), Errno> {
        // The first thread may have ended; then the process has no mappings by its own number.
        let path = c"/proc/thread-self/maps";
        let file = rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        while self.length < MOST {
            // SAFETY: the memory has `MOST` bytes, nobody else has it, and zeros are valid.
            let rest = unsafe {
                core::slice::from_raw_parts_mut(self.memory.wrapping_add(self.length), MOST - self.length)
            };
            let count = match rustix::io::read(&file, &mut *rest) {
                Ok(0) => break,
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            };
            let fresh = rest.get_mut(..count).unwrap_or_default();
            fresh.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = 0);
            self.length += count;
            // The kernel writes whole lines, in order of address.
            let end = self.text().len().saturating_sub(1);
            if line_before(self.text(), end).is_some_and(|line| line.end > last) {
                break;
            }
        }
        Ok(())
    }

    fn text(&self) -> &[u8] {
        if self.memory.is_null() {
            return &[];
        }
        // SAFETY: so many bytes were read into the memory, which lives as long as `self`.
        unsafe { core::slice::from_raw_parts(self.memory, self.length) }
    }

    /// The file that is mapped at an address, and its path; `None` for memory without a file, or if it is not known.
    pub(super) fn file(&self, address: u64) -> Option<(MappedFile, &[u8])> {
        let line = find(self.text(), address)?;
        if line.inode == 0 {
            return None;
        }
        let device = rustix::fs::makedev(line.major, line.minor);
        let leads_to = |path: &CStr| {
            let found = rustix::fs::statat(CWD, path, AtFlags::empty()).ok()?;
            // On file systems whose device numbers are not those of the list, inodes need not agree either.
            if found.st_ino != line.inode && found.st_dev == device {
                return None;
            }
            let nanoseconds = i128::from(found.st_mtime) * 1_000_000_000 + i128::from(found.st_mtime_nsec);
            u64::try_from(nanoseconds).ok()
        };
        let is_deleted = line.path.ends_with(DELETED);
        let modified = CStr::from_bytes_until_nul(line.rest).ok().and_then(leads_to);
        // A file may have such a name.
        let path = match modified {
            None if is_deleted => line.path.strip_suffix(DELETED).unwrap_or(line.path),
            _ => line.path,
        };
        Some((MappedFile { device, inode: line.inode, modified_ns: modified.unwrap_or(0) }, path))
    }
}

impl Drop for Mappings {
    fn drop(&mut self) {
        if !self.memory.is_null() {
            // SAFETY: mapped with this size, and nobody else has it.
            unsafe { sys::unmap(self.memory.cast(), MOST) };
        }
    }
}

/// A line of the list: `7f40-7f41 r-xp 00001000 fe:01 80   /usr/lib/libx.so`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line<'a> {
    start: u64,
    end: u64,
    major: u32,
    minor: u32,
    inode: u64,
    path: &'a [u8],
    /// The path with the zero byte that ends it, and whatever follows.
    rest: &'a [u8],
}

impl<'a> Line<'a> {
    /// The line at the beginning of `text`.
    fn parse(text: &'a [u8]) -> Option<Self> {
        let mut rest = text;
        let mut next = |end: u8| {
            let at = rest.iter().position(|byte| *byte == end)?;
            let (word, after) = rest.split_at_checked(at)?;
            rest = after.get(1..)?;
            Some(word)
        };
        let start = number(next(b'-')?, 16)?;
        let end = number(next(b' ')?, 16)?;
        let (_access, _offset) = (next(b' ')?, next(b' ')?);
        let major = number(next(b':')?, 16)?;
        let minor = number(next(b' ')?, 16)?;
        let inode = number(next(b' ')?, 10)?;
        let spaces = rest.iter().position(|byte| *byte != b' ')?;
        let rest = rest.get(spaces..)?;
        let path = rest.get(..rest.iter().position(|byte| *byte == 0)?)?;
        let [major, minor] = [u32::try_from(major).ok()?, u32::try_from(minor).ok()?];
        Some(Self { start, end, major, minor, inode, path, rest })
    }
}

/// The line that contains the byte at `at`.
fn line_before(text: &[u8], at: usize) -> Option<Line<'_>> {
    let before = text.get(..at)?;
    let start = before.iter().rposition(|byte| *byte == 0).map_or(0, |zero| zero + 1);
    Line::parse(text.get(start..)?)
}

/// The line for an address, by bisection.
fn find(text: &[u8], address: u64) -> Option<Line<'_>> {
    let mut text = text;
    while !text.is_empty() {
        let middle = text.len() / 2;
        let start = text.get(..middle)?.iter().rposition(|byte| *byte == 0).map_or(0, |zero| zero + 1);
        let line = Line::parse(text.get(start..)?)?;
        if address < line.start {
            text = text.get(..start)?;
        } else if address >= line.end {
            let end = text.get(middle..)?.iter().position(|byte| *byte == 0)?;
            text = text.get(middle + end + 1..)?;
        } else {
            return Some(line);
        }
    }
    None
}

fn number(text: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(core::str::from_utf8(text).ok()?, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    /// Check that every line of a list is found by any address in it, and no line between two.
    #[test]
    fn lines_are_found_by_their_addresses() {
        let text = b"1000-2000 r--p 00000000 fe:01 80                 /lib/x\0\
            2000-3000 rw-p 00000000 00:00 0 \0\
            5000-8000 r-xp 00001000 103:0a 18446744073709551615   /a b (deleted)\0\
            ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]\0";
        let cases = [
            (0xfff, None),
            (0x1000, Some((80, &b"/lib/x"[..]))),
            (0x1fff, Some((80, b"/lib/x"))),
            (0x2000, Some((0, b""))),
            (0x3000, None),
            (0x4fff, None),
            (0x7fff, Some((u64::MAX, b"/a b (deleted)"))),
            (0x8000, None),
            (0xffff_ffff_ff60_0000, Some((0, b"[vsyscall]"))),
        ];
        for (address, expected) in cases {
            let found = find(text, address).map(|line| (line.inode, line.path));
            assert_eq!(found, expected, "{address:x}");
        }
        let line = find(text, 0x5000).unwrap();
        assert_eq!((line.major, line.minor), (0x103, 10));
        for text in
            [&b""[..], b"\0", b"x\0", b"1000-2000", b"1000-2000 r--p 0 fe:01 z /x\0", b"1000-2000 r\0\0\0"]
        {
            assert_eq!(find(text, 0x1000), None, "{text:?}");
        }
    }

    /// Check that our own code is found in our own file whether the list is read up to it or as a whole, and that
    /// memory without a file is in none.
    #[test]
    fn own_code_is_in_our_file() {
        let code = own_code_is_in_our_file as *const () as u64;
        let path = std::env::current_exe().unwrap();
        let own = std::fs::metadata(&path).unwrap();
        for last in [code, u64::MAX] {
            let mappings = Mappings::read(last);
            let (file, found) = mappings.file(code).unwrap();
            assert_eq!(
                (file.device, file.inode, found),
                (own.dev(), own.ino(), path.as_os_str().as_encoded_bytes())
            );
            assert_eq!(file.modified_ns, own.mtime() as u64 * 1_000_000_000 + own.mtime_nsec() as u64);
            assert_eq!(mappings.file(1), None);
        }
        let memory = Box::new(1_u8);
        assert_eq!(Mappings::read(u64::MAX).file(core::ptr::from_ref(&*memory).addr() as u64), None);
    }

    /// Check that a mapped file which was removed, or whose path leads to another one, is still identified, by the
    /// path that it had.
    #[test]
    fn removed_files_are_identified() {
        let folder = std::env::temp_dir().join(format!("mappings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a file");
        std::fs::write(&path, [7; 4096]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let page = sys::map_page_of(&file.into()).unwrap();
        let inode = std::fs::metadata(&path).unwrap().ino();
        let found = |is_there: bool| {
            let mappings = Mappings::read(u64::MAX);
            let (file, name) = mappings.file(page.addr() as u64).unwrap();
            assert_eq!((file.inode, name), (inode, path.as_os_str().as_encoded_bytes()));
            assert_eq!(file.modified_ns != 0, is_there);
        };
        found(true);
        let other = folder.join("other");
        std::fs::write(&other, "other").unwrap();
        std::fs::rename(&other, &path).unwrap();
        found(false);
        std::fs::remove_dir_all(&folder).unwrap();
        found(false);
    }
}
