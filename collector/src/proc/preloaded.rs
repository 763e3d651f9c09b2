//! What `LD_PRELOAD` names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The libraries in a list, split as the dynamic loader does.
pub(crate) fn libraries(list: &OsStr) -> impl Iterator<Item = &[u8]> {
    list.as_bytes().split(|byte| matches!(byte, b':' | b' ')).filter(|library| !library.is_empty())
}

/// The name of a library without its folder.
pub(crate) fn file_name(library: &[u8]) -> &[u8] {
    library.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that libraries are separated by colons and spaces, and that empty entries are ignored.
    #[test]
    fn lists_are_taken_apart() {
        let names: Vec<&[u8]> = libraries(OsStr::new(":/a/x.so  y.so:/b/z.so.1:")).map(file_name).collect();
        assert_eq!(names, [b"x.so".as_slice(), b"y.so", b"z.so.1"]);
        assert_eq!(libraries(OsStr::new("")).count(), 0);
    }
}
