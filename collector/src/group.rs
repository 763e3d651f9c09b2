//! The number of a group, as the system's name service has it.

use std::ffi::CString;
use std::mem::MaybeUninit;

/// Room for a group's entry: one with many members needs more, and more is tried.
const ROOM: usize = 4096;
const MOST: usize = 16 << 20;

/// The group of this name, or of this number.
pub fn group(name: &str) -> Option<u32> {
    if let Ok(number) = name.parse() {
        // The largest number means that nothing is to be changed.
        return Some(number).filter(|number| *number != u32::MAX);
    }
    let name = CString::new(name).ok()?;
    let mut room = ROOM;
    while room <= MOST {
        let mut entry = MaybeUninit::<libc::group>::zeroed();
        let mut strings = vec![0; room];
        let mut found = std::ptr::null_mut();
        let (to, size) = (strings.as_mut_ptr(), strings.len());
        // SAFETY: all of it lies in memory of this function, and the name is a string.
        let failed = unsafe { libc::getgrnam_r(name.as_ptr(), entry.as_mut_ptr(), to, size, &raw mut found) };
        match failed {
            0 if found.is_null() => return None,
            // SAFETY: found, so it was filled in.
            0 => return Some(unsafe { entry.assume_init() }.gr_gid),
            libc::ERANGE => room *= 4,
            libc::EINTR => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that groups are found by name and by number, and that what is none is not.
    #[test]
    fn groups_have_names_and_numbers() {
        assert_eq!(group("root"), Some(0));
        assert_eq!(group("4711"), Some(4711));
        for none in ["", "no such group", "-1", "4294967295", "a\0b"] {
            assert_eq!(group(none), None, "{none:?}");
        }
    }
}
