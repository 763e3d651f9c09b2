//! Demangled names, compared with c++filt's for a real library.

use crate::toolchain::{Workshop, symbol};
use object::{Object, ObjectSymbol};
use std::io::Write;
use std::process::{Command, Stdio};
use symbols::{ModuleFile, Options, Symbolizer};

/// Check that names in a lookup are demangled, unless that is turned off.
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

/// Normalises spellings that differ only in taste.
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

/// The functions of a library of gcc, and how c++filt prints them; none where either is missing.
fn beside_cxxfilt(library: &str, format: &str) -> Option<Vec<(String, String)>> {
    let found = Command::new("gcc").arg(format!("-print-file-name={library}")).output().ok()?.stdout;
    let bytes = std::fs::read(String::from_utf8(found).ok()?.trim()).ok()?;
    let mut command = Command::new("c++filt");
    let mut filter = command
        .arg(format)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let file = object::File::parse(&*bytes).unwrap();
    let functions = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.kind() == object::SymbolKind::Text);
    let names: Vec<String> = functions.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect();
    let mut input = filter.stdin.take().unwrap();
    let text = names.join("\n") + "\n";
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = filter.wait_with_output().unwrap();
    writer.join().unwrap().ok()?;
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed: Vec<String> = printed.lines().map(str::to_owned).collect();
    assert_eq!(printed.len(), names.len());
    assert!(names.len() > 1000, "only {} functions in {library}", names.len());
    Some(names.into_iter().zip(printed).collect())
}

/// Check that at least 99 % of the functions of libstdc++ read as c++filt prints them.
#[test]
fn libstdcxx_reads_as_cxxfilt_prints_it() {
    let Some(functions) = beside_cxxfilt("libstdc++.so.6", "--format=auto") else {
        return println!("skipped: no libstdc++ or no c++filt");
    };
    let different: Vec<_> = functions
        .iter()
        .map(|(name, expected)| (same_spelling(&symbols::demangle(name)), same_spelling(expected)))
        .filter(|(ours, theirs)| ours != theirs)
        .collect();
    let share = different.len() as f64 / functions.len() as f64;
    println!("{} of {} differ", different.len(), functions.len());
    assert!(share < 0.01, "{share:.3} differ, among them {:#?}", &different[..different.len().min(5)]);
}

/// Check that 99.9 % of the functions of D's own library are readable (others were named by hand), and that 99 % of
/// those that c++filt knows read as it prints them. It leaves out parameters where a function's type is a back
/// reference.
#[test]
fn phobos_reads_as_cxxfilt_prints_it() {
    let libraries = (3..7).map(|version| format!("libgphobos.so.{version}"));
    let Some(functions) =
        libraries.into_iter().find_map(|library| beside_cxxfilt(&library, "--format=dlang"))
    else {
        return println!("skipped: no libgphobos, or a c++filt without D");
    };
    let of_d: Vec<_> = functions.iter().filter(|(name, _)| name.starts_with("_D")).collect();
    assert!(of_d.len() > 1000, "only {} functions", of_d.len());
    let mangled: Vec<_> = of_d.iter().filter(|(name, _)| symbols::demangle(name) == *name).collect();
    assert!(
        mangled.len() * 1000 < of_d.len(),
        "{} are mangled: {:#?}",
        mangled.len(),
        &mangled[..mangled.len().min(5)]
    );
    // c++filt does not know clones, thunks and `return` parameters.
    let known = of_d.iter().filter(|(name, theirs)| name != theirs);
    let different: Vec<_> = known
        .map(|(name, theirs)| (symbols::demangle(name), theirs))
        .filter(|(ours, theirs)| ours != *theirs)
        .collect();
    println!("{} of {} differ", different.len(), of_d.len());
    let examples = &different[..different.len().min(5)];
    assert!(different.len() * 100 < of_d.len(), "{} differ: {examples:#?}", different.len());
}

/// Check that a program in D has readable names and lines, for inlined functions, too.
#[test]
fn programs_of_d_have_readable_names() {
    let workshop = Workshop::new();
    std::fs::write(
        workshop.path("shapes.d"),
        "module shapes;
extern (C) __gshared int sink;
struct Shape(T) {
    T side;
    pragma(inline, true) T half() const { sink = 1; return side / 2; }
    T area(immutable(char)[] unit) const nothrow @nogc { return half() * side; }
}
extern (C) int asked(int side) { return Shape!int(side).area(\"m\"); }
",
    )
    .unwrap();
    let compilers = ["gdc", "gdc-12", "gdc-13", "gdc-14"];
    let flags = "-g -O1 -fno-druntime -shared -fPIC -nophoboslib -o library shapes.d";
    let compiled = compilers.iter().find_map(|compiler| {
        let mut command = Command::new(compiler);
        command.current_dir(workshop.path("")).args(flags.split(' ')).output().ok()
    });
    let Some(compiled) = compiled else { return println!("skipped: no gdc") };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let (start, length) = symbol(&workshop.path("library"), "_D6shapes__T5ShapeTiZQj4areaMxFNbNiAyaZi");
    let addresses: Vec<u64> = (start..start + length).collect();
    let found = workshop.lookup("library", &addresses);
    let area = Some("shapes.Shape!(int).Shape.area(immutable(char)[]) const");
    assert!(found.iter().all(|lookup| lookup.function() == area), "{found:?}");
    let half = |lookup: &&symbols::Lookup| {
        let inlined = &lookup.frames[0];
        inlined.function.as_deref() == Some("shapes.Shape!(int).Shape.half() const")
            && inlined.file.as_ref().is_some_and(|file| file.ends_with("shapes.d"))
            && inlined.line == Some(5)
    };
    assert!(found.iter().any(|lookup| half(&lookup)), "{found:?}");
}
