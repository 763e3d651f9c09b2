//! The files in which a process' JIT compilers report their functions.
//!
//! Perf maps lie in `/tmp`, where anybody can create a file of any name. One counts if it is a regular file, not
//! reached by a symbolic link, belongs to the owner of the process, to root or to us, and was written since the
//! process began: pids are reused, and maps stay behind.

use super::JitCode;
use crate::reason::Reason;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{BufReader, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longest map that is read, and longest log or several together. Logs are read whole.
const LONGEST_MAP: u64 = 512 << 20;
const LONGEST_DUMPS: u64 = 1 << 30;
/// Logs are read in such pieces; no compiler writes that many zeros.
const PIECE: u64 = 1 << 20;
/// Tolerance: file times are those of the kernel's last tick, and the start of a process is rounded.
const LATE_NS: i128 = 1_000_000_000;

/// The files of one process.
#[derive(Debug)]
pub struct JitFiles {
    /// `/tmp/perf-PID.map`, as we reach it.
    pub perf_map: PathBuf,
    /// Logs in the jitdump format, as we reach them.
    pub dumps: Vec<PathBuf>,
    /// User id of the process' owner.
    pub owner: u32,
    /// When it began, nanoseconds since the Unix epoch; 0 where that is not known.
    pub started_unix_ns: u64,
}

impl JitFiles {
    /// Reads the files. An empty result means that no function was reported.
    ///
    /// # Errors
    /// Why the existing map was not read, when there is nothing else.
    pub fn read(&self) -> Result<JitCode, Reason> {
        self.read_within(LONGEST_MAP, LONGEST_DUMPS)
    }

    fn read_within(&self, longest_map: u64, longest_dumps: u64) -> Result<JitCode, Reason> {
        let map = self.open(&self.perf_map);
        let mut left = longest_dumps;
        let dumps = self.dumps.iter().filter_map(|dump| {
            let dump = log(self.open(dump).ok()?, left).ok()?;
            left -= dump.len() as u64;
            Some(dump)
        });
        let dumps: Vec<Vec<u8>> = dumps.collect();
        if let (Err(reason), true) = (&map, dumps.is_empty()) {
            return match reason {
                Reason::FileMissing => Ok(JitCode::default()),
                reason => Err(*reason),
            };
        }
        let dumps = dumps.iter().map(Vec::as_slice);
        Ok(match map {
            Ok(map) => JitCode::read(&mut BufReader::new(map.take(longest_map)), dumps),
            Err(_) => JitCode::parse(&[], dumps),
        })
    }

    fn open(&self, path: &Path) -> Result<File, Reason> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        self.check(&file.metadata()?)?;
        Ok(file)
    }

    fn check(&self, file: &Metadata) -> Result<(), Reason> {
        // The owner of our own /proc entry is our effective user.
        let own = std::fs::metadata("/proc/self").map_or(self.owner, |own| own.uid());
        if !file.is_file() || ![0, own, self.owner].contains(&file.uid()) {
            return Err(Reason::PermissionDenied);
        }
        let written = i128::from(file.mtime()) * 1_000_000_000 + i128::from(file.mtime_nsec());
        let is_of_before = written + LATE_NS < i128::from(self.started_unix_ns);
        if is_of_before { Err(Reason::FileReplaced) } else { Ok(()) }
    }
}

/// A log as far as something was written to it: a piece of zeros is a hole, behind which no record is found any more.
fn log(file: File, longest: u64) -> Result<Vec<u8>, Reason> {
    let (mut file, mut bytes) = (file.take(longest), Vec::new());
    loop {
        let before = bytes.len();
        file.by_ref().take(PIECE).read_to_end(&mut bytes)?;
        let is_hole = bytes[before..].iter().all(|byte| *byte == 0);
        if is_hole {
            bytes.truncate(before);
            return Ok(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    fn files(perf_map: &Path, started_unix_ns: u64) -> JitFiles {
        JitFiles { perf_map: perf_map.to_owned(), dumps: Vec::new(), owner: 0, started_unix_ns }
    }

    /// Check that all logs together, however many, are read only up to the limit of one.
    #[test]
    fn logs_have_one_limit() {
        let folder = tempfile::tempdir().unwrap();
        let dump = |number: u64| {
            // A header, and a function of eight bytes at its number.
            let words = [40, 0, 0, 0, 60 << 32, 0, 0, 0, 16 * number, 8, number];
            let bytes = words.iter().flat_map(|word: &u64| word.to_ne_bytes());
            let magic = [0x4A69_5444_u32, 1].map(u32::to_ne_bytes).concat();
            let log: Vec<u8> = magic.into_iter().chain(bytes).chain(*b"f\0xx").collect();
            let path = folder.path().join(format!("jit-{number}.dump"));
            std::fs::write(&path, log).unwrap();
            path
        };
        let files = JitFiles { dumps: (1..=5).map(dump).collect(), ..files(&folder.path().join("none"), 0) };
        let found = |longest| {
            let code = files.read_within(0, longest).unwrap();
            (1..=5).filter(|number| code.lookup(16 * number, false).function().is_some()).count()
        };
        assert_eq!([found(u64::MAX), found(300), found(295), found(0)], [5, 3, 2, 0]);
    }

    /// Check that the hole of a sparse map is passed over, and what follows it is read, and that a log is read up to its
    /// hole only.
    #[test]
    fn holes_hold_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let map = folder.path().join("perf-1.map");
        let mut file = File::create(&map).unwrap();
        file.write_all(b"10 8 f\n").unwrap();
        file.seek(SeekFrom::Start(64 << 20)).unwrap();
        file.write_all(b"20 8 g\n").unwrap();
        let code = files(&map, 0).read().unwrap();
        let is_told = |address| code.lookup(address, false).function().is_some();
        assert_eq!([0x10, 0x18, 0x20].map(is_told), [true, false, true]);
        file.set_len(1 << 40).unwrap();
        let read = log(File::open(&map).unwrap(), LONGEST_DUMPS).unwrap();
        assert_eq!((read.len(), &read[..7]), (1 << 20, &b"10 8 f\n"[..]));
    }

    /// Check that a map of the process is read, and that one of an earlier process with its pid, a link, a folder and
    /// a missing one are not.
    #[test]
    fn only_the_process_own_map_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let map = folder.path().join("perf-1.map");
        std::fs::write(&map, "10 8 f\n").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&map, &link).unwrap();
        let written = std::fs::metadata(&map).unwrap().mtime() as u64 * 1_000_000_000;
        let read = |path: &Path, started| files(path, started).read().map(|code| !code.is_empty());
        assert_eq!(read(&map, 0), Ok(true));
        assert_eq!(read(&map, written), Ok(true));
        assert_eq!(read(&map, written + 10_000_000_000), Err(Reason::FileReplaced));
        assert_eq!(read(&link, 0), Err(Reason::FileUnreadable));
        assert_eq!(read(folder.path(), 0), Err(Reason::PermissionDenied));
        assert_eq!(read(&folder.path().join("none"), 0), Ok(false));
    }
}
