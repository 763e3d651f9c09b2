//! Paths of files, as views show them.

/// Where code is, for people: the path of a file; for memory without a file, its kind without the process: `heap` for
/// `[heap of 1234]`.
pub(crate) fn place(path: &str) -> &str {
    let inner = path.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inner.and_then(|inner| inner.rsplit_once(" of ")) {
        Some((memory, pid)) if !pid.is_empty() && pid.bytes().all(|digit| digit.is_ascii_digit()) => memory,
        _ => path,
    }
}

/// The last part of a path, or all of it when it ends in a slash.
pub fn file_name(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => name,
        _ => path,
    }
}
