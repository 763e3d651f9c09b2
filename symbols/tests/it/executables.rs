//! Kinds of executables and layouts of segments.

use crate::toolchain::{PROGRAM, Workshop, section, symbol};
use symbols::{ModuleFile, Reason};

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

/// A program whose constructors and destructors the C library calls beside main.
const CONSTRUCTED: &str = "
volatile int sink;
__attribute__((constructor)) static void before(void) { sink = 1; }
__attribute__((destructor)) static void after(void) { sink = 2; }
__attribute__((noinline)) static int called(int x) { sink = x; return x + sink; }
int main(void) { return called(sink) & 1; }
";

/// Check that main of a stripped program is known, from the first byte to the last, as what the entry passes to the C
/// library, however linkers write that down, and that nothing else is taken for it.
#[test]
fn main_of_a_stripped_program_is_what_its_entry_passes() {
    for (kind, compiler, flags) in [
        ("PIE", "gcc", "-pie -fPIE"),
        ("PIE through a word", "gcc", "-pie -fPIE -Wl,--no-relax"),
        ("PIE with packed relocations", "gcc", "-pie -fPIE -Wl,--no-relax -Wl,-z,pack-relative-relocs"),
        ("non-PIE", "gcc", "-no-pie"),
        ("non-PIE through a word", "gcc", "-no-pie -Wl,--no-relax"),
        ("static", "gcc", "-static -Wl,--eh-frame-hdr"),
        ("static PIE", "gcc", "-static-pie -fPIE"),
        ("lld", "gcc", "-pie -fPIE -fuse-ld=lld"),
        ("gold", "gcc", "-pie -fPIE -fuse-ld=gold"),
        ("a main that is exported", "gcc", "-pie -fPIE -rdynamic -Wl,--no-relax"),
        ("musl", "musl-gcc", "-Wl,--eh-frame-hdr -fasynchronous-unwind-tables"),
        ("static with musl", "musl-gcc", "-static -Wl,--eh-frame-hdr -fasynchronous-unwind-tables"),
    ] {
        let workshop = Workshop::new();
        if !workshop.try_compile_with(compiler, "program", CONSTRUCTED, &format!("-O1 {flags}")) {
            println!("skipped: {kind}, not supported here");
            continue;
        }
        let path = workshop.path("program");
        let functions = ["main", "before", "after", "called"].map(|name| (name, symbol(&path, name)));
        workshop.run("strip program");
        for (name, (address, size)) in functions {
            for address in [address, address + size - 1] {
                let lookup = workshop.lookup("program", &[address]).remove(0);
                let found = lookup.linkage.as_deref().or(lookup.function());
                assert_eq!(found, (name == "main").then_some("main"), "{kind}: {name}: {lookup:?}");
            }
        }
    }
}

/// Check that main is found on 64-bit ARM, where crt1.o of programs at fixed addresses passes a function that jumps
/// there.
#[test]
fn main_is_found_on_64_bit_arm() {
    let source = ".globl main, __libc_start_main, abort\n.type main, %function\nother: .cfi_startproc\nret\n\
                  .cfi_endproc\nmain: .cfi_startproc\nret\n.cfi_endproc\n.size main, . - main\n\
                  __libc_start_main: ret\nabort: ret\n";
    for (object, flags) in [("crt1.o", ""), ("Scrt1.o", "-pie"), ("Scrt1.o", "-pie --no-relax")] {
        let workshop = Workshop::new();
        std::fs::write(workshop.path("main.s"), source).unwrap();
        let object = std::path::Path::new("/usr/aarch64-linux-gnu/lib").join(object);
        let is_there = std::process::Command::new("aarch64-linux-gnu-as")
            .current_dir(workshop.path(""))
            .args(["-o", "main.o", "main.s"])
            .status()
            .is_ok_and(|status| status.success());
        if !is_there || !object.exists() {
            println!("skipped: no binutils or C library for 64-bit ARM");
            return;
        }
        workshop.run(&format!(
            "aarch64-linux-gnu-ld {flags} --eh-frame-hdr -o program {} main.o",
            object.display()
        ));
        let (main, _) = symbol(&workshop.path("program"), "main");
        let (other, _) = symbol(&workshop.path("program"), "other");
        workshop.run("aarch64-linux-gnu-strip program");
        let linkage = |address| workshop.lookup("program", &[address]).remove(0).linkage;
        assert_eq!(linkage(main).as_deref(), Some("main"), "{flags} {}", object.display());
        assert_eq!(linkage(other), None, "{flags} {}", object.display());
    }
}

/// A library with exported functions without a size, written by hand, each followed by functions that are not exported.
const SIZELESS: &str = "
__asm__(\".text\\n.globl tiny\\n.type tiny,@function\\ntiny:\\n nop\\n ret\\n\");
volatile int sink;
__attribute__((noinline, visibility(\"hidden\"))) int hidden(int x) { sink = x; return x + sink; }
__attribute__((noinline, visibility(\"hidden\"))) int another(int x) { return hidden(x) * 3; }
__asm__(\".text\\n.globl listed\\n.type listed,@function\\nlisted:\\n.cfi_startproc\\n nop\\n ret\\n.cfi_endproc\\n\"
        \".type bare,@function\\nbare:\\n nop\\n ret\\n.size bare, .-bare\\n\");
int exported(int x) { return another(x) + 1; }
";

/// Check that a function without a size ends where the unwind tables say that it, or that another one, begins or
/// ends: what is behind it in a stripped library has no name.
#[test]
fn functions_without_a_size_end_where_another_is_listed() {
    for flags in ["-shared -fPIC", "-shared -fPIC -fuse-ld=lld", "-shared -fPIC -fuse-ld=gold"] {
        let workshop = Workshop::new();
        if !workshop.try_compile("library", SIZELESS, &format!("-O1 -fno-toplevel-reorder {flags}")) {
            println!("skipped: {flags}");
            continue;
        }
        let path = workshop.path("library");
        let names = ["tiny", "hidden", "another", "listed", "bare", "exported"];
        let addresses = names.map(|name| symbol(&path, name).0);
        workshop.run("strip library");
        for headers in [true, false] {
            if !headers {
                without_section_headers(&path);
            }
            let found = addresses.map(|address| workshop.function("library", address + 1).ok());
            let expected = ["tiny", "", "", "listed", "", "exported"];
            let expected = expected.map(|name| Some(name.to_owned()).filter(|name| !name.is_empty()));
            assert_eq!(found, expected, "{flags}, section headers: {headers}");
        }
    }
}

/// Removes the section headers, as `llvm-strip --strip-sections` does.
fn without_section_headers(path: &std::path::Path) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[0x28..0x30].fill(0);
    bytes[0x3c..0x40].fill(0);
    std::fs::write(path, bytes).unwrap();
}

/// Check that exported functions and variables have their names without section headers, whichever hash table tells how
/// many there are, and that functions that are not exported have their starts.
#[test]
fn files_without_section_headers_have_exported_names() {
    let source = format!("{PROGRAM}\nint variable[25] = {{1}};");
    for flags in ["-Wl,--hash-style=gnu", "-Wl,--hash-style=sysv", "-Wl,--hash-style=both -fuse-ld=lld"] {
        let workshop = Workshop::new();
        if !workshop.try_compile("library", &source, &format!("-O1 -shared -fPIC {flags}")) {
            println!("skipped: {flags}");
            continue;
        }
        let path = workshop.path("library");
        let [global, local, variable] =
            ["global_function", "local_function", "variable"].map(|name| symbol(&path, name));
        let file_start = workshop.symbolizer().open(&ModuleFile::at(&path)).unwrap().variable(variable.0).0;
        without_section_headers(&path);
        for address in [global.0, global.0 + global.1 - 1] {
            assert_eq!(workshop.function("library", address).as_deref(), Ok("global_function"), "{flags}");
        }
        let nameless = workshop.lookup("library", &[local.0 + 1]).remove(0);
        assert_eq!((nameless.function(), nameless.start), (None, Some(local.0)), "{flags}");
        let module = workshop.symbolizer().open(&ModuleFile::at(&path)).unwrap();
        assert_eq!(module.variable(variable.0), (file_start, Some("variable".to_owned())), "{flags}");
    }
}

/// Check that tables of the dynamic loader that lead anywhere are survived.
#[test]
fn damaged_dynamic_tables_are_survived() {
    let workshop = Workshop::new();
    let path = workshop.compile("library", PROGRAM, "-O1 -shared -fPIC");
    let (dynamic, size) = section(&path, ".dynamic");
    let bytes = std::fs::read(&path).unwrap();
    let offset = {
        use object::{Object, ObjectSection};
        let file = object::File::parse(&*bytes).unwrap();
        file.section_by_name(".dynamic").unwrap().file_range().unwrap().0 as usize
    };
    assert!(dynamic > 0);
    for at in (0..size as usize).step_by(8) {
        for value in [0, 1, u64::MAX, 1 << 62, 0x1000] {
            let mut damaged = bytes.clone();
            damaged[offset + at..offset + at + 8].copy_from_slice(&value.to_le_bytes());
            std::fs::write(&path, damaged).unwrap();
            without_section_headers(&path);
            workshop.lookup("library", &[0x1000, 0x1100, 0x1120, u64::MAX]);
        }
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
