//! Names that a capture lacks, from the files of this machine.

use crate::support::Made;
use analysis::functions_of;
use analysis::query::{Filter, Part, Query};
use capture::{Frame, FrameId, Module, ModuleId};
use engine::lens::Lens;
use engine::{Analyzer, LookedUp, Naming};
use std::os::unix::fs::MetadataExt;

/// A function whose name is found in this test's own executable.
#[inline(never)]
fn function_of_this_test(number: u64) -> u64 {
    std::hint::black_box(number) + 1
}

/// The file of this test, as a recording describes it.
fn this_file() -> Module {
    let path = std::env::current_exe().unwrap();
    let metadata = std::fs::metadata(&path).unwrap();
    Module {
        path: path.to_str().unwrap().to_owned(),
        device: metadata.dev(),
        inode: metadata.ino(),
        modified_ns: u64::try_from(metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec()).unwrap(),
        ..Module::default()
    }
}

/// Another one.
#[inline(never)]
fn other_function(number: u64) -> u64 {
    std::hint::black_box(number) + 2
}

/// The address of a function in that file: the first of its mappings begins with the file's address 0.
fn address_in_file(function: fn(u64) -> u64) -> u64 {
    let path = std::env::current_exe().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let first = maps.lines().find(|line| line.ends_with(path.to_str().unwrap())).unwrap();
    let start = u64::from_str_radix(first.split('-').next().unwrap(), 16).unwrap();
    function as *const () as u64 - start
}

/// One allocation by the function, in this module; then the names of its stack after a search, and how that went.
fn found(module: Module, stored: Option<&str>, naming: Naming) -> (Vec<String>, LookedUp) {
    let (mut made, _, thread) = Made::app();
    made.tables.modules.push(module);
    let frame = FrameId(0);
    let address = address_in_file(function_of_this_test);
    made.tables.frames.push(Frame::Code { module: Some(ModuleId(0)), address, exact: true });
    made.tables.symbols.push(None);
    if let Some(reason) = stored {
        made.reason(frame, reason);
    }
    let node = made.node(capture::NodeId::ROOT, frame);
    made.alloc(thread, 0x1000, 8, node);

    let path = made.saved("app.memprof");
    let loaded = engine::open(&path, naming).unwrap();
    let steps = functions_of(&loaded.tables, &loaded.names, node);
    let names = steps.map(|(_, step)| loaded.names.label(step.label).name.clone()).collect();
    (names, loaded.looked_up)
}

/// Check that an address without a name gets it from the recorded file, whether the recording had not looked or had
/// found none; and that it is left alone when the user wants that.
#[test]
fn missing_names_come_from_the_file() {
    assert_eq!(function_of_this_test(1), 2);
    for (stored, unresolved) in [(None, 1), (Some("No symbols in binary file"), 0)] {
        let (names, looked_up) = found(this_file(), stored, Naming::from_files());
        assert!(names.last().is_some_and(|name| name.contains("function_of_this_test")), "{names:?}");
        assert_eq!(looked_up, LookedUp { unresolved, named: 1, unneeded: 0 });
        let (names, looked_up) = found(this_file(), stored, Naming::Stored);
        assert!(names[0].starts_with("<in "), "{names:?}");
        assert_eq!(looked_up, LookedUp::default());
    }
}

/// Check that a file which is another one, is not there, or cannot be told from others gives no name.
#[test]
fn other_files_give_no_names() {
    type Case<'a> = (&'a str, &'a dyn Fn(&mut Module));
    let other: [Case; 5] = [
        ("changed", &|module| module.modified_ns += 1),
        ("another build", &|module| module.build_id = b"another".to_vec()),
        ("gone", &|module| module.path = "/no/such/file".to_owned()),
        ("not known", &|module| (module.inode, module.modified_ns) = (0, 0)),
        ("relative", &|module| module.path = "app".to_owned()),
    ];
    for (what, change) in other {
        let mut module = this_file();
        change(&mut module);
        let (names, looked_up) = found(module, None, Naming::from_files());
        assert!(names.len() == 1 && names[0].starts_with("<in "), "{what}: {names:?}");
        assert_eq!(looked_up.named, 0, "{what}");
    }
}

/// Check that names are looked up for what was asked for alone: of each process' stacks when it is chosen, of those that exist
/// at a moment, of all when all is shown; that each counts, that the rows are those of everything looked up, and that each name
/// is stored once.
#[test]
fn only_what_is_shown_is_looked_up() {
    let mut made = Made::new();
    let mut thread_of = |name| made.process(name).1;
    let (early, late) = (thread_of("early"), thread_of("late"));
    made.tables.modules.push(this_file());
    let mut node = |function, offset| {
        let frame = FrameId::from_index(made.tables.frames.len());
        let address = address_in_file(function) + offset;
        made.tables.frames.push(Frame::Code { module: Some(ModuleId(0)), address, exact: true });
        made.tables.symbols.push(None);
        made.node(capture::NodeId::ROOT, frame)
    };
    let (first, again, other) =
        (node(function_of_this_test, 0), node(function_of_this_test, 1), node(other_function, 0));
    // An event each millisecond: both processes begin, and then they allocate.
    for (address, thread, stack) in [(0x1000, early, first), (0x2000, early, again), (0x3000, late, other)] {
        made.alloc(thread, address, 8, stack);
    }
    let path = made.saved("app.memprof");

    let rows = |query: &Query, naming| {
        let loaded = Analyzer::open(&path).unwrap().seen(query, &Lens::default(), naming).unwrap();
        let row = |site: &analysis::Site| {
            let steps = functions_of(&loaded.tables, &loaded.names, site.node);
            let names: Vec<String> =
                steps.map(|(_, step)| loaded.names.label(step.label).name.clone()).collect();
            (names, site.cost)
        };
        let rows: Vec<_> = loaded.profile.sites.iter().map(row).collect();
        let mut names = loaded.tables.strings.clone();
        names.sort_unstable();
        let stored = names.len();
        names.dedup();
        assert_eq!(names.len(), stored, "each string is stored once");
        (rows, loaded.looked_up)
    };
    let eager = rows(&Query::default(), Naming::from_files());
    assert_eq!(eager.1, LookedUp { unresolved: 3, named: 3, unneeded: 0 });
    let process = |name: &str| Query {
        filter: Filter { processes: vec![name.parse().unwrap()], ..Filter::default() },
        ..Query::default()
    };
    let early_on = Query::of(Part::At("4500us".parse().unwrap()));
    for (query, shown) in [(process("early"), 0..2), (process("late"), 2..3), (early_on, 0..2)] {
        let (found, looked_up) = rows(&query, Naming::from_files());
        let needed = shown.len() as u64;
        assert_eq!(looked_up, LookedUp { unresolved: needed, named: needed, unneeded: 3 - needed });
        let names = |rows: &[(Vec<String>, _)]| rows.iter().map(|row| row.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&found), names(&eager.0[shown]));
    }
}
