//! Members of types in expressions, as gcc mangles them: `std::is_array<T>::value`.
//!
//! ```text
//! sr St8is_arrayIT_E   5value       what gcc writes; the parser knows no types here, and stops
//! dt tl St8is_arrayIT_E E 5value    the same member of a value of that type: std::is_array<T>{}.value
//! ```
//!
//! The types stay where they are, so what later parts of the name refer to has the same numbers.

/// Most members that are looked for in one name.
const MOST: usize = 64;

/// The name with members of values in place of members of types; none where there are none, or where something in it
/// is not understood.
pub(super) fn with_values(mangled: &str) -> Option<String> {
    let starts = mangled.match_indices("sr").map(|(at, _)| at);
    let scopes = starts.filter_map(|at| Some((at, end_of_type(mangled.as_bytes(), at + 2)?)));
    // Position, text to insert, and how many bytes it replaces.
    let changes = scopes.take(MOST).flat_map(|(start, end)| [(start, "dttl", 2), (end, "E", 0)]);
    let mut changes: Vec<(usize, &str, usize)> = changes.collect();
    if changes.is_empty() {
        return None;
    }
    // They may nest.
    changes.sort_unstable_by_key(|(at, ..)| *at);
    let mut out = String::with_capacity(mangled.len() + 3 * changes.len());
    let mut from = 0;
    for (at, text, replaced) in changes {
        out.push_str(mangled.get(from..at)?);
        out.push_str(text);
        from = at + replaced;
    }
    out.push_str(mangled.get(from..)?);
    Some(out)
}

/// The inverse: a readable name with members of types again.
pub(super) fn with_types(name: &str) -> String {
    const MEMBER: &str = "{}).";
    let mut name = name.to_owned();
    let mut before = name.len();
    while let Some(at) = name.get(..before).and_then(|name| name.rfind(MEMBER)) {
        let Some(open) = opening(name.as_bytes(), at) else { return name };
        name.replace_range(at..at + MEMBER.len(), "::");
        name.remove(open);
        before = at.saturating_sub(1);
    }
    name
}

/// The parenthesis that closes at this place opens here.
fn opening(name: &[u8], place: usize) -> Option<usize> {
    let mut depth = 0usize;
    (0..place).rev().find(|&at| {
        match name[at] {
            b')' => depth += 1,
            b'(' if depth == 0 => return true,
            b'(' => depth -= 1,
            _ => {}
        }
        false
    })
}

/// What an `E` closes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// Followed by a number or nothing, and an underscore.
    Closure,
    /// Its last part is a value.
    Literal,
    Other,
}

/// Where the class that begins here ends, if it is nested or of `std`, and a member's name follows.
fn end_of_type(mangled: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut open) = (start, Vec::new());
    match mangled.get(at..at + 2)? {
        b"St" => at = end_of_name(mangled, at + 2)?,
        [b'N', _] => {}
        _ => return None,
    }
    loop {
        let next = *mangled.get(at)?;
        let second = mangled.get(at + 1).copied().unwrap_or_default();
        if open.is_empty() && at != start && next != b'I' {
            return next.is_ascii_digit().then_some(at);
        }
        at += 1;
        match next {
            b'0'..=b'9' => {
                at = end_of_name(mangled, at - 1)?;
                if open.last() == Some(&Open::Literal) {
                    at = end_of_value(mangled, at)?;
                    open.pop();
                }
            }
            b'I' | b'N' | b'J' | b'X' | b'F' | b'Z' => open.push(Open::Other),
            b'L' if second == b'_' => {
                at += 2;
                open.push(Open::Other);
            }
            b'L' if second.is_ascii_lowercase() => at = end_of_value(mangled, at + 1)?,
            b'L' => open.push(Open::Literal),
            b'E' => {
                if open.pop()? == Open::Closure {
                    at = end_of_index(mangled, at)?;
                } else if open.last() == Some(&Open::Literal) {
                    at = end_of_value(mangled, at)?;
                    open.pop();
                }
            }
            b'S' if second.is_ascii_lowercase() => at += 1,
            b'S' | b'T' | b'A' => at = end_of_index(mangled, at)?,
            b'D' if matches!(second, b'T' | b't') => {
                at += 1;
                open.push(Open::Other);
            }
            b'U' if second == b'l' => {
                at += 1;
                open.push(Open::Closure);
            }
            b'U' if second == b't' => at = end_of_index(mangled, at + 1)?,
            // Constructors and destructors, whose digit is no length.
            b'C' | b'D' if second.is_ascii_digit() => at += 1,
            b'D' => at += 1,
            b'C' | b'K' | b'M' | b'O' | b'P' | b'R' | b'U' | b'V' | b'_' | b'a'..=b'z' => {}
            _ => return None,
        }
    }
}

/// The end of a length and a name.
fn end_of_name(mangled: &[u8], at: usize) -> Option<usize> {
    let digits = mangled.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length: usize = str::from_utf8(mangled.get(at..at + digits)?).ok()?.parse().ok()?;
    let end = (at + digits).checked_add(length)?;
    (end <= mangled.len()).then_some(end)
}

/// The end of a number, or none, and its underscore.
fn end_of_index(mangled: &[u8], at: usize) -> Option<usize> {
    let is_index = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    let end = at + mangled.get(at..)?.iter().take_while(|byte| is_index(byte)).count();
    (mangled.get(end) == Some(&b'_')).then_some(end + 1)
}

/// The end of a number and its `E`.
fn end_of_value(mangled: &[u8], at: usize) -> Option<usize> {
    let is_value = |byte: &u8| byte.is_ascii_digit() || *byte == b'n';
    let end = at + mangled.get(at..)?.iter().take_while(|byte| is_value(byte)).count();
    (mangled.get(end) == Some(&b'E')).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check that the type is found to its end, whatever is in it, and that nothing is changed where there is none.
    #[test]
    fn types_are_found_to_their_ends() {
        for (mangled, expected) in [
            ("srSt8is_arrayIT_E5value", Some("dttlSt8is_arrayIT_EE5value")),
            ("srSt6is_intIiE5value", Some("dttlSt6is_intIiEE5value")),
            ("srN1A1BIT_EE5value", Some("dttlN1A1BIT_EEE5value")),
            ("srSt1aILb1ELin5EE1v", Some("dttlSt1aILb1ELin5EEE1v")),
            ("srSt1aILN1A1BE2EE1v", Some("dttlSt1aILN1A1BE2EEE1v")),
            ("srSt1aIL1B2EE1v", Some("dttlSt1aIL1B2EEE1v")),
            ("srSt1aIZ4mainEUliE12_A3_iE1v", Some("dttlSt1aIZ4mainEUliE12_A3_iEE1v")),
            ("srSt1aIXsrSt1bIT_E1vEE1v", Some("dttlSt1aIXdttlSt1bIT_EE1vEEE1v")),
            ("srSt1aIDTcvT_fp_EE1v", Some("dttlSt1aIDTcvT_fp_EEE1v")),
            // A call ends with an E, too, but looks like two types.
            ("srSt1aIDTclfp_EEE1v", None),
            ("srT_5value", None),
            ("srSt8is_array", None),
            ("srSt99is_array", None),
            ("srSt1aI", None),
            ("plain", None),
        ] {
            assert_eq!(with_values(mangled).as_deref(), expected, "{mangled}");
        }
    }

    /// Check that members of values become members of types, also those within others.
    #[test]
    fn values_become_types() {
        for (name, expected) in [
            ("a<(std::b<int>{}).value, c>", "a<std::b<int>::value, c>"),
            ("a<!((std::b<(c<d (int)>{}).x>{}).value)>", "a<!(std::b<c<d (int)>::x>::value)>"),
            ("f({})", "f({})"),
            ("a{}).b", "a{}).b"),
        ] {
            assert_eq!(with_types(name), expected);
        }
    }

    proptest! {
        /// Check that any name ends.
        #[test]
        fn any_name_ends(name in "[srStNILXEJZUDlT0-9_a{}().]{0,80}") {
            let _ = with_values(&name);
            prop_assert!(with_types(&name).len() <= name.len());
        }
    }
}
