//! Names of pools, and marks: set by programs, and from outside.

use super::Pipeline;
use crate::image::ImageId;
use crate::writer::annotations::text;
use capture::{Action, Error, Mark, MarkKind, ThreadId};
use shared_ring::record::name::{self, MAX_POOLS, Name, Named};

/// A mark set from outside the program.
#[derive(Debug)]
pub(crate) struct MarkRequest {
    /// The process to mark; `None` for the whole recording.
    pub(crate) pid: Option<u32>,
    pub(crate) name: String,
    /// Ticks of the recording's clock.
    pub(crate) time: u64,
}

impl Pipeline {
    /// Takes in a name reported by a thread.
    pub(crate) fn take_name(
        &mut self,
        (image, slot, thread): (ImageId, u32, ThreadId),
        named: Named,
        name: &Name,
    ) -> Result<(), Error> {
        match named {
            Named::Pool(pool @ 1..=MAX_POOLS) => {
                let name = self.names.enter(name.bytes(), &mut self.writer)?;
                if let Some(pools) = self.pools(image) {
                    pools.name(slot, pool, name);
                }
                Ok(())
            }
            Named::Pool(_) => {
                self.totals.corrupt += 1;
                Ok(())
            }
            Named::Mark(kind) => match of_wire(kind) {
                Some(kind) => self.set_mark(thread, kind, name.bytes()),
                None => {
                    self.names.unseen.add(&text(name.bytes()));
                    Ok(())
                }
            },
        }
    }

    /// Sets a mark that was requested from outside; false if there is no thread yet that could have it.
    pub(crate) fn mark(&mut self, mark: &MarkRequest) -> Result<bool, Error> {
        let Some(thread) = self.processes.speaker(mark.pid) else { return Ok(false) };
        self.timeline.advance(mark.time);
        self.set_mark(thread, MarkKind::Instant, mark.name.as_bytes())?;
        Ok(true)
    }

    /// Sets a mark after all events so far.
    fn set_mark(&mut self, thread: ThreadId, kind: MarkKind, name: &[u8]) -> Result<(), Error> {
        let name = self.names.enter(name, &mut self.writer)?;
        let mark = self.writer.mark(Mark { time: self.timeline.last(), thread, kind, name })?;
        self.write(thread, Action::Mark { mark })
    }
}

fn of_wire(kind: name::MarkKind) -> Option<MarkKind> {
    Some(match kind {
        name::MarkKind::Instant => MarkKind::Instant,
        name::MarkKind::Begin => MarkKind::Begin,
        name::MarkKind::End => MarkKind::End,
        name::MarkKind::Unseen => return None,
    })
}
