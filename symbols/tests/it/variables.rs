//! Names of variables.

use crate::toolchain::{Workshop, symbol};
use symbols::ModuleFile;

const SOURCE: &str = "
int in_data = 7;
static long in_bss[10];
const int constant = 9;
__thread int of_each_thread = 3;
int main(int count, char **arguments) { in_bss[count] = of_each_thread; return in_data + constant + (int)in_bss[0]; }
";

/// Check that variables, static ones and constants included, are found from first byte to last by their offset from
/// the file's beginning, in executables of every kind, and that functions and thread-local variables are not.
#[test]
fn variables_have_names() {
    for flags in ["-pie -fPIE", "-no-pie", "-no-pie -Wl,-z,noseparate-code", "-static"] {
        let workshop = Workshop::new();
        if !workshop.try_compile("program", SOURCE, &format!("-O0 {flags}")) {
            println!("skipped: {flags}, not supported by this gcc");
            continue;
        }
        let path = workshop.path("program");
        let beginning = if flags.starts_with("-pie") { 0 } else { 0x40_0000 };
        let module = workshop.symbolizer().open(&ModuleFile::at(&path)).unwrap();
        for name in ["in_data", "in_bss", "constant"] {
            let (address, size) = symbol(&path, name);
            for address in [address, address + size - 1] {
                let (range, found) = module.variable(address - beginning);
                assert_eq!(found.as_deref(), Some(name), "{flags}");
                assert!(range.contains(&(address - beginning)), "{flags} {range:x?}");
            }
        }
        for name in ["main", "of_each_thread"] {
            let (address, _) = symbol(&path, name);
            assert_ne!(module.variable(address.wrapping_sub(beginning)).1.as_deref(), Some(name), "{flags}");
        }
        assert_eq!(module.variable(u64::MAX).1, None);
    }
}

/// Check that variables of a stripped program have the names of its debug file.
#[test]
fn debug_file_names_variables() {
    let workshop = Workshop::new();
    let path = workshop.compile("program", SOURCE, "-O0 -g -pie -fPIE -Wl,--build-id");
    let (address, _) = symbol(&path, "in_bss");
    workshop.split("program");
    let name = || workshop.symbolizer().open(&ModuleFile::at(&path)).unwrap().variable(address).1;
    assert_eq!(name(), None);
    workshop.run("objcopy --add-gnu-debuglink=program.debug program");
    assert_eq!(name().as_deref(), Some("in_bss"));
}
