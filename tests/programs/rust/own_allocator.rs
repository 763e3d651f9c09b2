//! Has a global allocator of its own, with the names that jemalloc's crate uses.

use std::alloc::{GlobalAlloc, Layout, System};

struct Own;

#[unsafe(no_mangle)]
extern "C" fn _rjem_malloc(size: usize) -> *mut u8 {
    let layout = Layout::from_size_align(size, 16).unwrap();
    // SAFETY: the layout has a size.
    unsafe { System.alloc(layout) }
}

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        _rjem_malloc(layout.size().max(1))
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from there.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static OWN: Own = Own;

fn main() {
    println!("{}", ["it", "ran"].join(" "));
}
