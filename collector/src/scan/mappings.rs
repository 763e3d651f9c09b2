//! A process's mappings from `/proc/PID/smaps`: besides the range of each mapping its flags, and whether any of it is
//! present.

use std::fs;
use std::io;

/// Name of the agent's library, and of its memory.
const AGENT: &str = "libsysprof_memprof_preload";
const SHARED: &str = "/memfd:sysprof-memprof";
/// Flags that only the agent's private memory has: see `map_private` in `preload/src/platform/sys.rs`.
const PRIVATE: [&str; 2] = ["dd", "rr"];
/// Flag of huge pages, whose files may lie below `/dev`.
const HUGE: &str = "ht";
/// Flags of mappings that are not memory.
const DEVICE: [&str; 2] = ["io", "pf"];

/// A mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) start: u64,
    /// The end, exclusive.
    pub(super) end: u64,
    pub(super) is_readable: bool,
    pub(super) is_writable: bool,
    pub(super) is_executable: bool,
    pub(super) is_shared: bool,
    /// Offset in its file.
    pub(super) offset: u64,
    /// The file's device and inode; 0 for none.
    pub(super) device: u64,
    pub(super) inode: u64,
    /// Empty for memory without a name.
    pub(super) path: String,
    /// At least one of its pages is private to the process, because it was written.
    pub(super) is_written: bool,
    /// At least one of its pages is present or swapped.
    pub(super) is_there: bool,
    /// It belongs to the agent.
    pub(super) is_own: bool,
    pub(super) is_device: bool,
}

impl Mapping {
    /// The mappings of a process, in order of address.
    pub(super) fn all(pid: u32) -> io::Result<Vec<Mapping>> {
        Ok(parse(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/smaps"))?)))
    }

    /// Identifies its file.
    pub(super) fn file(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// True for musl. Its library is also its loader, and has the loader's name unless another C library is the
    /// system's.
    pub(super) fn is_musl(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.starts_with("ld-musl-") || self.path.ends_with("-linux-musl/libc.so")
    }

    /// True for a private mapping of a file.
    pub(super) fn is_private_file(&self) -> bool {
        !self.is_shared && self.inode != 0 && !self.is_anonymous()
    }

    /// True for private memory without a file.
    pub(super) fn is_anonymous(&self) -> bool {
        let path = self.path.as_str();
        let has_no_file = path.is_empty() || path.starts_with("[anon:") || path.starts_with("/anon_hugepage");
        !self.is_shared && has_no_file
    }
}

/// Each mapping is a line `start-end access offset device inode path`, followed by lines `Name: value`.
pub(super) fn parse(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        match (line.split_once(": "), mappings.last_mut()) {
            // Paths have colons, too, but their lines begin with a number.
            (Some((name, value)), Some(last))
                if name.starts_with(|letter: char| letter.is_ascii_uppercase()) =>
            {
                let value = value.trim();
                match name {
                    "Rss" | "Swap" | "Private_Hugetlb" | "Shared_Hugetlb" => last.is_there |= value != "0 kB",
                    "Anonymous" => last.is_written |= value != "0 kB",
                    "VmFlags" => {
                        let has = |flag: &str| value.split(' ').any(|word| word == flag);
                        last.is_own |= last.is_anonymous() && PRIVATE.into_iter().all(has);
                        last.is_device = (last.is_device && !has(HUGE)) || DEVICE.into_iter().any(has);
                    }
                    _ => {}
                }
            }
            _ => mappings.extend(mapping(line)),
        }
    }
    mappings
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let access = words.next()?;
    let offset = number(words.next()?)?;
    let (major, minor) = words.next()?.split_once(':')?;
    let inode = words.next()?.parse().ok()?;
    let path = words.next().unwrap_or_default().trim_start().to_owned();
    let name = path.rsplit('/').next().unwrap_or_default();
    let has = |letter: char| access.contains(letter);
    Some(Mapping {
        start: number(start)?,
        end: number(end)?,
        is_readable: has('r'),
        is_writable: has('w'),
        is_executable: has('x'),
        is_shared: has('s'),
        offset,
        device: number(major)? << 32 | number(minor)?,
        inode,
        is_own: path.starts_with(SHARED) || name.starts_with(AGENT),
        is_device: path.starts_with("/dev/")
            && !path.starts_with("/dev/shm/")
            && !path.starts_with("/dev/zero"),
        is_written: false,
        is_there: false,
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that ranges, files and flags are read, and that odd lines are skipped.
    #[test]
    fn mappings_are_read() {
        let text = "\
55d0-55e0 rw-p 00002000 fe:00 326389                     /usr/lib/a: b.so (deleted)
Size:                 16 kB
Rss:                   4 kB
VmFlags: rd wr mr mw me ac sd
7f00-7f10 rw-p 00000000 00:00 0
Rss:                   0 kB
Swap:                  0 kB
VmFlags: rd wr mr mw me dd nh rr
7f20-7f30 rw-s 00000000 00:01 80                         /memfd:sysprof-memprof (deleted)
7f30-7f40 rw-s 00000000 00:06 81                         /dev/nvidia0
what is this
Odd: 1";
        let mappings = parse(text);
        let file = Mapping {
            start: 0x55d0,
            end: 0x55e0,
            is_readable: true,
            is_writable: true,
            offset: 0x2000,
            device: 0xfe << 32,
            inode: 326389,
            path: "/usr/lib/a: b.so (deleted)".into(),
            is_there: true,
            ..Mapping::default()
        };
        assert_eq!(mappings[0], file);
        let own: Vec<bool> = mappings.iter().map(|mapping| mapping.is_own).collect();
        assert_eq!(own, [false, true, true, false]);
        assert!(!mappings[1].is_there && mappings[1].is_anonymous() && mappings[3].is_device);
    }

    /// Check that our own mappings are as expected.
    #[test]
    fn own_mappings_are_found() {
        let here = 0u64;
        let address = (&raw const here).addr() as u64;
        let mappings = Mapping::all(std::process::id()).unwrap();
        let mapping =
            mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&address)).unwrap();
        assert!(mapping.is_writable && mapping.is_there && !mapping.is_own && !mapping.is_device);
    }
}
