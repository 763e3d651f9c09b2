//! Reports through the Rust interface that it runs a script: two functions in one native frame.

use std::hint::black_box;
use std::sync::OnceLock;
use sysprof_memprof_api as memprof;

static FUNCTIONS: OnceLock<[memprof::Function; 2]> = OnceLock::new();

fn say(frames: &mut memprof::Frames<'_>) {
    if let Some([outer, inner]) = FUNCTIONS.get() {
        frames.push(*inner, 9, std::ptr::null::<u8>());
        frames.push(*outer, 0, std::ptr::null::<u8>());
    }
}

fn main() {
    let named = ["äußere", "innere"].map(|name| memprof::Function::new(name, ""));
    FUNCTIONS.set(named).expect("they are named once");
    memprof::set_stack_provider(Some(say));
    drop(black_box(vec![0_u8; 1001]));
    memprof::set_stack_provider(None);
    drop(black_box(vec![0_u8; 1002]));
}
