//! The events of a capture, for formats and observers that read them again.

use crate::capture_file::{open_reader, refuse_aggregated};
use crate::error::Error;
use crate::loaded::Loaded;
use analysis::{PoolEvents, ProfileBuilder, Watch};
use capture::{Error as CaptureError, Event, Sample};
use std::path::{Path, PathBuf};

/// The events of a capture and the data recorded with them, as often as a format needs them.
pub trait Events {
    /// Passes all of them to `visit` in merged order.
    ///
    /// # Errors
    /// Those of the file that they come from.
    fn each(&self, visit: &mut dyn FnMut(&Event)) -> Result<(), Error>;

    /// The CPU samples one by one, in file order: by time, except for samples that arrived late.
    ///
    /// # Errors
    /// Those of the file that they come from.
    fn samples(&self) -> Result<Box<dyn Iterator<Item = Sample> + '_>, Error>;
}

/// Events in memory, without samples.
impl Events for Vec<Event> {
    fn each(&self, visit: &mut dyn FnMut(&Event)) -> Result<(), Error> {
        self.iter().for_each(visit);
        Ok(())
    }

    fn samples(&self) -> Result<Box<dyn Iterator<Item = Sample> + '_>, Error> {
        Ok(Box::new(std::iter::empty()))
    }
}

/// The events of a capture file, which is opened anew for each pass.
#[derive(Clone, Debug)]
pub struct Recorded {
    file: PathBuf,
}

impl Recorded {
    /// The events of this file.
    pub fn new(file: &Path) -> Self {
        Self { file: file.to_owned() }
    }
}

impl Events for Recorded {
    fn each(&self, visit: &mut dyn FnMut(&Event)) -> Result<(), Error> {
        let (reader, source) = open_reader(&self.file)?;
        let read = reader.for_each_batch_ahead(0..reader.index().len(), |_, events| {
            events.iter().for_each(&mut *visit);
            true
        });
        match read {
            // Everything before the damage was counted; there is no more.
            Ok(()) | Err(CaptureError::Damaged { .. }) => Ok(()),
            Err(error) => Err(Error::Capture { file: source.file, error }),
        }
    }

    fn samples(&self) -> Result<Box<dyn Iterator<Item = Sample> + '_>, Error> {
        let (reader, _) = open_reader(&self.file)?;
        let mut chunk = 0;
        // One chunk is in memory at a time. Nothing after damage was counted.
        let chunks = std::iter::from_fn(move || {
            let samples = reader.samples(reader.index().get(chunk)?).ok()?;
            chunk += 1;
            Some(samples)
        });
        Ok(Box::new(chunks.flatten()))
    }
}

/// Shows the life of every block of the counted heap to an observer, and returns it. Whatever a growing file has
/// received since it was counted is left out.
pub fn observe<W: Watch>(loaded: &Loaded, events: &dyn Events, watch: W) -> Result<W, Error> {
    refuse_aggregated(&loaded.tables, &loaded.source, "lifetimes of individual blocks")?;
    let mut builder = ProfileBuilder::watched(&loaded.tables, watch);
    let of_pool = loaded.heap.map(PoolEvents::of);
    if of_pool.is_some() {
        builder = builder.of_pools();
    }
    let mut left = loaded.profile.events;
    events.each(&mut |event| {
        if left > 0 {
            left -= 1;
            if let Some(pool) = &of_pool {
                builder.pool_event(pool, event);
            } else {
                builder.event(event);
            }
        }
    })?;
    Ok(builder.finish_watched().1)
}
