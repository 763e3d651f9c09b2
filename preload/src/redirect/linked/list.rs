//! A list in memory of its own: the stack of a thread may be too small for it.

use super::text::PLACES;
use crate::platform::sys;

/// At most [`PLACES`] values. The memory is mapped for the first one.
pub(super) struct List<T: Copy> {
    /// Null without memory.
    memory: *mut T,
    length: usize,
}

impl<T: Copy> List<T> {
    const BYTES: usize = PLACES * size_of::<T>();

    /// An empty list.
    pub(super) const fn new() -> Self {
        Self { memory: core::ptr::null_mut(), length: 0 }
    }

    /// Appends a value; false if there is no room.
    pub(super) fn push(&mut self, value: T) -> bool {
        if self.memory.is_null() {
            self.memory = sys::map_sparse(Self::BYTES).cast();
        }
        if self.memory.is_null() || self.length == PLACES {
            return false;
        }
        // SAFETY: the memory has room for `PLACES` values, of which fewer are there, and is aligned to a page.
        unsafe { self.memory.wrapping_add(self.length).write(value) };
        self.length += 1;
        true
    }

    /// Removes all values.
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    /// The values.
    pub(super) fn all(&self) -> &[T] {
        if self.memory.is_null() {
            return &[];
        }
        // SAFETY: so many values were written, and the memory lives as long as `self`.
        unsafe { core::slice::from_raw_parts(self.memory, self.length) }
    }
}

impl<T: Copy> Drop for List<T> {
    fn drop(&mut self) {
        if !self.memory.is_null() {
            // SAFETY: mapped with this size, and nobody else has it.
            unsafe { sys::unmap(self.memory.cast(), Self::BYTES) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a list holds what was appended, refuses what is too much, and can begin anew.
    #[test]
    fn lists_hold_what_fits() {
        let mut list = List::new();
        assert!(list.all().is_empty());
        assert!((0..PLACES).all(|value| list.push(value)));
        assert!(!list.push(0));
        assert!(list.all().iter().copied().eq(0..PLACES));
        list.clear();
        assert!(list.push(7));
        assert_eq!(list.all(), [7]);
    }
}
