//! A column of a table.

use std::borrow::Cow;

/// A column: what programs call it, what people call it, and how wide it is.
#[derive(Clone, Debug)]
pub struct Column {
    /// The field of its values; empty where the fields of a value stand for themselves, none where only people get them.
    pub key: Option<&'static str>,
    /// The heading; none where only programs get the values.
    pub title: Option<Cow<'static, str>>,
    /// Least width in a text.
    pub width: usize,
    /// Left out where there is little room: other views have the same number.
    pub is_minor: bool,
    /// Aligned to the left: words.
    pub is_left: bool,
}

impl Column {
    /// With a field and a heading.
    pub fn new(key: &'static str, title: &'static str) -> Self {
        Self { key: Some(key), title: Some(title.into()), width: 10, is_minor: false, is_left: false }
    }

    /// Without a field.
    pub fn shown(title: impl Into<Cow<'static, str>>) -> Self {
        Self { key: None, title: Some(title.into()), ..Self::new("", "") }
    }

    /// Without a heading.
    pub fn field(key: &'static str) -> Self {
        Self { title: None, ..Self::new(key, "") }
    }

    /// The same with another width.
    #[must_use]
    pub fn width(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// The same, aligned to the left.
    #[must_use]
    pub fn left(self) -> Self {
        Self { is_left: true, ..self }
    }

    /// The same, left out where there is little room.
    #[must_use]
    pub fn minor(self) -> Self {
        Self { is_minor: true, ..self }
    }
}
