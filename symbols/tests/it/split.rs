//! Split debug information, beside the object files.

use crate::toolchain::{Workshop, symbol};
use std::fs;
use std::process::Command;
use symbols::Lookup;

const SOURCE: &str = "
volatile int sink;
static inline __attribute__((always_inline)) void inner(int x) { sink = x; }
__attribute__((noipa)) static void outer(int x) {
    inner(x + 1);
    sink = 0;
}
int main(void) { outer(1); return sink; }
";

/// Compiles with split debug information, and returns the addresses of `outer`.
fn compile(workshop: &Workshop, version: &str) -> Vec<u64> {
    workshop.compile("unit.o", SOURCE, &format!("-O2 -g -gsplit-dwarf {version} -c"));
    workshop.run("gcc -o program unit.o");
    let (address, size) = symbol(&workshop.path("program"), "outer");
    (address..address + size).collect()
}

fn has_inlined(lookups: &[Lookup]) -> bool {
    let chain = [("inner", Some(3)), ("outer", Some(5))];
    lookups.iter().any(|lookup| {
        let frames = lookup.frames.iter();
        frames.map(|frame| (frame.function.as_deref().unwrap_or_default(), frame.line)).eq(chain)
    })
}

/// The `.dwo` file that the compiler wrote.
fn split_off(workshop: &Workshop) -> std::path::PathBuf {
    let folder = fs::read_dir(workshop.path("")).unwrap();
    let mut names = folder.map(|entry| entry.unwrap().path());
    names.find(|path| path.extension().is_some_and(|extension| extension == "dwo")).expect("a .dwo was made")
}

/// Check that inlined functions are found in a `.dwo` file where it was made, beside the binary and in a folder of
/// debug files, and that without it the symbol table's name and the skeleton's line remain.
#[test]
fn split_units_are_found() {
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let workshop = Workshop::new();
        let addresses = compile(&workshop, version);
        assert!(has_inlined(&workshop.lookup("program", &addresses)), "{version}");
        fs::create_dir(workshop.path("moved")).unwrap();
        fs::rename(workshop.path("program"), workshop.path("moved/program")).unwrap();
        let dwo = split_off(&workshop);
        fs::rename(&dwo, workshop.path("moved").join(dwo.file_name().unwrap())).unwrap();
        assert!(has_inlined(&workshop.lookup("moved/program", &addresses)), "{version}, beside");
        fs::create_dir(workshop.path("debug")).unwrap();
        let in_debug = workshop.path("debug").join(dwo.file_name().unwrap());
        fs::rename(workshop.path("moved").join(dwo.file_name().unwrap()), &in_debug).unwrap();
        assert!(has_inlined(&workshop.lookup("moved/program", &addresses)), "{version}, in a folder");
        fs::remove_file(in_debug).unwrap();
        let without = workshop.lookup("moved/program", &addresses);
        assert!(!has_inlined(&without) && without.iter().all(|l| l.function() == Some("outer")), "{version}");
        assert!(without.iter().any(|l| l.frames[0].line == Some(6)), "{version}: {without:?}");
    }
}

/// Check that units in a package are found, even if only the package is left, in a folder of debug files.
#[test]
fn packaged_units_are_found() {
    if Command::new("llvm-dwp").arg("--version").output().is_err() {
        return println!("skipped: no llvm-dwp");
    }
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let workshop = Workshop::new();
        let addresses = compile(&workshop, version);
        workshop.run("llvm-dwp -e program -o program.dwp");
        fs::remove_file(split_off(&workshop)).unwrap();
        assert!(has_inlined(&workshop.lookup("program", &addresses)), "{version}");
        fs::create_dir(workshop.path("debug")).unwrap();
        fs::rename(workshop.path("program.dwp"), workshop.path("debug/program.dwp")).unwrap();
        assert!(has_inlined(&workshop.lookup("program", &addresses)), "{version}, in a folder");
    }
}

/// Check that a unit of another compilation is not used.
#[test]
fn recompiled_units_are_refused() {
    let workshop = Workshop::new();
    let addresses = compile(&workshop, "-gdwarf-5");
    fs::copy(workshop.path("program"), workshop.path("before")).unwrap();
    workshop.compile("unit.o", &SOURCE.replace("inner", "renamed"), "-O2 -g -gsplit-dwarf -gdwarf-5 -c");
    let lookups = workshop.lookup("before", &addresses);
    assert!(lookups.iter().all(|lookup| lookup.frames.len() == 1), "{lookups:?}");
    assert!(lookups.iter().all(|lookup| lookup.function() == Some("outer")), "{lookups:?}");
}
