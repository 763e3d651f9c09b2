//! Looks up many addresses of many files with several threads.
//!
//! The file with most addresses comes first. Each thread has one file open at a time, since big ones take some
//! hundred megabytes.

use crate::answers::Answers;
use crate::identity::ModuleFile;
use crate::jit::JitCode;
use crate::lookup::Lookup;
use crate::reason::Reason;
use crate::symbolizer::{ModuleSymbols, Symbolizer};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Most results that wait for the caller.
const QUEUE: usize = 1024;

/// Where the names of a module come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(ModuleFile),
    /// A file, and another path to it, that of a descriptor, for when its own leads elsewhere by now.
    Held(ModuleFile, PathBuf),
    /// An ELF image without a file: the vdso.
    Image(Vec<u8>),
    /// What a process reported of code that it generated, and why other addresses have no name; addresses are those of the
    /// process.
    Jit(Arc<JitCode>, Reason),
    /// No names, for this reason.
    None(Reason),
}

/// Addresses of one module, as [`ModuleSymbols::lookup`] takes them.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The module.
    pub source: Source,
    /// The addresses.
    pub addresses: Vec<u64>,
}

/// One result: index of the batch, index of the address in it, and the answer.
pub type Found = (usize, usize, Lookup);

impl Symbolizer {
    /// Looks up all addresses and hands each result to `take`, in no particular order. Ends early when `cancel`
    /// becomes true or `take` fails.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn look_up<E>(
        &self,
        batches: &[Batch],
        cancel: &AtomicBool,
        take: impl FnMut(Found) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut order: Vec<usize> = (0..batches.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(batches[index].addresses.len()));
        let (next, (sender, results)) = (AtomicUsize::new(0), sync_channel(QUEUE));
        let threads = self.threads().min(batches.len());
        thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, order, next) = (sender.clone(), &order, &next);
                scope.spawn(move || {
                    // Relaxed: the counter only hands out indices.
                    while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if self.look_up_batch(index, &batches[index], cancel, &sender).is_none() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            // An error drops the receiver, which ends the threads.
            results.into_iter().try_for_each(take)
        })
    }

    /// Looks up one batch; none when nobody wants results any more.
    fn look_up_batch(
        &self,
        index: usize,
        batch: &Batch,
        cancel: &AtomicBool,
        sender: &SyncSender<Found>,
    ) -> Option<()> {
        // Relaxed, here and below: a mere flag, which publishes no other data.
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        let mut opened = self.open_source(&batch.source);
        let mut answers = match &opened {
            Ok(Opened::Module(module)) => self.answers(module),
            _ => Answers::none(),
        };
        if let Ok(Opened::Module(module)) = &mut opened {
            let unknown = batch.addresses.iter().filter(|&&address| answers.find(address).is_none());
            module.expect(unknown.copied().collect());
        }
        for (place, &address) in batch.addresses.iter().enumerate() {
            if cancel.load(Ordering::Relaxed) {
                return None;
            }
            let lookup = match (&opened, answers.find(address)) {
                (_, Some(known)) => known.clone(),
                (Ok(Opened::Module(module)), None) => {
                    let found = module.lookup(address);
                    answers.add(address, &found);
                    found
                }
                (Ok(Opened::Jit(code, otherwise)), None) => {
                    let lookup = code.lookup(address, self.demangles());
                    let is_untold = lookup.reason == Some(Reason::Untold);
                    if is_untold { Lookup { reason: Some(*otherwise), ..lookup } } else { lookup }
                }
                (Err(reason), None) => Lookup::without(*reason),
            };
            sender.send((index, place, lookup)).ok()?;
        }
        if let Ok(Opened::Module(module)) = &opened
            && module.answers_last()
        {
            answers.keep(&batch.addresses);
        }
        Some(())
    }

    fn open_source<'a>(&self, source: &'a Source) -> Result<Opened<'a>, Reason> {
        match source {
            Source::File(file) => Ok(Opened::Module(Box::new(self.open(file)?))),
            Source::Held(file, way) => Ok(Opened::Module(Box::new(self.open_held(file, way)?))),
            Source::Image(bytes) => Ok(Opened::Module(Box::new(self.open_image(bytes.clone())?))),
            Source::Jit(code, otherwise) if code.is_empty() => Err(*otherwise),
            Source::Jit(code, otherwise) => Ok(Opened::Jit(code, *otherwise)),
            Source::None(reason) => Err(*reason),
        }
    }
}

/// The source of a batch, opened.
enum Opened<'a> {
    Module(Box<ModuleSymbols>),
    Jit(&'a JitCode, Reason),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::num::NonZeroUsize;

    fn own_image() -> Vec<u8> {
        std::fs::read("/proc/self/exe").unwrap()
    }

    /// Check that every address of every batch gets its result, whether its file can be opened or not.
    #[test]
    fn every_address_has_a_result() {
        let batches = [
            Batch { source: Source::File(ModuleFile::at("/no/such/file")), addresses: vec![1, 2, 3] },
            Batch { source: Source::Image(own_image()), addresses: (0..5000).collect() },
            Batch { source: Source::None(Reason::NoMapping), addresses: vec![7] },
            Batch { source: Source::None(Reason::NoMapping), addresses: Vec::new() },
        ];
        let mut found = Vec::new();
        let taken = Symbolizer::default().look_up(&batches, &AtomicBool::new(false), |result| {
            found.push((result.0, result.1, result.2.reason));
            Ok::<(), Infallible>(())
        });
        assert!(taken.is_ok());
        found.sort_by_key(|&(batch, place, _)| (batch, place));
        let expected: Vec<(usize, usize)> = batches
            .iter()
            .enumerate()
            .flat_map(|(batch, of)| (0..of.addresses.len()).map(move |place| (batch, place)))
            .collect();
        assert_eq!(found.iter().map(|&(batch, place, _)| (batch, place)).collect::<Vec<_>>(), expected);
        for (batch, _, reason) in found {
            match batch {
                0 => assert_eq!(reason, Some(Reason::FileMissing)),
                2 => assert_eq!(reason, Some(Reason::NoMapping)),
                _ => {}
            }
        }
    }

    /// Check that one thread and eight find the same, in all files that this process has mapped.
    #[test]
    fn threads_find_the_same() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut files: Vec<&str> =
            maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).collect();
        files.sort_unstable();
        files.dedup();
        // Each file three times, so that more than one thread always has work.
        let batches: Vec<Batch> = (0..3)
            .flat_map(|part| files.iter().map(move |file| (part, file)))
            .map(|(part, file)| Batch {
                source: Source::File(ModuleFile::at(file)),
                addresses: (0..2000).map(|place| 0x1000 + (place * 3 + part) * 37).collect(),
            })
            .collect();
        let found = |threads| {
            let options = crate::Options { threads: NonZeroUsize::new(threads), ..crate::Options::default() };
            let mut found = Vec::new();
            let Ok(()) = Symbolizer::new(options).look_up(&batches, &AtomicBool::new(false), |result| {
                found.push(result);
                Ok::<(), Infallible>(())
            });
            found.sort_unstable_by_key(|&(batch, place, _)| (batch, place));
            found
        };
        let alone = found(1);
        assert!(alone.iter().any(|(_, _, lookup)| lookup.function().is_some()), "{files:?}");
        assert!(alone == found(8));
    }

    /// Check that kept answers are used without asking the file, and that new ones are kept.
    #[test]
    fn kept_answers_are_given() {
        let folder = tempfile::tempdir().unwrap();
        let cache = crate::Cache::in_folder(folder.path());
        let options = crate::Options { cache: Some(cache.clone()), ..crate::Options::default() };
        let (symbolizer, file) = (Symbolizer::new(options), ModuleFile::at("/proc/self/exe"));
        let opened = symbolizer.open(&file).unwrap();
        let mut answers = symbolizer.answers(&opened);
        let owner = crate::SourceFrame { function: Some("planted".into()), ..Default::default() };
        answers.add(1, &Lookup { frames: vec![owner], ..Lookup::default() });
        answers.keep(&[1]);
        let batches = [Batch { source: Source::File(file), addresses: vec![1, 2] }];
        let mut found = Vec::new();
        let Ok(()) = symbolizer.look_up(&batches, &AtomicBool::new(false), |(_, place, lookup)| {
            found.push((place, lookup.function().map(str::to_owned)));
            Ok::<(), Infallible>(())
        });
        assert_eq!(found, [(0, Some("planted".to_owned())), (1, None)]);
        let answers = symbolizer.answers(&opened);
        assert_eq!(answers.find(2), Some(&Lookup::without(Reason::NoSymbolHere)));
    }

    /// Check that the caller's error is returned and ends the work, and that a cancelled search gives no results.
    #[test]
    fn failure_and_cancelling_end_it() {
        let batches = [Batch { source: Source::Image(own_image()), addresses: vec![0; 100_000] }];
        let mut taken = 0;
        let failed = Symbolizer::default().look_up(&batches, &AtomicBool::new(false), |_| {
            taken += 1;
            if taken == 5 { Err("full") } else { Ok(()) }
        });
        assert_eq!((failed, taken), (Err("full"), 5));
        let cancelled = Symbolizer::default().look_up(&batches, &AtomicBool::new(true), |_| Err("taken"));
        assert_eq!(cancelled, Ok(()));
    }
}
