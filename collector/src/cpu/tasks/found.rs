//! What `/proc` says about a process at the moment: used where the kernel's records were missed.

use super::super::batch::Image;
use super::super::regions::{Regions, region_of};
use crate::proc::mapped_file::Identity;
use crate::remote_unwind::files::{FileId, Files};
use crate::remote_unwind::space::{Mapping, Space};
use capture::Region;
use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};

/// `PF_KTHREAD` in the flags of `/proc/PID/stat`.
const THREAD_OF_KERNEL: u32 = 0x0020_0000;

/// A process that was looked up. If it is gone, nothing is known of it.
pub(super) struct Found {
    /// Name of its main thread; in brackets for a kernel thread.
    pub(super) name: String,
    /// Empty if unknown, or if it may not be read.
    pub(super) executable: String,
    pub(super) is_of_kernel: bool,
    process: Option<Process>,
}

impl Found {
    pub(super) fn of(pid: u32) -> Found {
        let process = Process::new(pid.cast_signed()).ok();
        let executable = process.as_ref().and_then(|process| process.exe().ok());
        let is_of_kernel = process
            .as_ref()
            .is_some_and(|process| process.stat().is_ok_and(|stat| stat.flags & THREAD_OF_KERNEL != 0));
        let name = crate::proc::process::thread_name(pid, pid);
        Found {
            name: if is_of_kernel && !name.is_empty() { format!("[{name}]") } else { name },
            executable: executable.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default(),
            is_of_kernel,
            process,
        }
    }

    /// Whether it runs the program of an image. If either has no path, the names decide, since the name is then what
    /// is shown.
    pub(super) fn runs(&self, image: &Image) -> bool {
        let plain = |path: &str| path.trim_end_matches(" (deleted)").to_owned();
        match (self.executable.is_empty(), image.executable.is_empty()) {
            (false, false) => plain(&self.executable) == plain(&image.executable),
            // Kernel threads change their names with their work.
            _ if self.is_of_kernel => image.name.starts_with('['),
            _ => !self.name.is_empty() && self.name == image.name,
        }
    }

    /// Enters its mappings; the maps of other users' processes may be unreadable.
    pub(super) fn map(&self, space: &mut Space, regions: &mut Regions, files: &mut Files) {
        let Some(process) = &self.process else { return };
        for map in process.maps().into_iter().flatten() {
            let (start, end) = map.address;
            regions.map(start, end, region_of_map(&map));
            if map.perms.contains(MMPermissions::EXECUTE) {
                let file = file_of(&map, files);
                space.map(start, Mapping { end, offset: map.offset, file });
            }
        }
    }
}

/// The file of a mapping.
fn file_of(map: &MemoryMap, files: &mut Files) -> Option<FileId> {
    match &map.pathname {
        MMapPath::Path(path) => files.id(path.as_os_str().as_encoded_bytes(), &[], Identity::of_map(map)),
        MMapPath::Vdso => files.id(crate::proc::vdso::VDSO.as_bytes(), &[], Identity::default()),
        _ => None,
    }
}

/// The kind of memory of a mapping.
fn region_of_map(map: &MemoryMap) -> Region {
    match &map.pathname {
        MMapPath::Path(path) => region_of(path.as_os_str().as_encoded_bytes()),
        MMapPath::Heap => Region::Heap,
        MMapPath::Stack | MMapPath::TStack(_) => Region::Stack,
        MMapPath::Anonymous => Region::Anonymous,
        MMapPath::Other(name) if name.starts_with("anon:") => Region::Anonymous,
        MMapPath::Vsys(_) => Region::File,
        _ => Region::Unknown,
    }
}
