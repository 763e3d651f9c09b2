//! A string with a limit.

use std::fmt;

/// Longest readable name. Substitutions let a mangled name of some hundred bytes grow without bound.
pub(super) const LONGEST: usize = 1 << 16;

/// A string that refuses to grow beyond [`LONGEST`].
#[derive(Default)]
pub(super) struct Bounded(String);

impl Bounded {
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
