//! Names as C strings.

use core::ffi::CStr;

/// Bytes of a name that count.
const LONGEST: usize = 255;

/// Calls `then` with a copy of the name on the stack: its first [`LONGEST`] bytes, whole characters, up to a zero.
pub(crate) fn with_c_string<T>(name: &str, then: impl FnOnce(&CStr) -> T) -> T {
    let end = name.floor_char_boundary(LONGEST);
    let mut bytes = [0; LONGEST + 1];
    for (to, from) in bytes.iter_mut().zip(name.as_bytes().iter().take(end)) {
        *to = *from;
    }
    then(CStr::from_bytes_until_nul(&bytes).unwrap_or(c""))
}

#[cfg(test)]
mod tests {
    use super::with_c_string;

    /// Check that names are cut between characters and at a zero, and are otherwise unchanged.
    #[test]
    fn names_become_strings() {
        let long = "ü".repeat(200);
        for (name, expected) in
            [("", ""), ("arena", "arena"), ("a\0b", "a"), (&long, &long[..254]), (&long[..254], &long[..254])]
        {
            with_c_string(name, |string| assert_eq!(string.to_bytes(), expected.as_bytes()));
        }
    }
}
