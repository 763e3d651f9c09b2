//! Files that were replaced, stripped, deleted or made unreadable.

use crate::toolchain::{PROGRAM, Workshop, build_id, symbol};
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use symbols::{ModuleFile, Reason};

/// What a collector records when a file is mapped.
fn record(path: &Path) -> ModuleFile {
    let metadata: Metadata = fs::metadata(path).unwrap();
    ModuleFile {
        path: path.into(),
        build_id: build_id(path),
        device: metadata.dev(),
        inode: metadata.ino(),
        modified_ns: metadata.mtime() as u64 * 1_000_000_000 + metadata.mtime_nsec() as u64,
    }
}

/// Check that a file that replaced the mapped one gives no name, with and without build ids.
#[test]
fn replaced_file_gives_no_names() {
    for flags in ["-O1 -Wl,--build-id", "-O1 -Wl,--build-id=none"] {
        let workshop = Workshop::new();
        let path = workshop.compile("program", PROGRAM, flags);
        let recorded = record(&path);
        let (address, _) = symbol(&path, "main");
        let module = workshop.symbolizer().open(&recorded).unwrap();
        assert_eq!(module.lookup(address).function(), Some("main"), "{flags}");

        fs::remove_file(&path).unwrap();
        workshop.compile(
            "program",
            "int other(void) { return 1; } int main(void) { return other(); }",
            flags,
        );
        assert_eq!(workshop.symbolizer().open(&recorded).err(), Some(Reason::FileReplaced), "{flags}");
        assert_eq!(Reason::FileReplaced.to_string(), "Binary file was replaced or changed");
    }
}

/// Check that a file that was stripped between two recordings has names in the first and none in the second, though
/// its path and build id are the same.
#[test]
fn stripped_between_two_recordings() {
    let workshop = Workshop::new();
    let path = workshop.compile("a.out", PROGRAM, "-O1 -Wl,--build-id");
    let (address, _) = symbol(&path, "main");
    let symbolizer = workshop.symbolizer();
    assert_eq!(symbolizer.open(&record(&path)).unwrap().lookup(address).function(), Some("main"));
    workshop.run("strip --strip-all a.out");
    let lookup = symbolizer.open(&record(&path)).unwrap().lookup(address);
    assert_eq!((lookup.frames.len(), lookup.reason), (0, Some(Reason::NoSymbols)));
    assert_eq!(Reason::NoSymbols.to_string(), "No symbols in binary file");
}

/// Check that a deleted file still resolves through a descriptor's path, as it does through `map_files`.
#[test]
fn deleted_file_resolves_through_proc() {
    use std::os::fd::AsRawFd;
    let workshop = Workshop::new();
    let path = workshop.compile("program", PROGRAM, "-O1");
    let (address, _) = symbol(&path, "main");
    let mut recorded = record(&path);
    let open = fs::File::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(workshop.symbolizer().open(&recorded).err(), Some(Reason::FileMissing));
    recorded.path = format!("/proc/self/fd/{}", open.as_raw_fd()).into();
    assert_eq!(workshop.symbolizer().open(&recorded).unwrap().lookup(address).function(), Some("main"));
}

/// Check the reasons for files that cannot be read.
#[test]
fn unreadable_files_have_their_reason() {
    let workshop = Workshop::new();
    fs::write(workshop.path("text"), "no ELF file").unwrap();
    fs::write(workshop.path("head"), b"\x7fELF").unwrap();
    fs::create_dir(workshop.path("directory")).unwrap();
    fs::write(workshop.path("secret"), "").unwrap();
    fs::set_permissions(workshop.path("secret"), PermissionsExt::from_mode(0o000)).unwrap();
    for (name, expected, text) in [
        ("missing", Reason::FileMissing, "Binary file was deleted or moved"),
        ("text", Reason::UnreadableElf, "Unreadable ELF file"),
        ("head", Reason::UnreadableElf, "Unreadable ELF file"),
        ("directory", Reason::FileUnreadable, "Binary file could not be read"),
        ("secret", Reason::PermissionDenied, "Permission denied"),
    ] {
        if name == "secret" && fs::read(workshop.path(name)).is_ok() {
            println!("skipped: root may read everything");
            continue;
        }
        let reason = workshop.symbolizer().open(&ModuleFile::at(workshop.path(name))).unwrap_err();
        assert_eq!((reason, reason.to_string().as_str()), (expected, text), "{name}");
    }
}
