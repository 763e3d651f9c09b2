//! Names without their template arguments.

use crate::names::short_name::is_of_script;
use std::borrow::Cow;

/// Without everything in angle brackets. Operators and arrows keep theirs; if brackets do not match, nothing is
/// removed.
pub(crate) fn without_templates(name: &str) -> Cow<'_, str> {
    if !name.contains('<') || is_of_script(name) {
        return Cow::Borrowed(name);
    }
    let mut plain = String::with_capacity(name.len());
    let (mut depth, mut rest) = (0_usize, name);
    while let Some(next) = rest.chars().next() {
        let operator =
            ["operator<=>", "operator<<=", "operator>>=", "operator->*", "operator<<", "operator>>"]
                .into_iter()
                .chain(["operator<=", "operator>=", "operator->", "operator<", "operator>", "->", "=>"])
                .find(|operator| rest.starts_with(operator));
        let length = operator.map_or(next.len_utf8(), str::len);
        let (text, after) = rest.split_at(length);
        match (operator, next) {
            (None, '<') => depth += 1,
            (None, '>') => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return Cow::Borrowed(name),
            },
            _ if depth == 0 => plain.push_str(text),
            _ => {}
        }
        rest = after;
    }
    // `<T as Trait>::f` of Rust would become `::f`: too little to identify a function.
    if depth == 0 && !plain.is_empty() && !plain.starts_with("::") {
        Cow::Owned(plain)
    } else {
        Cow::Borrowed(name)
    }
}
