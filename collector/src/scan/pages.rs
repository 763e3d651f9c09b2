//! Which pages of a process' memory there are. Others are zeros that nobody has touched: to read them would take time, and memory
//! for the tables of pages.
//!
//! The kernel is asked for them, or, where it cannot be, its list of all pages is read. Both give the same answer.

use super::touched::Touched;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;
/// Pages that are asked about at once.
const MOST: u64 = 64 << 10;
/// The page is there.
const PRESENT: u64 = 1 << 63;
/// It is swapped, or moved just now.
const SWAPPED: u64 = 1 << 62;
/// It is there to be no memory: a stack's end.
const GUARD: u64 = 1 << 58;

/// A process' pages.
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

    /// Those that only the list tells of.
    pub(super) fn that_lists(pid: u32) -> io::Result<Pages> {
        let file = File::open(format!("/proc/{pid}/pagemap"))?;
        Ok(Pages { file, bytes: vec![0; (MOST * 8) as usize], touched: None })
    }

    /// Those of a kernel that does not tell what is there to be no memory.
    #[cfg(test)]
    pub(super) fn that_know_no_guards(pid: u32) -> io::Result<Pages> {
        let mut pages = Pages::of(pid)?;
        pages.touched.iter_mut().for_each(|touched| touched.knows_guards = false);
        Ok(pages)
    }

    /// The parts of a range, which is not empty, that are there, by address; and where the answer ends, if that is before the range does.
    pub(super) fn present(&mut self, range: Range<u64>) -> io::Result<(Vec<Range<u64>>, u64)> {
        let asked = self.touched.as_mut().map(|touched| touched.within(&self.file, range.clone()));
        let Some(Ok((runs, end))) = asked else { return self.listed(range) };
        let end = end.min(range.end);
        let within = |run: Range<u64>| run.start.max(range.start)..run.end.min(end);
        let runs = runs.into_iter().map(within);
        if self.touched.as_ref().is_some_and(|touched| touched.knows_guards) {
            return Ok((runs.collect(), end));
        }
        // What is there to be no memory is among them, and the list knows it.
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

    /// The same as the list has it.
    fn listed(&mut self, range: Range<u64>) -> io::Result<(Vec<Range<u64>>, u64)> {
        let first = range.start / PAGE;
        let count = (range.end.div_ceil(PAGE) - first).min(MOST);
        let bytes = &mut self.bytes[..(count * 8) as usize];
        self.file.read_exact_at(bytes, first * 8)?;
        let end = ((first + count) * PAGE).min(range.end);
        Ok((runs(bytes, first, &(range.start..end)), end))
    }
}

/// The parts of a range that are there, by the entries of its pages.
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

    /// Check that present and swapped pages become runs, that a range may begin and end within a page, and that ends of stacks are none.
    #[test]
    fn pages_become_runs() {
        let entries = [PRESENT, SWAPPED | 77, 0, PRESENT | GUARD, SWAPPED | GUARD, PRESENT | 1, 1];
        let entries: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        let range = 10 * PAGE + 16..15 * PAGE + 8;
        assert_eq!(runs(&entries, 10, &range), [10 * PAGE + 16..12 * PAGE, 15 * PAGE..15 * PAGE + 8]);
        assert_eq!(runs(&[], 10, &range), []);
        // The rest of an entry is none.
        assert_eq!(runs(&entries[..15], 10, &range), runs(&entries[..8], 10, &range));
    }

    /// Check that memory which nobody has touched is not there, and what was touched is.
    #[test]
    fn untouched_pages_are_left_out() {
        let mut map = memmap2::MmapMut::map_anon(100 * PAGE as usize).unwrap();
        map[7 * PAGE as usize] = 1;
        let start = map.as_ptr().addr() as u64;
        let mut pages = Pages::of(std::process::id()).unwrap();
        let (runs, end) = pages.present(start..start + 100 * PAGE).unwrap();
        let touched: u64 = runs.iter().map(|run| run.end - run.start).sum();
        assert_eq!(end, start + 100 * PAGE);
        // A huge page holds more.
        assert!(touched >= PAGE && runs.iter().any(|run| run.contains(&(start + 7 * PAGE))), "{runs:?}");
    }
}
