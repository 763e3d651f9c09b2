//! Asks the kernel for the present ranges of a process's memory, if it supports that (Linux 6.7).
//!
//! Memory that was never touched costs nothing then, however large it is, because it has no page tables. The list of
//! all pages has an entry for each of them, a quarter of a billion for a terabyte.

use super::PAGE;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// Most ranges in one answer.
const MOST: usize = 4096;
/// `PAGEMAP_SCAN`.
const SCAN: libc::Ioctl = 0xc060_6610;
/// Page categories: present; swapped or being migrated; guard page.
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;
const GUARD: u64 = 1 << 8;

/// A range in the answer: `struct page_region`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Region {
    start: u64,
    end: u64,
    kinds: u64,
}

/// The request: `struct pm_scan_arg`.
#[repr(C)]
#[derive(Debug, Default)]
struct Question {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    /// Where it stopped, approximately.
    stopped: u64,
    regions: u64,
    most_regions: u64,
    most_pages: u64,
    /// Categories whose test is inverted, …
    inverted: u64,
    /// … categories that must all be set, or clear if inverted, …
    all_of: u64,
    /// … and categories of which one must be set.
    any_of: u64,
    told: u64,
}

const _: () = assert!(size_of::<Region>() == 24 && size_of::<Question>() == 96);

/// Queries the ranges of one process.
#[derive(Debug)]
pub(super) struct Touched {
    regions: Vec<Region>,
    /// The kernel can tell guard pages from present memory; otherwise they are reported as present.
    pub(super) knows_guards: bool,
}

impl Touched {
    /// `None` if the kernel does not support the query. The file is a process's `pagemap`.
    pub(super) fn new(pagemap: &File) -> Option<Touched> {
        let mut touched = Touched { regions: vec![Region::default(); MOST], knows_guards: true };
        if touched.ask(pagemap, 0..0).is_err() {
            touched.knows_guards = false;
            touched.ask(pagemap, 0..0).ok()?;
        }
        Some(touched)
    }

    /// The present parts of a range, in order of address and in whole pages; and where the answer ends.
    pub(super) fn within(&mut self, pagemap: &File, range: Range<u64>) -> io::Result<(Vec<Range<u64>>, u64)> {
        let range = range.start & !(PAGE - 1)..range.end.next_multiple_of(PAGE);
        let count = self.ask(pagemap, range.clone())?;
        let told = self.regions.get(..count).unwrap_or_default();
        // If the buffer is full, there may be more after its last range. The end that the kernel reports may lie
        // before that.
        let end = if count < MOST { range.end } else { told.last().map_or(range.end, |last| last.end) };
        if end <= range.start {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut runs: Vec<Range<u64>> = Vec::new();
        for &Region { start, end, .. } in told {
            match runs.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => runs.push(start..end),
            }
        }
        Ok((runs, end))
    }

    /// Returns the number of ranges.
    fn ask(&mut self, pagemap: &File, range: Range<u64>) -> io::Result<usize> {
        let guards = if self.knows_guards { GUARD } else { 0 };
        let mut question = Question {
            size: size_of::<Question>() as u64,
            start: range.start,
            end: range.end,
            regions: self.regions.as_mut_ptr().expose_provenance() as u64,
            most_regions: MOST as u64,
            inverted: guards,
            all_of: guards,
            any_of: PRESENT | SWAPPED,
            told: PRESENT,
            ..Question::default()
        };
        // SAFETY: the kernel writes only to the request, and at most as many regions as the buffer holds; any bits
        // are valid regions.
        let told = unsafe { libc::ioctl(pagemap.as_raw_fd(), SCAN, &raw mut question) };
        let told = usize::try_from(told).map_err(|_| io::Error::last_os_error())?;
        Ok(told.min(MOST))
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::Pages;
    use super::*;
    use memmap2::{Advice, MmapMut, MmapOptions};
    use std::io::Write;

    /// Bytes of most of the mappings.
    const SIZE: usize = 8 << 20;
    const MADV_GUARD_INSTALL: i32 = 102;

    fn anonymous(bytes: usize) -> MmapMut {
        MmapOptions::new().len(bytes).no_reserve_swap().map_anon().unwrap()
    }

    /// A mapping whose pages were touched as `is_touched` says.
    fn touched(is_touched: impl Fn(usize) -> bool) -> MmapMut {
        let mut map = anonymous(SIZE);
        let pages = (0..SIZE / PAGE as usize).filter(|page| is_touched(*page));
        pages.for_each(|page| map[page * PAGE as usize + page % 4096] = 1);
        map
    }

    /// All runs of a range, by either method.
    fn all(pages: &mut Pages, mut range: Range<u64>) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        while !range.is_empty() {
            let (some, end) = pages.present(range.clone()).unwrap();
            for run in some {
                match runs.last_mut() {
                    Some(last) if last.end == run.start => last.end = run.end,
                    _ => runs.push(run),
                }
            }
            assert!(end > range.start);
            range.start = end;
        }
        runs
    }

    /// Check that the kernel's answer agrees with the list of all pages, for all kinds of memory, even if the range
    /// begins or ends within a page; and that it includes whatever was touched.
    #[test]
    fn answer_is_that_of_the_list() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; SIZE]).unwrap();
        // SAFETY: nobody else has the file.
        let mut of_file = unsafe { MmapOptions::new().map_copy(&file).unwrap() };
        let read: u64 = (0..SIZE / 4).step_by(9 * PAGE as usize).map(|at| u64::from(of_file[at])).sum();
        (SIZE / 2..SIZE).step_by(3 * PAGE as usize).for_each(|at| of_file[at] = 1);
        // SAFETY: as above.
        let shared = unsafe { MmapOptions::new().map_mut(&file).unwrap() };
        let only_read = anonymous(SIZE);
        let zero: u64 = (0..SIZE).step_by(5 * PAGE as usize).map(|at| u64::from(only_read[at])).sum();
        assert!(read > 0 && zero == 0 && shared[5] == 7);
        let mut huge = anonymous(SIZE);
        // Without huge pages in the kernel it is ordinary memory.
        let _ = huge.advise(Advice::HugePage);
        huge[SIZE / 2] = 1;
        huge[SIZE / 2 + 4096 * 100] = 1;
        let mut swapped = touched(|page| page < 1000);
        let out = swapped.as_mut_ptr().cast();
        // Without swap the pages stay. SAFETY: the contents do not change.
        let _ = unsafe { libc::madvise(out, SIZE / 4, libc::MADV_PAGEOUT) };
        let mut guarded = touched(|page| page < 600);
        let guards = guarded.as_mut_ptr().wrapping_add(100 * PAGE as usize).cast();
        // SAFETY: our own memory, which nothing else uses.
        let _ = unsafe { libc::madvise(guards, 50 * PAGE as usize, MADV_GUARD_INSTALL) };
        let mut sparse = anonymous(1 << 36);
        (0..100).for_each(|place: usize| sparse[place * 0x2345_6000 + 77] = 1);
        let maps: [(&str, &[u8]); 10] = [
            ("never touched", &anonymous(SIZE)),
            ("touched", &touched(|_| true)),
            ("every other", &touched(|page| page % 2 == 0)),
            ("here and there", &touched(|page| page * page % 7 == 1)),
            ("private of a file", &of_file),
            ("shared of a file", &shared),
            ("only read", &only_read),
            ("huge", &huge),
            ("swapped", &swapped),
            ("guarded", &guarded),
        ];
        let mut asked = Pages::of(std::process::id()).unwrap();
        let mut older = Pages::that_know_no_guards(std::process::id()).unwrap();
        let mut listed = Pages::that_lists(std::process::id()).unwrap();
        for (name, map) in maps {
            let (start, end) = (map.as_ptr().addr() as u64, map.as_ptr().addr() as u64 + map.len() as u64);
            for range in [
                start..end,
                start + 8..end - 8,
                start + 5 * PAGE + 16..start + 7 * PAGE + 8,
                start..start + 8,
            ] {
                let expected = all(&mut listed, range.clone());
                assert_eq!(all(&mut asked, range.clone()), expected, "{name}");
                assert_eq!(all(&mut older, range), expected, "{name}, guards unknown");
            }
        }
        let start = sparse.as_ptr().addr() as u64;
        let found = all(&mut asked, start..start + (1 << 36));
        for place in 0..100 {
            let touched = start + place * 0x2345_6000 + 77;
            assert!(found.iter().any(|run| run.contains(&touched)), "{place}");
        }
        let length: u64 = found.iter().map(|run| run.end - run.start).sum();
        assert!(length <= 100 << 21, "at most a huge page each: {length}");
    }

    /// Check that an answer too long for the buffer is given in parts.
    #[test]
    fn long_answers_come_in_parts() {
        let mut map = anonymous(4 * MOST * PAGE as usize);
        let _ = map.advise(Advice::NoHugePage);
        (0..2 * MOST).for_each(|page| map[2 * page * PAGE as usize] = 1);
        let (start, end) = (map.as_ptr().addr() as u64, map.as_ptr().addr() as u64 + map.len() as u64);
        let runs = all(&mut Pages::of(std::process::id()).unwrap(), start..end);
        assert_eq!(runs.len(), 2 * MOST);
        assert!(runs.iter().all(|run| run.end - run.start == PAGE));
    }
}
