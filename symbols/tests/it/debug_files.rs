//! Symbols in the binary, in the debug file, in both, in neither.

use crate::toolchain::{PROGRAM, Workshop, make_nobits, symbol};
use std::fs;
use symbols::{ModuleFile, Reason, Refusal};

/// Where a debug file of a split program may lie.
#[derive(Clone, Copy, Debug)]
enum Place {
    BuildId,
    Adjacent,
    DotDebug,
    DebugDirectory,
}

/// Puts `program.debug` somewhere; all but the first place need a debug link.
fn place(workshop: &Workshop, place: Place) {
    if !matches!(place, Place::BuildId) {
        workshop.run("objcopy --add-gnu-debuglink=program.debug program");
    }
    let here = workshop.path("").canonicalize().unwrap();
    let target = match place {
        Place::BuildId => workshop.build_id_path("program"),
        Place::Adjacent => return,
        Place::DotDebug => workshop.path(".debug/program.debug"),
        Place::DebugDirectory => {
            workshop.path("debug").join(here.strip_prefix("/").unwrap()).join("program.debug")
        }
    };
    fs::create_dir_all(target.parent().unwrap()).unwrap();
    fs::rename(workshop.path("program.debug"), target).unwrap();
}

/// Check that a debug file is found in each of the documented places, with static functions and lines.
#[test]
fn debug_file_is_found_in_every_place() {
    for where_it_is in [Place::BuildId, Place::Adjacent, Place::DotDebug, Place::DebugDirectory] {
        let workshop = Workshop::new();
        let path = workshop.compile("program", PROGRAM, "-O1 -g -Wl,--build-id");
        let (address, _) = symbol(&path, "local_function");
        workshop.split("program");
        assert_eq!(workshop.function("program", address), Err(Reason::NoSymbols));
        place(&workshop, where_it_is);
        let module = workshop.symbolizer().open(&ModuleFile::at(&path)).unwrap();
        let lookup = module.lookup(address);
        assert_eq!(lookup.function(), Some("local_function"), "{where_it_is:?} {:?}", module.debug_files());
        assert_eq!(lookup.frames[0].line, Some(3), "{where_it_is:?}");
        assert_eq!(module.debug_files().used.len(), 1);
    }
}

/// Check that symbols are found whichever of the two files has a symbol table, and that a NOBITS table, as stubs
/// have it, is not read as data.
#[test]
fn symbols_may_be_in_either_file() {
    for (binary_has, debug_has, expected) in [
        (true, true, Ok("local_function")),
        (true, false, Ok("local_function")),
        (false, true, Ok("local_function")),
        (false, false, Err(Reason::NoSymbols)),
    ] {
        for debug_info in [true, false] {
            let workshop = Workshop::new();
            let path = workshop.compile("program", PROGRAM, "-O1 -g -Wl,--build-id");
            let (address, _) = symbol(&path, "local_function");
            workshop.run("objcopy --only-keep-debug program program.debug");
            workshop.run(if binary_has {
                "strip --strip-debug program"
            } else {
                "strip --strip-all program"
            });
            workshop.run("objcopy --add-gnu-debuglink=program.debug program");
            let debug = workshop.path("program.debug");
            if !debug_has {
                make_nobits(&debug, ".symtab");
            }
            if !debug_info {
                make_nobits(&debug, ".debug_info");
            }
            let found = workshop.function("program", address);
            // DWARF names a function that no symbol table names.
            let expected = if debug_info { Ok("local_function") } else { expected };
            let case = format!("table in binary {binary_has}, in debug file {debug_has}, DWARF {debug_info}");
            assert_eq!(found.as_deref().map_err(|&reason| reason), expected, "{case}");
            let lines = workshop.lookup("program", &[address])[0].frames.first().and_then(|frame| frame.line);
            assert_eq!(lines, debug_info.then_some(3), "{case}");
        }
    }
}

/// Check that a debug file with another CRC is refused with that reason, that one with the right build id is taken
/// whatever its CRC, and one with another build id is not, whatever its CRC.
#[test]
fn foreign_debug_files_are_refused() {
    let build_id = |n: u8| format!("-Wl,--build-id=0x{n:02x}aabbccddeeff00");
    for (binary, debug, crc_matches, refusal) in [
        ("-Wl,--build-id=none".to_owned(), "-Wl,--build-id=none".to_owned(), true, None),
        (
            "-Wl,--build-id=none".to_owned(),
            "-Wl,--build-id=none".to_owned(),
            false,
            Some(Refusal::OtherChecksum),
        ),
        (build_id(1), build_id(1), false, None),
        (build_id(1), build_id(2), true, Some(Refusal::OtherBuildId)),
    ] {
        let workshop = Workshop::new();
        let path = workshop.compile("program", PROGRAM, &format!("-O1 -g {binary}"));
        let (address, _) = symbol(&path, "main");
        workshop.split("program");
        workshop.compile("other", PROGRAM, &format!("-O1 -g {debug}"));
        workshop.run("objcopy --only-keep-debug other program.debug");
        workshop.run("objcopy --add-gnu-debuglink=program.debug program");
        if !crc_matches {
            let mut bytes = fs::read(workshop.path("program.debug")).unwrap();
            bytes.push(0);
            fs::write(workshop.path("program.debug"), bytes).unwrap();
        }
        let module = workshop.symbolizer().open(&ModuleFile::at(&path)).unwrap();
        let found = module.lookup(address);
        let case = format!("{binary} {debug} CRC matches: {crc_matches}");
        match refusal {
            None => assert_eq!(found.function(), Some("main"), "{case}"),
            Some(refusal) => {
                assert_eq!(found.reason, Some(Reason::DebugFileRefused), "{case}");
                assert_eq!(
                    module.debug_files().refused,
                    [(workshop.path("program.debug"), refusal)],
                    "{case}"
                );
            }
        }
    }
}

/// Check that after a refused file the search goes on, and a good one is taken.
#[test]
fn search_goes_on_after_a_refusal() {
    let workshop = Workshop::new();
    let path = workshop.compile("program", PROGRAM, "-O1 -g -Wl,--build-id");
    let (address, _) = symbol(&path, "main");
    workshop.split("program");
    workshop.run("objcopy --add-gnu-debuglink=program.debug program");
    let stranger = workshop.compile("stranger", "int main(void) { return 7; }", "-g -Wl,--build-id");
    fs::copy(stranger, workshop.build_id_path("program")).unwrap();
    let module = workshop.symbolizer().open(&ModuleFile::at(&path)).unwrap();
    assert_eq!(module.debug_files().refused, [(workshop.build_id_path("program"), Refusal::OtherBuildId)]);
    assert_eq!(module.debug_files().used, [workshop.path("program.debug")]);
    assert_eq!(module.lookup(address).function(), Some("main"));
}

/// Check that a stripped binary with a packed table of its static functions, as Fedora ships them, names them.
#[test]
fn packed_table_names_static_functions() {
    let workshop = Workshop::new();
    let path = workshop.compile("program", PROGRAM, "-O1 -g");
    let (address, size) = symbol(&path, "local_function");
    workshop.run("objcopy --strip-all --keep-symbol=local_function --keep-symbol=main program mini");
    workshop.run("strip --strip-all program");
    if std::process::Command::new("xz").arg("--version").output().is_err() {
        return println!("skipped: no xz");
    }
    workshop.run("xz mini");
    workshop.run("objcopy --add-section .gnu_debugdata=mini.xz program");
    assert_eq!(workshop.function("program", address).as_deref(), Ok("local_function"));
    assert_eq!(workshop.function("program", address + size), Err(Reason::NoSymbolHere));
}
