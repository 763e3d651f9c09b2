//! The two memfds of an image, sealed and mapped.

use crate::proc::process::MemoryId;
use memmap2::{MmapOptions, MmapRaw};
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use shared_ring::control::MAGIC;
use shared_ring::{Control, Geometry, Segment};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

/// The libc crate has it only for other platforms.
const F_SETSIG: libc::c_int = 10;

/// What agents are told about the recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// Wait on a full ring.
    pub(crate) block: bool,
    /// Longest wait on a full ring.
    pub(crate) max_wait_ms: u32,
    /// Most frames of a stack.
    pub(crate) max_depth: u32,
    /// Mean distance of samples in bytes, 0: everything is recorded.
    pub(crate) sample_interval: u64,
    /// Forked children and executed programs are recorded.
    pub(crate) follow: bool,
    /// Timestamps come from the time stamp counter.
    pub(crate) tsc: bool,
    /// Processes record nothing until they ask to.
    pub(crate) paused: bool,
    /// Exiting processes wait until their memory is scanned.
    pub(crate) scan_at_exit: bool,
    /// Frees are recorded with their stacks.
    pub(crate) free_stacks: bool,
    /// Frames of interpreters are read.
    pub(crate) interpreters: bool,
}

impl Default for Policy {
    /// Records everything; hooks wait only briefly.
    fn default() -> Policy {
        Policy {
            block: true,
            max_wait_ms: 10,
            max_depth: 10,
            sample_interval: 0,
            follow: true,
            tsc: true,
            paused: false,
            scan_at_exit: false,
            free_stacks: false,
            interpreters: true,
        }
    }
}

/// Mapped memory of one image. Views of it are valid as long as this lives.
#[derive(Debug)]
pub(crate) struct Memory {
    segment: MmapRaw,
    control: MmapRaw,
    geometry: Geometry,
    /// Our own open file description of the segment, counted in [`Memory::is_orphaned`].
    segment_fd: OwnedFd,
    /// The agent's open file description of the segment, until it is sent.
    agent_fd: Option<OwnedFd>,
    /// The control memory's descriptor, until it is sent.
    control_fd: Option<OwnedFd>,
}

impl Memory {
    /// Makes and maps the memory of an image. `owner` is the thread id for the robust futex.
    pub(crate) fn new(geometry: Geometry, policy: Policy, owner: u32) -> io::Result<Memory> {
        let layout = geometry.layout();
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let segment_fd = reopen(&memfd_create("sysprof-memprof", flags)?)?;
        ftruncate(&segment_fd, layout.length as u64)?;
        let segment = MmapOptions::new().len(layout.length).no_reserve_swap().map_raw(&segment_fd)?;
        fcntl_add_seals(&segment_fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;

        let control_fd = memfd_create("sysprof-memprof-control", flags)?;
        ftruncate(&control_fd, layout.control_length as u64)?;
        let control = MmapOptions::new().len(layout.control_length).map_raw(&control_fd)?;
        // Our writable mapping stays; no other writable one can be made from now on.
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
        fcntl_add_seals(&control_fd, seals)?;

        let agent_fd = Some(reopen(&segment_fd)?);
        let memory =
            Memory { segment, control, geometry, segment_fd, agent_fd, control_fd: Some(control_fd) };
        memory.segment().initialize();
        let header = memory.control().header();
        header.block.store(u32::from(policy.block), Ordering::Relaxed);
        header.max_wait_ms.store(policy.max_wait_ms, Ordering::Relaxed);
        header.max_depth.store(policy.max_depth, Ordering::Relaxed);
        header.sample_interval.store(policy.sample_interval, Ordering::Relaxed);
        header.follow.store(u32::from(policy.follow), Ordering::Relaxed);
        header.tsc.store(u32::from(policy.tsc), Ordering::Relaxed);
        header.paused.store(u32::from(policy.paused), Ordering::Relaxed);
        header.scan_at_exit.store(u32::from(policy.scan_at_exit), Ordering::Relaxed);
        header.free_stacks.store(u32::from(policy.free_stacks), Ordering::Relaxed);
        header.no_interpreters.store(u32::from(!policy.interpreters), Ordering::Relaxed);
        header.owner.store(owner, Ordering::Relaxed);
        header.recording.store(1, Ordering::Relaxed);
        // Release: whoever sees the magic sees the rest; the handshake orders it anyway.
        header.magic.store(MAGIC, Ordering::Release);
        Ok(memory)
    }

    /// The view of the segment.
    pub(crate) fn segment(&self) -> Segment {
        // SAFETY: mapped with the geometry's length; views do not leave the image that owns this memory.
        unsafe { Segment::new(self.segment.as_mut_ptr(), self.geometry) }
    }

    /// The view of the control words.
    pub(crate) fn control(&self) -> Control {
        // SAFETY: as above.
        unsafe { Control::new(self.control.as_mut_ptr(), self.geometry) }
    }

    /// Sizes.
    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Descriptors for the agent: segment, control. They can be taken once, and must be closed when sent.
    pub(crate) fn take_descriptors(&mut self) -> Option<[OwnedFd; 2]> {
        Some([self.agent_fd.take()?, self.control_fd.take()?])
    }

    /// True when nobody but us has the segment mapped or open: no process can ever write into it again.
    ///
    /// The kernel grants a write lease only on a file that nobody else has open. Agents map another open file
    /// description than ours; it lives as long as their mapping and those of the children they forked.
    pub(crate) fn is_orphaned(&self) -> bool {
        // Anybody who opens the file meanwhile, as through `/proc`, breaks the lease, and the kernel signals us. Ask
        // for SIGURG, which is ignored by default, instead of SIGIO, which kills. The setting is lost with each
        // lease.
        self.control_lease(F_SETSIG, libc::SIGURG);
        let granted = self.control_lease(libc::F_SETLEASE, libc::F_WRLCK);
        if granted {
            self.control_lease(libc::F_SETLEASE, libc::F_UNLCK);
        }
        granted
    }

    fn control_lease(&self, what: libc::c_int, value: libc::c_int) -> bool {
        // SAFETY: only changes leases on our own descriptor, and the signal they send.
        unsafe { libc::fcntl(self.segment_fd.as_raw_fd(), what, value) == 0 }
    }

    /// Device and inode of the segment.
    pub(crate) fn id(&self) -> io::Result<MemoryId> {
        let stat = rustix::fs::fstat(&self.segment_fd)?;
        Ok(MemoryId { device: stat.st_dev, inode: stat.st_ino })
    }

    /// Bytes of memory that the segment occupies.
    pub(crate) fn used(&self) -> u64 {
        rustix::fs::fstat(&self.segment_fd).map_or(0, |stat| stat.st_blocks.unsigned_abs() * 512)
    }

    /// Gives the pages of a ring back to the system; its words read as zero afterwards.
    pub(crate) fn punch_ring(&self, ring: usize) {
        let bytes = (self.geometry.ring_length() * 8) as u64;
        let offset = self.geometry.layout().rings.offset as u64 + ring as u64 * bytes;
        let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        // On failure the pages stay until the image ends.
        let _ = rustix::fs::fallocate(&self.segment_fd, flags, offset, bytes);
    }
}

impl Drop for Memory {
    /// Gives all pages of the segment back, if a process keeps it mapped after its recording.
    fn drop(&mut self) {
        if self.is_orphaned() {
            return;
        }
        let bytes = self.geometry.layout().length as u64;
        let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        let _ = rustix::fs::fallocate(&self.segment_fd, flags, 0, bytes);
    }
}

/// A new open file description of the same file, through `/proc/self/fd`.
fn reopen(descriptor: &OwnedFd) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    Ok(std::fs::OpenOptions::new().read(true).write(true).open(path)?.into())
}

/// The low half of a position, as a word that a futex can wait on.
pub(crate) fn low_half(word: &std::sync::atomic::AtomicU64) -> &std::sync::atomic::AtomicU32 {
    // SAFETY: an AtomicU64 is at least as large and aligned as an AtomicU32, and its first half is the low one on a
    // little-endian machine.
    unsafe { &*std::ptr::from_ref(word).cast() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::is_alone;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    /// Check that opening the memory through `/proc` just while we test for other users does not kill the collector.
    #[test]
    fn nobody_ends_us_by_looking() {
        // A failure would kill the process.
        if !is_alone("image::memory::tests::nobody_ends_us_by_looking") {
            return;
        }
        let geometry = Geometry { rings: 2, ring_words: 9, nodes: 10, pcs: 10, slots: 2, module_bytes: 14 };
        let mut memory = Memory::new(geometry, Policy::default(), 1).unwrap();
        drop(memory.take_descriptors());
        let is_over = AtomicBool::new(false);
        let mut orphaned = 0;
        let path = format!("/proc/self/fd/{}", memory.segment_fd.as_raw_fd());
        std::thread::scope(|scope| {
            let opens = || {
                while !is_over.load(Ordering::Relaxed) {
                    drop(std::fs::File::open(&path));
                }
            };
            scope.spawn(opens);
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(1) {
                orphaned += u64::from(memory.is_orphaned());
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(orphaned > 0);
    }
}
