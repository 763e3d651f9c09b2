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

    /// What `kind` takes out of the answer to a request; until that arrives, out of the latest one like it.
    pub(crate) fn shown<T>(&self, request: &Request, kind: impl Fn(&Answer) -> Option<T>) -> Option<T> {
        match self.to(request) {
            Some(answer) => kind(answer),
            None => self.latest(request, kind),
        }
    }

    /// The same of the latest answer to a request like this one.
    pub(crate) fn latest<T>(&self, request: &Request, kind: impl Fn(&Answer) -> Option<T>) -> Option<T> {
        let alike = self.known.iter().rev().filter(|(known, _)| known.is_like(request));
        alike.map(|(_, answer)| answer).find_map(kind)
    }
}
