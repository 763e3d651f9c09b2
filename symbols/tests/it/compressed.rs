//! Compressed debug sections.

use crate::toolchain::{PROGRAM, Workshop, symbol};

/// Check that each form of compression gives the lines of the uncompressed file.
#[test]
fn compressed_sections_give_the_same_lines() {
    let workshop = Workshop::new();
    let path = workshop.compile("plain", PROGRAM, "-O1 -g");
    let (address, size) = symbol(&path, "main");
    let addresses: Vec<u64> = (address..address + size).collect();
    let expected = workshop.lookup("plain", &addresses);
    assert_eq!(expected[0].frames[0].line, Some(5));
    let known = std::process::Command::new("objcopy").arg("--help").output().unwrap().stdout;
    let known = String::from_utf8_lossy(&known).into_owned();
    for format in ["zlib-gabi", "zlib-gnu", "zstd"] {
        if !known.contains(format) {
            println!("skipped: this objcopy has no {format}");
            continue;
        }
        workshop.run(&format!("objcopy --compress-debug-sections={format} plain {format}"));
        assert_eq!(workshop.lookup(format, &addresses), expected, "{format}");
    }
}
