//! Which pages of a process's memory are present. Others are untouched zeros: reading them would take time, and
//! memory for page tables.
//!
//! The kernel is asked for present ranges; if it cannot be, its list of all pages is read. Both give the same answer.

use super::PAGE;
use super::touched::Touched;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Pages that are read at once.
const MOST: u64 = 64 << 10;
/// The page is present.
const PRESENT: u64 = 1 << 63;
/// The page is swapped or being migrated.
const SWAPPED: u64 = 1 << 62;
/// A guard page, which has no memory.
const GUARD: u64 = 1 << 58;

/// The pages of a process.
#[derive(Debug)]
pub(super) struct Pages {
    file: File,
    bytes: Vec<u8>,
    touched: Option<Touched>,
}

impl Pages {
    pub(super) fn of(pid: u32) -> io::Result<Pages> {
        let pages = Pages::that_lists(pid)?;
        Ok(Pages { touched: Touched::new(&pages.file), ..pages })
    }

    /// Pages from the list alone.
    pub(super) fn that_lists(pid: u32) -> io::Result<Pages> {
        let file = File::open(format!("/proc/{pid}/pagemap"))?;
        Ok(Pages { file, bytes: vec![0; (MOST * 8) as usize], touched: None })
    }

    /// Pages of a kernel that does not report guard pages.
    #[cfg(test)]
    pub(super) fn that_know_no_guards(pid: u32) -> io::Result<Pages> {
        let mut pages = Pages::of(pid)?;
        pages.touched.iter_mut().for_each(|touched| touched.knows_guards = false);
        Ok(pages)
    }

    /// The present parts of a range, which is not empty, in order of address; and where the answer ends, which may be
    /// before the range does.
    pub(super) fn present(&mut self, range: Range<u64>) -> io::Result<(Vec<Range<u64>>, u64)> {
        let asked = self.touched.as_mut().map(|touched| touched.within(&self.file, range.clone()));
        let Some(Ok((runs, end))) = asked else { return self.listed(range) };
        let end = end.min(range.end);
        let within = |run: Range<u64>| run.start.max(range.start)..run.end.min(end);
        let runs = runs.into_iter().map(within);
        if self.touched.as_ref().is_some_and(|touched| touched.knows_guards) {
            return Ok((runs.collect(), end));
        }
        // The kernel's answer includes guard pages; the list tells them apart.
        let mut listed = Vec::new();
        for mut run in runs {
            while !run.is_empty() {
                let (some, end) = self.listed(run.clone())?;
                listed.extend(some);
                run.start = end;
            }
        }
        Ok((listed, end))
    }

    /// The same from the list of all pages.
    fn listed(&mut self, range: Range<u64>) -> io::Result<(Vec<Range<u64>>, u64)> {
        let first = range.start / PAGE;
        let count = (range.end.div_ceil(PAGE) - first).min(MOST);
        let bytes = &mut self.bytes[..(count * 8) as usize];
        self.file.read_exact_at(bytes, first * 8)?;
        let end = ((first + count) * PAGE).min(range.end);
        Ok((runs(bytes, first, &(range.start..end)), end))
    }
}

/// The present parts of a range, from the entries of its pages.
fn runs(entries: &[u8], first: u64, range: &Range<u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    let (entries, _) = entries.as_chunks();
    for (page, entry) in (first..).zip(entries) {
        let entry = u64::from_le_bytes(*entry);
        if entry & (PRESENT | SWAPPED) == 0 || entry & GUARD != 0 {
            continue;
        }
        let (start, end) = ((page * PAGE).max(range.start), ((page + 1) * PAGE).min(range.end));
        match runs.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => runs.push(start..end),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that present and swapped pages become runs, that a range may begin and end within a page, and that guard
    /// pages are left out.
    #[test]
    fn pages_become_runs() {
        let entries = [PRESENT, SWAPPED | 77, 0, PRESENT | GUARD, SWAPPED | GUARD, PRESENT | 1, 1];
        let entries: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        let range = 10 * PAGE + 16..15 * PAGE + 8;
        assert_eq!(runs(&entries, 10, &range), [10 * PAGE + 16..12 * PAGE, 15 * PAGE..15 * PAGE + 8]);
        assert_eq!(runs(&[], 10, &range), []);
        // An incomplete entry is ignored.
        assert_eq!(runs(&entries[..15], 10, &range), runs(&entries[..8], 10, &range));
    }

    /// Check that memory that was never touched is left out, and that touched memory is included.
    #[test]
    fn untouched_pages_are_left_out() {
        let mut map = memmap2::MmapMut::map_anon(100 * PAGE as usize).unwrap();
        map[7 * PAGE as usize] = 1;
        let start = map.as_ptr().addr() as u64;
        let mut pages = Pages::of(std::process::id()).unwrap();
        let (runs, end) = pages.present(start..start + 100 * PAGE).unwrap();
        let touched: u64 = runs.iter().map(|run| run.end - run.start).sum();
        assert_eq!(end, start + 100 * PAGE);
        // With a huge page it is more than one page.
        assert!(touched >= PAGE && runs.iter().any(|run| run.contains(&(start + 7 * PAGE))), "{runs:?}");
    }
}
