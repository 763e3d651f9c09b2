//! Copies a process's memory, a piece at a time.

use super::PAGE;
use super::areas::{self, Image};
use super::pages::Pages;
use libc::{iovec, pid_t};
use rustc_hash::FxHashMap;
use std::io;
use std::ops::Range;

/// Bytes copied at once: few enough to be searched while they are in the processor's cache.
const PIECE: usize = 1 << 20;
/// Bytes of an image that include its program headers, except in odd files.
const HEADERS: usize = 4096;

/// Copies memory of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copier(pid_t);

impl Copier {
    pub(super) fn of(pid: u32) -> Copier {
        Copier(pid.cast_signed())
    }

    /// The word at an address.
    pub(super) fn word(self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        (self.bytes(address, &mut word) == word.len()).then(|| u64::from_le_bytes(word))
    }

    /// Copies bytes up to the first that cannot be read; returns how many were copied.
    pub(super) fn bytes(self, address: u64, to: &mut [u8]) -> usize {
        let local = iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
        let remote = iovec {
            // An address in another process, which is not dereferenced here.
            iov_base: std::ptr::without_provenance_mut(address as usize),
            iov_len: to.len(),
        };
        // SAFETY: the kernel writes only to the local buffer, whose length is given.
        let copied = unsafe { libc::process_vm_readv(self.0, &raw const local, 1, &raw const remote, 1, 0) };
        usize::try_from(copied).unwrap_or(0)
    }
}

/// The memory of a stopped process.
#[derive(Debug)]
pub(super) struct Reading {
    from: Copier,
    images: FxHashMap<u64, Option<Image>>,
    pages: Pages,
    piece: Vec<u64>,
    /// Bytes that were read.
    pub(super) searched: u64,
    /// Bytes that could not be read.
    pub(super) unread: u64,
}

impl Reading {
    pub(super) fn of(pid: u32) -> io::Result<Reading> {
        // Filled so that its pages are touched before any thread is stopped.
        let piece = vec![1; PIECE / 8];
        Ok(Reading {
            from: Copier::of(pid),
            images: FxHashMap::default(),
            pages: Pages::of(pid)?,
            piece,
            searched: 0,
            unread: 0,
        })
    }

    /// The image that begins at an address; each is read once.
    pub(super) fn image(&mut self, start: u64) -> Option<Image> {
        if !self.images.contains_key(&start) {
            let image = self.read_image(start);
            self.images.insert(start, image);
        }
        self.images.get(&start)?.clone()
    }

    fn read_image(&mut self, start: u64) -> Option<Image> {
        let length = self.copy(start, HEADERS / 8);
        let beginning: Vec<u8> =
            self.piece[..length / 8].iter().flat_map(|word| word.to_le_bytes()).collect();
        areas::image(&beginning)
    }

    /// The word at an address.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        self.from.word(address)
    }

    /// Passes the words of a range to the callback, with the addresses at which they begin. The range begins and ends
    /// at words.
    pub(super) fn each(
        &mut self,
        mut range: Range<u64>,
        mut take: impl FnMut(u64, &[u64]),
    ) -> io::Result<()> {
        while !range.is_empty() {
            let (runs, end) = self.pages.present(range.clone())?;
            range.start = end;
            for run in runs {
                self.run(run, &mut take);
            }
        }
        Ok(())
    }

    fn run(&mut self, mut run: Range<u64>, take: &mut impl FnMut(u64, &[u64])) {
        while !run.is_empty() {
            let wanted = ((run.end - run.start) as usize).min(PIECE) / 8;
            let length = self.copy(run.start, wanted);
            if length == 0 {
                // This page cannot be read, but the next one may be.
                let next = ((run.start | (PAGE - 1)) + 1).min(run.end);
                self.unread += next - run.start;
                run.start = next;
                continue;
            }
            take(run.start, &self.piece[..length / 8]);
            self.searched += length as u64;
            run.start += length as u64;
        }
    }

    /// Copies so many words; returns how many bytes could be copied, in whole words.
    fn copy(&mut self, address: u64, words: usize) -> usize {
        let Some(piece) = self.piece.get_mut(..words) else { return 0 };
        // SAFETY: any bits are words.
        let bytes = unsafe { piece.align_to_mut::<u8>() }.1;
        self.from.bytes(address, bytes) & !7
    }
}
