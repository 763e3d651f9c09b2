//! Calls that pass through compiled C code.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Walks once, in the first comparison.
unsafe extern "C" fn compare(a: *const c_void, b: *const c_void) -> c_int {
    if DEPTH.get() == 0 {
        DEPTH.set(assert_walks_like_backtrace!());
    }
    // SAFETY: the callers below sort and search integers.
    let a = unsafe { a.cast::<c_int>().read() };
    // SAFETY: as above.
    let b = unsafe { b.cast::<c_int>().read() };
    a - b
}

/// Check that frames under `qsort` are glibc's.
#[test]
fn qsort_is_crossed() {
    let mut numbers = [5, 3, 9, 1, 7, 2, 8];
    // SAFETY: seven integers, and a function that compares integers.
    unsafe { libc::qsort(numbers.as_mut_ptr().cast(), numbers.len(), 4, Some(compare)) };
    assert_eq!(numbers, [1, 2, 3, 5, 7, 8, 9]);
    assert!(DEPTH.get() > 2);
}

/// Check that frames under `bsearch` are glibc's.
#[test]
fn bsearch_is_crossed() {
    let numbers = [1, 2, 3, 5, 7, 8, 9];
    let wanted: c_int = 8;
    // SAFETY: seven sorted integers, and a function that compares integers.
    let found = unsafe {
        libc::bsearch((&raw const wanted).cast(), numbers.as_ptr().cast(), numbers.len(), 4, Some(compare))
    };
    assert_eq!(found.cast_const(), (&raw const numbers[5]).cast());
    assert!(DEPTH.get() > 2);
}
