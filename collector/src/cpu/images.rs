//! Finds the image of each process that an agent reported.

use super::batch::Image;
use crate::base::clock::Clock;
use capture::Process;
use rustc_hash::FxHashMap;

/// All images, indexed by pid: there are as many images as processes, so a search through all of them for each
/// process would not do.
pub(super) struct Images<'a> {
    /// Images with their numbers, by pid, in the order in which they were reported.
    of_pid: FxHashMap<u32, Vec<(u32, &'a Image)>>,
}

impl<'a> Images<'a> {
    /// Indexes these images, in the order in which they were reported.
    pub(super) fn of(images: impl Iterator<Item = (u32, &'a Image)>) -> Images<'a> {
        let mut of_pid: FxHashMap<u32, Vec<(u32, &Image)>> = FxHashMap::default();
        for (id, image) in images {
            of_pid.entry(image.pid).or_default().push((id, image));
        }
        Images { of_pid }
    }

    /// The number of the image that a recorded process is: the last one of its pid that began in the same way and had
    /// begun when the agent connected, or that ran before the recording. If two follow each other at once, the one
    /// with the process's name.
    pub(super) fn of_process(&self, process: &Process, started: u64, clock: &Clock) -> Option<u32> {
        let of_pid = self.of_pid.get(&process.pid)?.iter().rev().copied();
        let mut candidates = of_pid.filter(|(_, image)| {
            (image.started == 0 || image.is_unannounced || image.is_exec != process.forked)
                && clock.nanoseconds_of(image.started) <= started
        });
        // The kernel keeps 15 bytes of a name.
        let is_named = |(_, image): &(u32, &Image)| {
            let program = image.executable.rsplit('/').next().unwrap_or("");
            program == process.name || (!image.name.is_empty() && process.name.starts_with(&image.name))
        };
        let last = candidates.next()?;
        let named = if is_named(&last) { Some(last) } else { candidates.find(is_named) };
        Some(named.unwrap_or(last).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(pid: u32, name: &str, is_exec: bool, started: u64) -> Image {
        Image { pid, name: name.to_owned(), is_exec, started, ..Image::default() }
    }

    fn process(pid: u32, name: &str, forked: bool) -> Process {
        Process { pid, name: name.to_owned(), forked, ..Process::default() }
    }

    /// Check that a process is the last image of its pid that began as it did and no later; that an image with its
    /// name comes before others; and that there may be none.
    #[test]
    fn processes_find_their_images() {
        let clock = Clock::start();
        let at = |seconds: u64| clock.ticks() + seconds * 10_000_000_000;
        let images = [
            image(7, "sh", false, at(1)),
            image(8, "cc", true, at(1)),
            image(7, "cc", true, at(2)),
            image(7, "ld", true, at(3)),
            image(7, "late", true, at(9)),
            image(9, "old", false, 0),
        ];
        let images = Images::of((0..).zip(&images));
        let started = clock.nanoseconds_of(at(5));
        for (process, expected) in [
            (process(7, "sh", true), Some(0)),
            (process(7, "cc", false), Some(2)),
            (process(7, "other", false), Some(3)),
            (process(8, "cc", false), Some(1)),
            (process(8, "cc", true), None),
            (process(9, "old", true), Some(5)),
            (process(10, "sh", true), None),
        ] {
            assert_eq!(images.of_process(&process, started, &clock), expected, "{process:?}");
        }
    }
}
