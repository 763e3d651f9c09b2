//! C++ names as c++filt prints them.
//!
//! ```text
//!  std::pair<int, int> ns::T<A>::make<B>(int) const [clone .cold]
//!  └ return type ────┘ └ name: brackets go ┘ └ all of this goes ─┘
//! ```

use crate::names::short_name::brackets::{group, is_identifier, operator};

/// Has brackets, but is part of the name.
const ANONYMOUS: &str = "(anonymous namespace)";

/// What may follow the parameters of a member function.
const QUALIFIERS: [&str; 6] = [" const", " volatile", " noexcept", " &&", " &", " restrict"];

/// The name without types; none if it is not C++.
pub(super) fn short(name: &str) -> Option<String> {
    let is_objective_c = name.starts_with("-[") || name.starts_with("+[");
    // Go: `main.(*T).method`. C++ has `sizeof...(*x)`.
    let is_go = name.match_indices(".(*").any(|(at, _)| !name[..at].ends_with('.'));
    if is_objective_c || is_go {
        return None;
    }
    let (role, name) = role(name);
    Some(format!("{role}{}", without_types(declared(name)?)?.trim()))
}

/// Splits the role of a function from the function it serves: `virtual thunk to `, `TLS init function for `.
fn role(name: &str) -> (&str, &str) {
    let end = [" to ", " for "].iter().filter_map(|word| name.find(word).map(|at| at + word.len())).min();
    match end.map(|end| name.split_at(end)) {
        Some((role, function))
            if role.chars().all(|char| char.is_ascii_alphabetic() || matches!(char, ' ' | '-')) =>
        {
            (role, function)
        }
        _ => ("", name),
    }
}

/// The function in `void (*f<int>(int))(char)`, which returns a pointer to a function.
fn declared(name: &str) -> Option<&str> {
    let Some(at) = name.find(" (*").filter(|&at| !name[..at].contains('(')) else { return Some(name) };
    let outer = &name[at + 1..];
    let inner = &outer[..group(outer)?];
    if inner.contains("operator") || !inner[2..].contains('(') {
        return Some(name);
    }
    inner[2..].strip_suffix(')')
}

fn without_types(name: &str) -> Option<String> {
    let mut short = String::with_capacity(name.len());
    let mut at = 0;
    while let Some(next) = name[at..].chars().next() {
        let rest = &name[at..];
        if let Some(length) = operator(name, at) {
            short.push_str(&rest[..length]);
            at += length;
            // The name of a conversion is a type, and `new` and suffixes follow a space: take everything up to the
            // parameters.
            if length == "operator".len() {
                at += conversion(&name[at..], &mut short)?;
            }
            continue;
        }
        if rest.starts_with(ANONYMOUS) {
            short.push_str(ANONYMOUS);
            at += ANONYMOUS.len();
            continue;
        }
        match next {
            '<' | '[' => at += group(rest)?,
            '(' => {
                at += group(rest)?;
                at += qualifiers(&name[at..]);
            }
            '{' => at += made_up(rest, &mut short)?,
            // A space before an operator's template arguments or clone suffixes; any other ends the return type.
            ' ' if rest[1..].starts_with(['<', '[', '(']) || rest.len() == 1 => at += 1,
            ' ' => {
                short.clear();
                at += 1;
            }
            '>' | ']' | ')' => at += 1,
            _ => {
                short.push(next);
                at += next.len_utf8();
            }
        }
    }
    Some(short)
}

/// Copies a conversion's type without its arguments, and returns its length.
fn conversion(text: &str, short: &mut String) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text[at..].chars().next().filter(|&next| next != '(') {
        if next == '<' || next == '[' {
            at += group(&text[at..])?;
        } else {
            short.push(next);
            at += next.len_utf8();
        }
    }
    Some(at)
}

/// Copies `{lambda(int)#1}` as `{lambda#1}`, and returns its original length.
fn made_up(text: &str, short: &mut String) -> Option<usize> {
    let length = group(text)?;
    let mut at = 0;
    while let Some(next) = text[at..length].chars().next() {
        if matches!(next, '(' | '<' | '[') {
            at += group(&text[at..length])?;
        } else {
            short.push(next);
            at += next.len_utf8();
        }
    }
    Some(length)
}

/// Length of the qualifiers at the beginning of `text`.
fn qualifiers(text: &str) -> usize {
    let mut at = 0;
    while let Some(qualifier) = QUALIFIERS.iter().find(|qualifier| {
        let after = text[at..].strip_prefix(**qualifier);
        after.is_some_and(|after| !after.starts_with(is_identifier))
    }) {
        at += qualifier.len();
    }
    at
}
