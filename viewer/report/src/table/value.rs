//! Typed values: what a number counts, and whose name stands there.

use analysis::lifetimes::{Age, SizeClass};
use analysis::{Amount, LabelId};
use capture::{NodeId, ProcessId, ThreadId};
use std::borrow::Cow;

/// A value in a cell, a name or a sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// None: a blank cell, and no field.
    #[default]
    Empty,
    /// Not known: a blank cell, and null.
    Unknown,
    /// Words of our own.
    Text(Cow<'static, str>),
    /// True or false; for programs.
    Flag(bool),
    /// A number.
    Count(i128),
    /// A number that identifies something.
    Id(u64),
    /// A number of things, in words: `3 blocks`.
    Counted(i128, &'static str),
    /// A size.
    Bytes(i128),
    /// Blocks and their size, in words: `12.3 MiB in 4 blocks`.
    Amount(Amount),
    /// A part of a whole.
    Share(i64, i64),
    /// How many times as much.
    Factor(f64),
    /// A length of time, in nanoseconds.
    Duration(u64),
    /// A moment of the recording, in nanoseconds: exact in words, too.
    Time(u64),
    /// A class of lifetimes.
    Age(Age),
    /// Amounts by lifetime; for programs.
    Ages(Vec<(Age, Amount)>),
    /// A class of sizes.
    Sizes(SizeClass),
    /// An address.
    Address(u64),
    /// A stack; the root where none was recorded.
    Stack(NodeId),
    /// A stack with a line for each function.
    Frames(NodeId),
    /// A function, or what stands for one.
    Function(LabelId),
    /// A thread.
    Thread(ThreadId),
    /// A process.
    Process(ProcessId),
    /// Several, one after the other: a sentence.
    Phrase(Vec<Value>),
    /// Several; for programs.
    List(Vec<Value>),
    /// Values with names; for programs.
    Record(Vec<(&'static str, Value)>),
}

/// A sentence of words and values.
macro_rules! phrase {
    ($($part:expr),+ $(,)?) => { $crate::table::Value::Phrase(vec![$($crate::table::Value::from($part)),+]) };
}
pub(crate) use phrase;

impl Value {
    /// A number.
    pub fn count(number: impl Into<i128>) -> Self {
        Self::Count(number.into())
    }

    /// A number of things.
    pub fn counted(number: impl Into<i128>, noun: &'static str) -> Self {
        Self::Counted(number.into(), noun)
    }

    /// A size.
    pub fn bytes(size: impl Into<i128>) -> Self {
        Self::Bytes(size.into())
    }

    /// The same, or unknown if it is a stack that was not recorded.
    pub fn recorded(self) -> Self {
        if self == Self::Stack(NodeId::ROOT) { Self::Unknown } else { self }
    }

    /// A value that may not be known.
    pub fn known(value: Option<impl Into<Value>>) -> Self {
        value.map_or(Self::Unknown, Into::into)
    }

    /// The first stack in it.
    pub fn stack(&self) -> Option<NodeId> {
        match self {
            Self::Stack(node) => Some(*node).filter(|node| *node != NodeId::ROOT),
            Self::Phrase(parts) => parts.iter().find_map(Self::stack),
            _ => None,
        }
    }
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<Amount> for Value {
    fn from(amount: Amount) -> Self {
        Self::Amount(amount)
    }
}

impl From<Age> for Value {
    fn from(age: Age) -> Self {
        Self::Age(age)
    }
}
