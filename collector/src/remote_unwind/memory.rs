//! Code of sampled processes that no file holds, as it is in their memory.
//!
//! Unwinding reads a few instructions of it: what a function without a table does until it returns, and whether a
//! return address follows a call. A page is copied once in a round of samples, since it may change at any time; that of
//! a process which has ended meanwhile is the last copy.

use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

const PAGE: u64 = 4096;

/// Most pages that are kept: 4 MiB.
const MOST: usize = 1 << 10;

/// Copies of pages, by process and address.
#[derive(Default)]
pub(crate) struct CodePages(RefCell<FxHashMap<(u32, u64), Page>>);

struct Page {
    /// When it was copied.
    round: u64,
    /// None if it could not be.
    bytes: Option<Box<[u8; PAGE as usize]>>,
}

impl CodePages {
    /// The 16 bytes at an address of a process, at most a round old.
    // Cost: a look-up; the first time in a round some microseconds.
    pub(crate) fn sixteen(&self, pid: u32, address: u64, round: u64) -> Option<[u8; 16]> {
        let mut bytes = [0; 16];
        let mut filled = 0;
        while filled < bytes.len() {
            let at = address.checked_add(filled as u64)?;
            filled += self.copy(pid, at, round, &mut bytes[filled..])?;
        }
        Some(bytes)
    }

    /// Copies bytes up to the end of their page; returns how many.
    fn copy(&self, pid: u32, address: u64, round: u64, to: &mut [u8]) -> Option<usize> {
        let (start, offset) = (address & !(PAGE - 1), (address & (PAGE - 1)) as usize);
        let mut pages = self.0.borrow_mut();
        if pages.len() >= MOST && !pages.contains_key(&(pid, start)) {
            pages.retain(|_, page| page.round == round);
            if pages.len() >= MOST {
                return None;
            }
        }
        let page = pages.entry((pid, start)).or_insert(Page { round: u64::MAX, bytes: None });
        if page.round != round {
            page.round = round;
            if let Some(bytes) = read(pid, start) {
                page.bytes = Some(bytes);
            }
        }
        let from = &page.bytes.as_ref()?[offset..];
        let length = from.len().min(to.len());
        to[..length].copy_from_slice(&from[..length]);
        Some(length)
    }
}

fn read(pid: u32, start: u64) -> Option<Box<[u8; PAGE as usize]>> {
    let mut bytes = Box::new([0; PAGE as usize]);
    File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes[..], start).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that bytes are those of the process, across pages, and a round old at most; that what cannot be read is
    /// none, and that the number of pages is bounded.
    #[test]
    fn bytes_are_those_of_the_process() {
        let mut memory = vec![7_u8; 3 * PAGE as usize];
        let address = memory.as_ptr() as u64 + PAGE;
        let end_of_page = address.next_multiple_of(PAGE);
        let (own, pages) = (std::process::id(), CodePages::default());
        for at in [address, end_of_page - 8] {
            assert_eq!(pages.sixteen(own, at, 1), Some([7; 16]));
        }
        memory.fill(8);
        assert_eq!(pages.sixteen(own, end_of_page - 8, 1), Some([7; 16]), "in the same round");
        assert_eq!(pages.sixteen(own, end_of_page - 8, 2), Some([8; 16]), "in the next one");
        assert_eq!(pages.sixteen(own, 16, 2), None);
        assert_eq!(pages.sixteen(own, u64::MAX - 3, 2), None);
        assert_eq!(pages.sixteen(0, address, 2), None, "there is no process 0");
        for page in 0..2 * MOST as u64 {
            pages.sixteen(0, page * PAGE, 3);
        }
        assert!(pages.0.borrow().len() <= MOST);
        assert_eq!(pages.sixteen(own, address, 3), None, "there is no room");
        assert_eq!(pages.sixteen(own, address, 4), Some([8; 16]));
    }

    /// Check that code of a process that has ended is what it was.
    #[test]
    fn code_of_ended_processes_is_kept() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let maps = || {
            let maps = procfs::process::Process::new(child.id().cast_signed()).unwrap().maps().unwrap();
            maps.iter().map(|map| map.address.0).next().unwrap()
        };
        let (pid, start, pages) = (child.id(), maps(), CodePages::default());
        let before = pages.sixteen(pid, start, 1);
        assert!(before.is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(pages.sixteen(pid, start, 2), before);
        assert_eq!(pages.sixteen(pid, start + PAGE, 2), None);
    }
}
