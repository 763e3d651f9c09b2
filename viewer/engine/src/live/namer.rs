//! Looks up the names of the rows that are shown, in a separate thread.

use capture::FrameId;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use symbols::{Batch, Lookup, Symbolizer};

/// Frames whose names are wanted, with the batch to look them up in.
pub(super) type Wanted = Vec<(Vec<FrameId>, Batch)>;

/// The answer to a request: names, in no particular order.
pub(super) type Found = Vec<(FrameId, Lookup)>;

/// Handle of the thread, which gives up and ends when this is dropped.
pub(super) struct Namer {
    wanted: Sender<Wanted>,
    found: Receiver<Found>,
    /// Requests that have not been answered.
    open: usize,
    gives_up: Arc<AtomicBool>,
}

impl Namer {
    /// Starts the thread.
    pub(super) fn start(options: symbols::Options) -> io::Result<Self> {
        let (wanted, requests) = channel::<Wanted>();
        let (answers, found) = channel();
        let gives_up = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&gives_up);
        thread::Builder::new().name("names".to_owned()).spawn(move || {
            let symbolizer = Symbolizer::new(options);
            for request in requests {
                if answers.send(look_up(&symbolizer, request, &stop)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { wanted, found, open: 0, gives_up })
    }

    /// Requests names.
    pub(super) fn ask(&mut self, wanted: Wanted) {
        // Without the thread there are no names.
        if !wanted.is_empty() && self.wanted.send(wanted).is_ok() {
            self.open += 1;
        }
    }

    /// True while answers are outstanding.
    pub(super) fn is_busy(&self) -> bool {
        self.open > 0
    }

    /// The next answer, if one has arrived or may be waited for.
    pub(super) fn answer(&mut self, waits: bool) -> Option<Found> {
        if self.open == 0 {
            return None;
        }
        let found = if waits { self.found.recv().ok() } else { self.found.try_recv().ok() }?;
        self.open -= 1;
        Some(found)
    }
}

impl Drop for Namer {
    fn drop(&mut self) {
        // Relaxed: a flag that no other data depends on.
        self.gives_up.store(true, Ordering::Relaxed);
    }
}

fn look_up(symbolizer: &Symbolizer, request: Wanted, stop: &AtomicBool) -> Found {
    let (frames, batches): (Vec<_>, Vec<_>) = request.into_iter().unzip();
    let mut found = Vec::new();
    let taken: Result<(), ()> = symbolizer.look_up(&batches, stop, |(batch, place, lookup)| {
        found.push((frames[batch][place], lookup));
        Ok(())
    });
    debug_assert_eq!(taken, Ok(()));
    found
}
