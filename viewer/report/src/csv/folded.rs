//! A function's name among others on a line.

use crate::text::escape;
use std::borrow::Cow;

/// A name that can be placed between semicolons on a line.
pub fn folded(name: &str) -> Cow<'_, str> {
    match escape(name) {
        Cow::Borrowed(name) if !name.contains(';') => Cow::Borrowed(name),
        name => Cow::Owned(name.replace(';', ":")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that no name can end its line or its field.
    #[test]
    fn names_stay_in_their_place() {
        for (name, expected) in
            [("f(int; char)", "f(int: char)"), ("a\nb", "a\\u{a}b"), ("operator new", "operator new")]
        {
            assert_eq!(folded(name), expected);
        }
    }
}
