//! Names of OCaml, as perf prints them: modules, a dot, the function with the number that its compiler gave it.
//!
//! ```text
//!  camlStdlib__List__map_123      Stdlib.List.map_123     up to 5.0: `__` between modules, and before the function
//!  camlStdlib__List.map_123       Stdlib.List.map_123     5.1.0: `.` before the function, and after that
//!  camlStdlib$List$map_12         Stdlib.List.map_12      later: `$`
//!  camlStdlib__$40_198            Stdlib.@_198            `$` and two digits: a letter that assemblers do not take
//!  camlApp$$$3e$$3e_7             App.>>_7                `$$` and two digits, where `$` stands between names
//! ```
//!
//! The number stays: functions without a name of their own differ in nothing else.

/// The readable form of a name; none where it is not OCaml's. Functions of its runtime (`caml_alloc`) are C.
pub(super) fn demangle(name: &str) -> Option<String> {
    let rest = name.strip_prefix("caml")?;
    if !rest.starts_with(|first: char| first.is_ascii_uppercase()) {
        return None;
    }
    let mut out = String::with_capacity(rest.len());
    // After a one-letter separator comes a function, whose name may have two underscores in a row.
    let (mut rest, mut is_of_modules, mut is_separated) = (rest, true, false);
    while let Some(letter) = rest.chars().next() {
        if let Some((escaped, after)) = escaped(rest) {
            out.push(escaped);
            rest = after;
            continue;
        }
        let after = &rest[letter.len_utf8()..];
        let (separator, behind) = match letter {
            '$' | '.' => (true, after),
            '_' if is_of_modules => (after.starts_with('_'), after.strip_prefix('_').unwrap_or(after)),
            _ => (false, after),
        };
        is_of_modules &= letter == '_' || !separator;
        is_separated |= separator;
        out.push(if separator { '.' } else { letter });
        rest = if separator { behind } else { after };
    }
    is_separated.then_some(out)
}

/// A letter that is written as its number, and what follows it. No name begins with a digit, so it is no separator.
fn escaped(text: &str) -> Option<(char, &str)> {
    let digits = text.strip_prefix("$$").or_else(|| text.strip_prefix('$'))?;
    let (number, after) = digits.split_at_checked(2)?;
    let letter = char::from(u8::from_str_radix(number, 16).ok()?);
    let is_one = number.starts_with(|first: char| first.is_ascii_digit()) && letter.is_ascii_punctuation();
    is_one.then_some((letter, after))
}
