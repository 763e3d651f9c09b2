//! Names of functions for narrow columns.

use std::borrow::Cow;

/// A function's name without template arguments, parameters and return type: C++ spells them all out, and a column
/// has no room for them. Names that are not of this form stay as they are.
///
/// ```
/// # use viewer::analysis::short_name;
/// assert_eq!(short_name("void std::vector<int, std::allocator<int> >::push_back(int const&)"), "std::vector::push_back");
/// assert_eq!(short_name("operator new(unsigned long)"), "operator new");
/// assert_eq!(short_name("<alloc::string::String as core::clone::Clone>::clone"), "<alloc::string::String as core::clone::Clone>::clone");
/// ```
pub fn short_name(name: &str) -> Cow<'_, str> {
    // Rust's `<T as Trait>::method` begins with a bracket that says something.
    if name.starts_with('<') || !name.contains(['<', '(', ' ']) {
        return Cow::Borrowed(name);
    }
    let bare = without_brackets(name);
    let bare = without_return_type(bare.trim());
    if bare.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(bare.to_owned()) }
}

/// Removes everything between matching brackets, except `(anonymous namespace)`, `{lambda(…)}`, and operators that
/// are spelt with brackets.
fn without_brackets(name: &str) -> String {
    const ANONYMOUS: &str = "(anonymous namespace)";
    let mut bare = String::with_capacity(name.len());
    let mut depth = 0_usize;
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        let mut length = next.len_utf8();
        if depth == 0
            && let Some(kept) =
                operator(rest).or_else(|| rest.starts_with(ANONYMOUS).then_some(ANONYMOUS.len()))
        {
            bare.push_str(&rest[..kept]);
            length = kept;
        } else {
            match next {
                '<' | '(' | '[' => depth += 1,
                '>' | ')' | ']' => depth = depth.saturating_sub(1),
                _ if depth == 0 => bare.push(next),
                _ => {}
            }
        }
        rest = &rest[length..];
    }
    bare
}

/// The length of an operator's name at the beginning of `text`.
fn operator(text: &str) -> Option<usize> {
    let symbol = text.strip_prefix("operator")?;
    let length = [
        "()",
        "[]",
        "<=>",
        "<<=",
        ">>=",
        "<<",
        ">>",
        "<=",
        ">=",
        "->*",
        "->",
        "<",
        ">",
        " new[]",
        " delete[]",
    ]
    .into_iter()
    .find(|operator| symbol.starts_with(operator))?
    .len();
    Some("operator".len() + length)
}

/// What follows the last space that does not belong to the name.
fn without_return_type(bare: &str) -> &str {
    let bare = bare.strip_suffix(" const").unwrap_or(bare);
    let end = bare.find("operator").or_else(|| bare.find("(anonymous")).unwrap_or(bare.len());
    match bare[..end].rfind(' ') {
        Some(space) => &bare[space + 1..],
        None => bare,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check the forms that demanglers make.
    #[test]
    fn names_lose_what_a_column_has_no_room_for() {
        for (name, expected) in [
            ("main", "main"),
            ("f(int, char const*)", "f"),
            ("ns::T<A<B>, C>::f<D>(E<F>) const", "ns::T::f"),
            ("std::pair<int, int> make<int>(int)", "make"),
            ("bool operator< <int>(A const&, A const&)", "operator<"),
            ("T::operator()(int) const", "T::operator()"),
            ("operator new[](unsigned long)", "operator new[]"),
            ("(anonymous namespace)::helper(int)", "(anonymous namespace)::helper"),
            ("void ns::(anonymous namespace)::helper<int>(int)", "ns::(anonymous namespace)::helper"),
            ("app::run::{{closure}}", "app::run::{{closure}}"),
            ("Vec<T,A>::push", "Vec::push"),
            ("???", "???"),
            ("()", "()"),
            ("", ""),
        ] {
            assert_eq!(short_name(name), expected, "{name}");
        }
    }

    proptest! {
        /// Check that no name, however odd, stops the program or comes out longer.
        #[test]
        fn any_name_is_fine(name in "[a<>()\\[\\] :é{}]{0,12}(operator)?[a<>() ]{0,8}") {
            prop_assert!(short_name(&name).len() <= name.len());
        }
    }
}
