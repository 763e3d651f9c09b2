//! Names of Python's.

/// True for a qualified name in which Python has put words in brackets: `<module>`, `Row.<locals>.<lambda>`,
/// `<lambda>.<locals>.f`. In other languages nothing in brackets follows a dot or is a whole name.
pub(crate) fn is_qualified(name: &str) -> bool {
    let is_made_up = |part: &str| {
        part.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).is_some_and(is_identifier)
    };
    name.contains('<') && name.split('.').all(|part| is_identifier(part) || is_made_up(part))
}

fn is_identifier(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check what Python calls its functions, and names that look alike.
    #[test]
    fn made_up_parts_are_known() {
        for name in [
            "<module>",
            "<lambda>",
            "f.<locals>.g",
            "Row.method.<locals>.<genexpr>",
            "<lambda>.<locals>.naïve",
            "<listcomp>",
        ] {
            assert!(is_qualified(name), "{name}");
        }
        for name in [
            "f",
            "Row.method",
            "f<int>",
            "<T>::f",
            "<T as U>::f",
            "<u8>.<",
            "a.<>.b",
            "f.<locals>.g<int>",
            "Lwt.<&>_7",
        ] {
            assert!(!is_qualified(name), "{name}");
        }
    }
}
