//! Recent answers, so that going back asks nothing.

use crate::work::{Answer, Request};

/// Number of answers kept.
const MOST: usize = 12;

/// Requests with their answers, the latest last.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    known: Vec<(Request, Answer)>,
}

impl Answers {
    /// Keeps an answer.
    pub(crate) fn keep(&mut self, request: Request, answer: Answer) {
        self.known.retain(|(known, _)| *known != request);
        if self.known.len() == MOST {
            self.known.remove(0);
        }
        self.known.push((request, answer));
    }

    /// The answer to a request.
    pub(crate) fn to(&self, request: &Request) -> Option<&Answer> {
        self.known.iter().rev().find(|(known, _)| known == request).map(|(_, answer)| answer)
    }

    /// The latest suitable answer, shown until the right one arrives.
    pub(crate) fn latest<T>(&self, suits: impl Fn(&Request, &Answer) -> Option<T>) -> Option<T> {
        self.known.iter().rev().find_map(|(request, answer)| suits(request, answer))
    }
}
