//! How the heap came to be what it was.

use super::Moments;
use super::pass::Pass;
use crate::analysis::{History, Load, Profile, Recorder, Span};
use crate::open::Error;

impl Moments {
    /// The numbers of all of the allocators' heaps, and their history, from one pass.
    ///
    /// # Errors
    /// Those of the file.
    pub fn history(&mut self) -> Result<(Profile, History), Error> {
        self.recorded(Recorder::new(self.reader.tables()))
    }

    /// The same, where the history is as fine as it can be between two times, in nanoseconds since the recording began, and
    /// what is around them is in one piece each.
    ///
    /// # Errors
    /// Those of the file.
    pub fn history_within(&mut self, from: u64, to: u64) -> Result<(Profile, History), Error> {
        self.recorded(Recorder::within(self.reader.tables(), from, to.max(from)))
    }

    fn recorded(&mut self, recorder: Recorder) -> Result<(Profile, History), Error> {
        let mut pass = Pass::new(Load::watched(self.reader.tables(), recorder), None);
        let read = self.run(&mut pass, 0, Span::Whole);
        let (mut profile, recorder) = self.end_pass(pass, Span::Whole);
        self.note_damage(read)?;
        self.add_samples(&mut profile, Span::Whole)?;
        Ok((profile, recorder.finish()))
    }
}
