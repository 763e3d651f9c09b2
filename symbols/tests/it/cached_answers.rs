//! Kept answers are used only for the same files.

use crate::toolchain::{PROGRAM, Workshop, symbol};
use std::convert::Infallible;
use std::sync::atomic::AtomicBool;
use symbols::{Batch, Cache, ModuleFile, Options, Reason, Source, Symbolizer};

/// Further functions, so many that the program's answers are worth keeping.
const MANY: &str = r#"
__asm__(".macro filler\n.type filler_\\@, @function\nfiller_\\@: ret\n.size filler_\\@, 1\n.endm\n"
        ".text\n.rept 15000\nfiller\n.endr\n");
"#;

/// Looks up `main` as a separate recording does, with answers kept in the workshop.
fn main_of(workshop: &Workshop, address: u64) -> Result<String, Reason> {
    let options = Options {
        debug_dirs: vec![workshop.path("debug")],
        cache: Some(Cache::in_folder(workshop.path("cache"))),
        ..Options::default()
    };
    let file = ModuleFile::at(workshop.path("a.out"));
    let batches = [Batch { source: Source::File(file), addresses: vec![address] }];
    let mut main = None;
    let Ok(()) = Symbolizer::new(options).look_up(&batches, &AtomicBool::new(false), |(_, _, lookup)| {
        main = Some(lookup.function().map(str::to_owned).ok_or(lookup.reason));
        Ok::<(), Infallible>(())
    });
    main.expect("each address has its answer")
        .map_err(|reason| reason.expect("what has no name has a reason"))
}

fn cached(workshop: &Workshop) -> usize {
    std::fs::read_dir(workshop.path("cache")).map_or(0, Iterator::count)
}

/// Check that a program that is stripped after its answers were kept has no names, has them once its debug file is
/// there, and none when that is gone.
#[test]
fn kept_answers_end_with_their_files() {
    let workshop = Workshop::new();
    let path = workshop.compile("a.out", &format!("{PROGRAM}{MANY}"), "-O1 -g -Wl,--build-id");
    let (address, _) = symbol(&path, "main");
    let main = || main_of(&workshop, address);
    assert_eq!((main(), main()), (Ok("main".to_owned()), Ok("main".to_owned())));
    assert_eq!(cached(&workshop), 1, "both were one");

    workshop.split("a.out");
    assert_eq!(main(), Err(Reason::NoSymbols));
    let debug_file = workshop.build_id_path("a.out");
    std::fs::rename(workshop.path("a.out.debug"), &debug_file).unwrap();
    assert_eq!((main(), main()), (Ok("main".to_owned()), Ok("main".to_owned())));
    assert_eq!(cached(&workshop), 2, "the debug file makes a difference");
    std::fs::remove_file(debug_file).unwrap();
    assert_eq!(main(), Err(Reason::NoSymbols));
}

/// Check that a program that is rebuilt in place, within the same second and with the old modification time, has its
/// new names.
#[test]
fn kept_answers_are_of_one_build() {
    let workshop = Workshop::new();
    let source = |name: &str| {
        let filler = MANY.replace("filler", name);
        format!(
            "int {name}_function(void) {{ return 1; }} int main(void) {{ return {name}_function(); }}{filler}"
        )
    };
    let path = workshop.compile("a.out", &source("first"), "-O0 -Wl,--build-id=none");
    let (address, _) = symbol(&path, "first_function");
    assert_eq!(main_of(&workshop, address), Ok("first_function".to_owned()));
    workshop.run("cp --preserve a.out model");
    workshop.compile("a.out", &source("later"), "-O0 -Wl,--build-id=none");
    workshop.run("touch --reference=model a.out");
    assert_eq!(symbol(&path, "later_function").0, address);
    assert_eq!(main_of(&workshop, address), Ok("later_function".to_owned()));
}
