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
        let tables = self.reader.tables();
        let mut pass = Pass::new(Load::watched(tables, Recorder::new(tables)), None);
        let read = self.run(&mut pass, 0, Span::Whole);
        let (mut profile, recorder) = self.end_pass(pass, Span::Whole);
        self.note_damage(read)?;
        self.add_samples(&mut profile, Span::Whole)?;
        Ok((profile, recorder.finish()))
    }
}
