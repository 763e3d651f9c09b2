//! Requests about a capture, and the worker that answers them.

mod answer;
mod ask;
mod identity;
mod marks;
mod request;
mod retained;
mod source;
mod stack_list;
mod table_list;
mod worker;

pub(crate) use answer::{Answer, Changes, History, View, held_by};
#[cfg(test)]
pub(crate) use ask::Asked;
pub(crate) use ask::{cells, header, heads, numbers, rank, steps};
pub(crate) use request::{Compare, ListTopic, Question, Request, Topic, at};
pub(crate) use retained::{RetainedMemory, RowTarget, retained_cells, retained_heads, sized};
pub(crate) use source::SourceText;
pub(crate) use stack_list::{Place, StackList, StackRow, place, place_of};
pub(crate) use worker::Worker;
