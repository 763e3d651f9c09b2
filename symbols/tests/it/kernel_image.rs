//! The running kernel's own file.

use crate::toolchain::{Workshop, build_id, symbol};
use symbols::{KernelImage, Symbolizer};

const KERNEL: &str = "
volatile int sink;
__attribute__((noinline)) void _stext(void) { sink = 0; }
static inline __attribute__((always_inline)) void inlined(void) { sink = 1; }
__attribute__((noinline)) void sys_call(void) {
    inlined();
    sink = 2;
}
";

/// Check that a kernel's file is used only if its build id is the running one's, and gives lines and inlined
/// functions for addresses relative to its beginning.
#[test]
fn kernel_file_gives_lines() {
    let workshop = Workshop::new();
    let path = workshop.compile("vmlinux", KERNEL, "-O1 -g -nostdlib -no-pie -Wl,--build-id,-e_stext");
    let places = || [workshop.path("missing"), path.clone()];
    assert_eq!(KernelImage::find(&[1, 2, 3], places()), None);
    let image = KernelImage::find(&build_id(&path), places()).expect("the file is found");
    let (start, (address, size)) = (symbol(&path, "_stext").0, symbol(&path, "sys_call"));
    assert_eq!(image.start, start);
    let module = Symbolizer::default().open(&image.file).unwrap();
    let lookups: Vec<_> = (0..size).map(|offset| module.lookup(address + offset)).collect();
    assert!(lookups.iter().all(|lookup| lookup.function() == Some("sys_call")));
    let inlined = lookups.iter().find(|lookup| lookup.frames.len() == 2).expect("a function was inlined");
    assert_eq!(inlined.frames[0].function.as_deref(), Some("inlined"));
    assert_eq!((inlined.frames[0].line, inlined.frames[1].line), (Some(4), Some(6)));
}
