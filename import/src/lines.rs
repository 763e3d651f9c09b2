//! The lines of an untrusted text.

use super::ImportFault;
use super::budget::{Budget, SPENT, Spent};
use std::io::{BufRead, BufReader, Read};

/// Longest line: the name of a heavily templated function takes some ten kilobytes.
const LONGEST: u64 = 1 << 20;

/// Reads line by line, and accounts for the memory that is made of the lines.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    number: u64,
    budget: Budget,
}

impl<R: Read> Lines<R> {
    /// The lines of an input that comes from a file of this length.
    pub(super) fn new(input: R, file_length: u64) -> Self {
        let budget = Budget::of(file_length);
        Lines { input: BufReader::with_capacity(1 << 16, input), line: Vec::new(), number: 0, budget }
    }

    /// Goes to the next line; false if there is none.
    pub(super) fn advance(&mut self) -> Result<bool, ImportFault> {
        self.line.clear();
        let read =
            self.input.by_ref().take(LONGEST).read_until(b'\n', &mut self.line).map_err(ImportFault::Read)?;
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if read as u64 == LONGEST {
            return Err(self.wrong("the line is too long"));
        }
        Ok(read > 0)
    }

    /// The line without its end.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// An error at this line.
    pub(super) fn wrong(&self, what: &'static str) -> ImportFault {
        ImportFault::Malformed(self.number, what)
    }

    /// Takes so many bytes for a table.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), ImportFault> {
        self.budget.charge(bytes).map_err(|Spent| self.wrong(SPENT))
    }
}
