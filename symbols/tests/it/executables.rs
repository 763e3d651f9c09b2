//! Kinds of executables and layouts of segments.

use crate::toolchain::{PROGRAM, Workshop, section, symbol};
use symbols::Reason;

/// Check that each kind of executable, and a library, resolves its own functions, exported and static, from the
/// first byte to the last.
#[test]
fn every_kind_of_executable_resolves() {
    for (kind, flags) in [
        ("static", "-static"),
        ("static-PIE", "-static-pie -fPIE"),
        ("PIE", "-pie -fPIE"),
        ("non-PIE", "-no-pie"),
        ("library", "-shared -fPIC"),
        ("one segment for code and constants", "-no-pie -Wl,-z,noseparate-code"),
        ("gold", "-fuse-ld=gold"),
        ("lld", "-fuse-ld=lld"),
        ("sections of their own", "-ffunction-sections -Wl,--gc-sections -fuse-ld=bfd"),
        ("32 bits", "-m32 -nostdlib -Wl,-emain"),
    ] {
        let workshop = Workshop::new();
        if !workshop.try_compile("program", PROGRAM, &format!("-O1 -g {flags}")) {
            println!("skipped: {kind}, not supported by this gcc");
            continue;
        }
        for name in ["main", "global_function", "local_function"] {
            let (address, size) = symbol(&workshop.path("program"), name);
            for address in [address, address + size - 1] {
                assert_eq!(workshop.function("program", address).as_deref(), Ok(name), "{kind}");
            }
        }
    }
}

/// Check that functions of stripped programs are told apart by where they begin, from the first byte to the last, and
/// that gaps between functions, and functions with a name, have no such start.
#[test]
fn functions_without_names_have_their_starts() {
    for (kind, flags) in [("PIE", "-pie -fPIE"), ("non-PIE", "-no-pie"), ("lld", "-fuse-ld=lld")] {
        let workshop = Workshop::new();
        if !workshop.try_compile("program", PROGRAM, &format!("-O1 -falign-functions=64 {flags}")) {
            println!("skipped: {kind}, not supported by this gcc");
            continue;
        }
        let functions =
            ["main", "global_function", "local_function"].map(|name| symbol(&workshop.path("program"), name));
        let start = |address| workshop.lookup("program", &[address]).remove(0).start;
        assert_eq!(start(functions[1].0), None, "{kind}: it has a name");
        let stripped = std::process::Command::new("strip").arg(workshop.path("program")).status().unwrap();
        assert!(stripped.success());
        for (address, size) in functions {
            for inside in [address, address + size - 1] {
                assert_eq!(start(inside), Some(address), "{kind}");
            }
            assert_eq!(start(address + size), None, "{kind}: behind the function");
        }
    }
}

/// Check that the entry of a stripped program has its name, from the first byte to the last, and nothing behind it; and
/// that the entry of a library, which may be called anything, has none.
#[test]
fn entry_of_a_stripped_program_has_a_name() {
    let library = "-shared -fPIC -nostdlib -fvisibility=hidden -Wl,-eglobal_function";
    for (kind, flags, expected) in [
        ("PIE", "-pie -fPIE", Ok("_start".to_owned())),
        ("non-PIE", "-no-pie", Ok("_start".to_owned())),
        ("lld", "-pie -fPIE -fuse-ld=lld", Ok("_start".to_owned())),
        ("library", library, Err(Reason::NoSymbols)),
    ] {
        let workshop = Workshop::new();
        if !workshop.try_compile("program", PROGRAM, &format!("-O1 {flags}")) {
            println!("skipped: {kind}, not supported by this gcc");
            continue;
        }
        let entry = if flags == library { "global_function" } else { "_start" };
        let (address, size) = symbol(&workshop.path("program"), entry);
        let stripped = std::process::Command::new("strip").arg(workshop.path("program")).status().unwrap();
        assert!(stripped.success());
        for inside in [address, address + size - 1] {
            assert_eq!(workshop.function("program", inside), expected, "{kind}");
        }
        assert!(workshop.function("program", address + size).is_err(), "{kind}: behind the function");
    }
}

/// Check that lines come with functions in every version of DWARF, and paths as the compiler recorded them.
#[test]
fn every_version_of_dwarf_has_lines() {
    for flags in ["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gdwarf64 -gdwarf-5", "-g1"] {
        let workshop = Workshop::new();
        if !workshop.try_compile("program", PROGRAM, &format!("-O1 {flags}")) {
            println!("skipped: {flags}, not supported by this gcc");
            continue;
        }
        let (address, _) = symbol(&workshop.path("program"), "global_function");
        let lookup = workshop.lookup("program", &[address]).remove(0);
        let [frame] = &lookup.frames[..] else { panic!("{flags}: {lookup:?}") };
        assert_eq!(frame.function.as_deref(), Some("global_function"), "{flags}");
        assert_eq!(frame.line, Some(4), "{flags}");
        let expected = workshop.path("program.source.c").canonicalize().unwrap();
        assert_eq!(frame.file.as_deref().map(std::path::Path::new), Some(&*expected), "{flags}");
        assert_eq!(lookup.reason, None);
    }
}

/// Check that an image in memory resolves as the file does.
#[test]
fn image_in_memory_resolves() {
    let workshop = Workshop::new();
    let path = workshop.compile("program", PROGRAM, "-O1 -g");
    let (address, _) = symbol(&path, "main");
    let module = workshop.symbolizer().open_image(std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(module.lookup(address), workshop.lookup("program", &[address])[0]);
    assert_eq!(module.lookup(address).function(), Some("main"));
}

/// Check that a large function which the linker dropped, with its debug information moved to address 0, names neither
/// the stubs at the start of the code nor the real functions there.
#[test]
fn dropped_function_names_nothing() {
    let source = format!(
        "{PROGRAM}
        int puts(const char *);
        void dropped(void) {{ sink = 1; puts(\"\"); asm volatile(\".fill 0x8000, 1, 0x90\"); sink = 2; }}
        void *volatile keep_a_stub = puts;
        __attribute__((noinline)) void caller(void) {{ puts(\"\"); }}
        __attribute__((constructor)) void early(void) {{ caller(); }}"
    );
    for flags in ["-gdwarf-5", "-gdwarf-4", "-gdwarf-5 -fuse-ld=gold"] {
        let workshop = Workshop::new();
        let flags = format!("-O1 {flags} -pie -fPIE -ffunction-sections -Wl,--gc-sections -Wl,-z,lazy");
        if !workshop.try_compile("program", &source, &flags) {
            println!("skipped: {flags}");
            continue;
        }
        let path = workshop.path("program");
        let (stubs, size) = section(&path, ".plt");
        for address in stubs..stubs + size {
            assert_eq!(
                workshop.function("program", address),
                Err(Reason::NoSymbolHere),
                "{flags} {address:#x}"
            );
        }
        for (name, line) in [("main", 5), ("global_function", 4), ("local_function", 3)] {
            let lookup = workshop.lookup("program", &[symbol(&path, name).0]).remove(0);
            assert_eq!((lookup.function(), lookup.frames[0].line), (Some(name), Some(line)), "{flags}");
        }
    }
}
