//! Demangled names, and those of a real library beside c++filt's.

use crate::toolchain::{Workshop, symbol};
use object::{Object, ObjectSymbol};
use std::io::Write;
use std::process::{Command, Stdio};
use symbols::{ModuleFile, Options, Symbolizer};

/// Check that names in a lookup are demangled, and not when that is turned off.
#[test]
fn demangling_can_be_turned_off() {
    let workshop = Workshop::new();
    let mangled = "_ZL12IsContentLEQP13nsDisplayItemS0_Pv";
    let source = format!(".text\n.type {mangled}, @function\n{mangled}:\n nop\n.size {mangled}, 1\n");
    let path = workshop.compile("library", &source, "-shared -nostdlib");
    let (address, _) = symbol(&path, mangled);
    for (demangle, expected) in
        [(true, "IsContentLEQ(nsDisplayItem*, nsDisplayItem*, void*)"), (false, mangled)]
    {
        let symbolizer = Symbolizer::new(Options { demangle, debug_dirs: Vec::new(), ..Options::default() });
        let module = symbolizer.open(&ModuleFile::at(&path)).unwrap();
        let found = module.lookup(address);
        assert_eq!(found.function(), Some(expected));
        assert_eq!(
            found.linkage.as_deref(),
            demangle.then_some(mangled),
            "what linkers call it is kept beside"
        );
    }
}

/// Brings both sides to one spelling where the difference is one of taste.
fn same_spelling(name: &str) -> String {
    let name = name.replace("> >", ">>").replace("> >", ">>");
    let string = "std::basic_string<char, std::char_traits<char>, std::allocator<char>>";
    let stream = |kind: &str| format!("std::basic_{kind}<char, std::char_traits<char>>");
    let mut name = name.replace(string, "std::string").replace("::basic_string(", "::string(");
    for kind in ["ostream", "istream", "iostream"] {
        name = name.replace(&stream(kind), &format!("std::{kind}"));
        name = name.replace(&format!("~basic_{kind}"), &format!("~{kind}"));
        name = name.replace(&format!("::basic_{kind}("), &format!("::{kind}("));
    }
    name.replace("~basic_string", "~string")
}

/// Check that of the functions of libstdc++ at least 99 in 100 read as c++filt prints them.
#[test]
fn libstdcxx_reads_as_cxxfilt_prints_it() {
    let found = Command::new("gcc").arg("-print-file-name=libstdc++.so.6").output().unwrap().stdout;
    let library = String::from_utf8(found).unwrap().trim().to_owned();
    let (Ok(bytes), Ok(mut filter)) = (
        std::fs::read(&library),
        Command::new("c++filt").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn(),
    ) else {
        return println!("skipped: no libstdc++ or no c++filt");
    };
    let file = object::File::parse(&*bytes).unwrap();
    let functions = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.kind() == object::SymbolKind::Text);
    let names: Vec<String> = functions.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect();
    let mut input = filter.stdin.take().unwrap();
    let text = names.join("\n") + "\n";
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = filter.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let expected = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<&str> = expected.lines().collect();
    assert_eq!(expected.len(), names.len());
    assert!(names.len() > 1000, "only {} functions in {library}", names.len());
    let different: Vec<_> = names
        .iter()
        .zip(expected)
        .map(|(name, expected)| (same_spelling(&symbols::demangle(name)), same_spelling(expected)))
        .filter(|(ours, theirs)| ours != theirs)
        .collect();
    let share = different.len() as f64 / names.len() as f64;
    println!("{} of {} differ", different.len(), names.len());
    assert!(share < 0.01, "{share:.3} differ, among them {:#?}", &different[..different.len().min(5)]);
}
