//! Requests about a capture, and the worker that answers them.

mod answer;
mod ask;
mod document;
mod frees;
mod identity;
mod kept;
mod kept_lists;
mod marks;
mod request;
mod scans;
mod source;
mod worker;

pub(crate) use answer::{Answer, Changes, History, Place, StackList, StackRow, View};
#[cfg(test)]
pub(crate) use ask::Asked;
pub(crate) use ask::{header, numbers, place, place_of, rank, steps};
pub(crate) use document::{Document, Tone};
pub(crate) use kept::{Kept, RowTarget};
pub(crate) use kept_lists::{kept_header, kept_numbers, sized};
pub(crate) use request::{Compare, ListTopic, Question, Request, Topic, at};
pub(crate) use source::SourceText;
pub(crate) use worker::Worker;
