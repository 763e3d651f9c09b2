//! Files of another machine, copied here.

use crate::toolchain::{PROGRAM, Workshop, build_id, symbol};
use std::fs;
use symbols::{ModuleFile, Options, Reason, Symbolizer};

/// Check that a program is found in the copy, that its debug file in the copy's own directory takes its place if
/// another build is there, and that without it another build, or none, gives no name.
#[test]
fn files_are_found_in_a_copy_of_their_machine() {
    let workshop = Workshop::new();
    let path = workshop.compile("program", PROGRAM, "-O1 -g -Wl,--build-id");
    let (address, _) = symbol(&path, "local_function");
    let id = build_id(&path);
    workshop.split("program");
    let debug = workshop.build_id_path("program");
    fs::rename(workshop.path("program.debug"), &debug).unwrap();
    let inside = workshop.path("copy/srv/app/program");
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::rename(&path, &inside).unwrap();
    fs::create_dir_all(workshop.path("copy/usr/lib")).unwrap();
    fs::rename(workshop.path("debug"), workshop.path("copy/usr/lib/debug")).unwrap();

    let module = ModuleFile { build_id: id, ..ModuleFile::at("/srv/app/program") };
    let open = |sysroot: Option<&str>| {
        let options = Options { sysroot: sysroot.map(|root| workshop.path(root)), ..Options::default() };
        let opened = Symbolizer::new(options).open(&module)?;
        Ok(opened.lookup(address).function().map(str::to_owned))
    };
    assert_eq!(open(Some("copy")), Ok(Some("local_function".to_owned())));
    assert_eq!(open(Some("elsewhere")), Err(Reason::FileMissing));
    assert_eq!(open(None), Err(Reason::FileMissing));
    workshop.compile("copy/srv/app/program", "int main(void) { return 7; }", "-Wl,--build-id");
    assert_eq!(open(Some("copy")), Ok(Some("local_function".to_owned())));
    fs::remove_dir_all(workshop.path("copy/usr/lib/debug")).unwrap();
    assert_eq!(open(Some("copy")), Err(Reason::FileReplaced));
}
