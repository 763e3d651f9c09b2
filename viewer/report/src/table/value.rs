//! Typed values: what a number counts, and whose name stands there.

use analysis::lifetimes::{Age, SizeClass};
use analysis::{Amount, Cost, LabelId, Spread};
use capture::{NodeId, ProcessId, StringId, ThreadId};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Values with names, in order.
pub type Fields = Vec<(&'static str, Value)>;

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
    /// The same with standard errors, for estimates: `≈12.3 MiB ± 1.10 MiB in ≈4 ± 1 blocks`.
    Estimate(Amount, Spread),
    /// A number with its standard error: `≈12.3 MiB ± 1.10 MiB`.
    About(Box<Value>, i64),
    /// A number whose standard error stands elsewhere: `≈12.3 MiB`.
    Marked(Box<Value>),
    /// A standard error relative to its number.
    Error(i64, i64),
    /// A number that has grown or shrunk by this: with its sign.
    Change(Box<Value>),
    /// What CPU samples stand for: time, or cycles where these were counted.
    Cpu(i64),
    /// All that a stack costs; for programs.
    Costs(Box<(Cost, Cost<Spread>)>),
    /// Standard errors of fields; for programs.
    Errors(Vec<(&'static str, i64)>),
    /// A part of a whole.
    Share(i64, i64),
    /// The same as a bar; for people.
    Bar(i64, i64),
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
    /// So many of the innermost functions of a stack.
    Innermost(NodeId, usize),
    /// A stack with a line for each function.
    Frames(NodeId),
    /// A function, or what stands for one.
    Function(LabelId),
    /// The same with its fields; for programs.
    Who(LabelId),
    /// A source file, and the line in it; none of them for programs.
    Place(Option<StringId>, Option<u32>),
    /// A thread.
    Thread(ThreadId),
    /// A process.
    Process(ProcessId),
    /// Several, one after the other: a sentence.
    Phrase(Vec<Value>),
    /// Several; for programs.
    List(Vec<Value>),
    /// Values with names; for programs.
    Record(Fields),
    /// Texts by name; for programs.
    Texts(BTreeMap<String, String>),
    /// Several names, of which people get the first ones.
    Listed(Vec<String>, usize),
    /// So many rows that are left out, and the option that shows them; for people.
    Rest(usize, Cow<'static, str>, &'static str),
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

    /// A name from a capture.
    pub fn name(text: &str) -> Self {
        Self::Text(text.to_owned().into())
    }

    /// A name that may be missing: unknown where it is empty.
    pub fn named(text: &str) -> Self {
        if text.is_empty() { Self::Unknown } else { Self::name(text) }
    }

    /// The size of an amount, with its error if it is an estimate.
    pub fn size_of(amount: Amount, spread: Spread) -> Self {
        Self::bytes(amount.bytes).about(spread.bytes_error())
    }

    /// The number of blocks of an amount, likewise.
    pub fn blocks_of(amount: Amount, spread: Spread) -> Self {
        Self::count(amount.blocks).about(spread.blocks_error())
    }

    /// The same, with this standard error unless that is 0.
    #[must_use]
    pub fn about(self, error: i64) -> Self {
        if error == 0 { self } else { Self::About(Box::new(self), error) }
    }

    /// The same, marked as an estimate if it has a standard error.
    #[must_use]
    pub fn marked(self, error: i64) -> Self {
        if error == 0 { self } else { Self::Marked(Box::new(self)) }
    }

    /// The same, or unknown if it is a stack that was not recorded.
    pub fn recorded(self) -> Self {
        if self == Self::Stack(NodeId::ROOT) { Self::Unknown } else { self }
    }

    /// A value that may not be known.
    pub fn known(value: Option<impl Into<Value>>) -> Self {
        value.map_or(Self::Unknown, Into::into)
    }

    /// True if it is a change for more.
    pub(crate) fn has_grown(&self) -> bool {
        match self {
            Self::Change(number) => match **number {
                Self::Count(number) | Self::Bytes(number) => number > 0,
                Self::Cpu(weight) => weight > 0,
                _ => false,
            },
            Self::About(number, _) | Self::Marked(number) => number.has_grown(),
            _ => false,
        }
    }

    /// True if it says how many rows are left out.
    pub(crate) fn is_rest(&self) -> bool {
        match self {
            Self::Rest(..) => true,
            Self::Phrase(parts) => parts.iter().any(Self::is_rest),
            _ => false,
        }
    }

    /// The first line of a source file in it.
    pub fn place(&self) -> Option<(StringId, Option<u32>)> {
        match self {
            Self::Place(file, line) => file.map(|file| (file, *line)),
            Self::Phrase(parts) => parts.iter().find_map(Self::place),
            _ => None,
        }
    }

    /// The first stack in it.
    pub fn stack(&self) -> Option<NodeId> {
        match self {
            Self::Stack(node) | Self::Innermost(node, _) => Some(*node).filter(|node| *node != NodeId::ROOT),
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
