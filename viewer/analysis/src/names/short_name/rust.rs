//! Rust names.
//!
//! ```text
//!  <a::B<C> as d::E<F>>::g::<H>          <a::B as d::E>::g
//!  <a::B<C>>::g::<H>                     a::B::g
//!  x::y::<impl d::E<F> for a::B<C>>::g   <a::B as d::E>::g        the legacy mangling adds the module
//! ```

use crate::names::short_name::brackets::{group, is_identifier};

/// Depth of nested types that are processed; deeper ones stay as they are.
const DEEPEST: usize = 8;

/// The name without generic arguments.
pub(super) fn short(name: &str) -> Option<String> {
    path(name, DEEPEST)
}

/// A path or a type without generic arguments.
fn path(text: &str, depth: usize) -> Option<String> {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let mut length = next.len_utf8();
        if next == '<' {
            length = group(rest)?;
            let inner = &rest[1..length - 1];
            match inner.strip_prefix("impl ") {
                Some(implemented) if short.ends_with("::") => {
                    short = implementation(implemented, depth)?;
                }
                _ if short.ends_with(|last| is_identifier(last) || matches!(last, ':' | '}')) => {
                    short.truncate(short.trim_end_matches("::").len());
                }
                _ => short.push_str(&qualified(inner, depth)?),
            }
        } else if rest.starts_with("->") {
            length = "->".len();
            short.push_str("->");
        } else {
            short.push(next);
        }
        rest = &rest[length..];
    }
    Some(short)
}

/// The content of the brackets of `<T as Trait>` and `<T>`.
fn qualified(inner: &str, depth: usize) -> Option<String> {
    match split(inner, " as ") {
        Some((of, named)) => as_trait(of, named, depth),
        None => own(inner, depth),
    }
}

/// The content of the brackets of `<impl Trait for T>` and `<impl T>`.
fn implementation(inner: &str, depth: usize) -> Option<String> {
    match split(inner, " for ") {
        Some((named, of)) => as_trait(of, named, depth),
        None => own(inner, depth),
    }
}

fn as_trait(of: &str, named: &str, depth: usize) -> Option<String> {
    Some(format!("<{} as {}>", inner_path(of, depth)?, inner_path(named, depth)?))
}

/// A type that a path continues from needs brackets unless it is itself a path.
fn own(of: &str, depth: usize) -> Option<String> {
    let of = inner_path(of, depth)?;
    let is_path =
        !of.is_empty() && of.chars().all(|char| is_identifier(char) || matches!(char, ':' | '{' | '}' | '#'));
    Some(if is_path { of } else { format!("<{of}>") })
}

fn inner_path(text: &str, depth: usize) -> Option<String> {
    match depth {
        0 => Some(text.to_owned()),
        depth => path(text, depth - 1),
    }
}

/// Splits at the first `word` outside of brackets.
fn split<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if text[at..].starts_with(word) {
            return Some((&text[..at], &text[at + word.len()..]));
        }
        at += if matches!(next, '<' | '(' | '[') { group(&text[at..])? } else { next.len_utf8() };
    }
    None
}
