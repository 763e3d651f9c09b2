//! Looks up a group's number in the system's name service.

use std::ffi::CString;
use std::mem::MaybeUninit;

/// Initial room for a group's entry; a group with many members gets more.
const ROOM: usize = 4096;
const MOST: usize = 16 << 20;

/// The number of the group with this name or number.
pub fn group(name: &str) -> Option<u32> {
    if let Ok(number) = name.parse() {
        // To the kernel the largest number means no change.
        return Some(number).filter(|number| *number != u32::MAX);
    }
    let name = CString::new(name).ok()?;
    let mut room = ROOM;
    while room <= MOST {
        let mut entry = MaybeUninit::<libc::group>::zeroed();
        let mut strings = vec![0; room];
        let mut found = std::ptr::null_mut();
        let (to, size) = (strings.as_mut_ptr(), strings.len());
        // SAFETY: all pointers are to memory of this function, and the name is a C string.
        let failed = unsafe { libc::getgrnam_r(name.as_ptr(), entry.as_mut_ptr(), to, size, &raw mut found) };
        match failed {
            0 if found.is_null() => return None,
            // SAFETY: the group was found, so the entry is initialised.
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

    /// Check that groups are found by name and by number, and that unknown ones are not.
    #[test]
    fn groups_have_names_and_numbers() {
        assert_eq!(group("root"), Some(0));
        assert_eq!(group("4711"), Some(4711));
        for none in ["", "no such group", "-1", "4294967295", "a\0b"] {
            assert_eq!(group(none), None, "{none:?}");
        }
    }
}
