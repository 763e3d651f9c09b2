//! Binaries that are gone: another copy, or their debug file alone, takes their place.

use crate::toolchain::{PROGRAM, Workshop, build_id, section, symbol};
use std::fs;
use std::path::Path;
use symbols::{ModuleFile, Options, Reason, Servers, Symbolizer};

/// A program with debug information, as it was recorded, and the address of a static function in it.
fn recorded(workshop: &Workshop) -> (ModuleFile, u64) {
    let path = workshop.compile("program", PROGRAM, "-O1 -g -Wl,--build-id");
    let (address, _) = symbol(&path, "local_function");
    (ModuleFile { build_id: build_id(&path), ..ModuleFile::at(path) }, address)
}

/// Function and line, or the reason why the module cannot be opened.
fn name(symbolizer: &Symbolizer, module: &ModuleFile, address: u64) -> Result<(String, u32), Reason> {
    let lookup = symbolizer.open(module)?.lookup(address);
    let frame = lookup.frames.first().cloned().unwrap_or_default();
    Ok((frame.function.unwrap_or_default(), frame.line.unwrap_or(0)))
}

fn local_function() -> Result<(String, u32), Reason> {
    Ok(("local_function".to_owned(), 3))
}

/// Check that a program that was removed, or replaced by another build, gets its names from its debug file alone,
/// wherever that lies, or from a copy in a folder of debug files.
#[test]
fn debug_files_speak_for_binaries_that_are_gone() {
    for (was_replaced, place) in [
        (false, "build id"),
        (true, "build id"),
        (false, "debug/program.debug"),
        (true, "debug/program.debug"),
        (false, "debug/program"),
        (true, "debug/program"),
    ] {
        let workshop = Workshop::new();
        let (module, address) = recorded(&workshop);
        let by_build_id = workshop.build_id_path("program");
        fs::copy(&module.path, workshop.path("whole")).unwrap();
        workshop.split("program");
        let (file, target) = match place {
            "build id" => ("program.debug", by_build_id),
            "debug/program" => ("whole", workshop.path(place)),
            _ => ("program.debug", workshop.path(place)),
        };
        fs::rename(workshop.path(file), target).unwrap();
        let _ = fs::remove_file(workshop.path("program.debug"));
        if was_replaced {
            workshop.compile("program", "int main(void) { return 7; }", "-g -Wl,--build-id");
        } else {
            fs::remove_file(&module.path).unwrap();
        }
        let case = format!("{place}, replaced: {was_replaced}");
        assert_eq!(name(&workshop.symbolizer(), &module, address), local_function(), "{case}");
        let of_another = ModuleFile { build_id: vec![1; 20], ..module.clone() };
        let reason = if was_replaced { Reason::FileReplaced } else { Reason::FileMissing };
        assert_eq!(name(&workshop.symbolizer(), &of_another, address), Err(reason), "{case}");
        let unknown = ModuleFile { build_id: Vec::new(), inode: u64::MAX, ..module };
        assert_eq!(name(&workshop.symbolizer(), &unknown, address), Err(reason), "{case}");
    }
}

/// Check that a stripped program gets its names from a whole copy in a folder of debug files, or from its debug file
/// there, by either name, and that a copy of another build is refused.
#[test]
fn copies_of_stripped_binaries_are_found_by_name() {
    for (target, is_this) in [
        ("debug/program", true),
        ("debug/program.debug", true),
        ("debug/linked", true),
        ("debug/program", false),
    ] {
        let workshop = Workshop::new();
        let (module, address) = recorded(&workshop);
        fs::copy(&module.path, workshop.path("linked")).unwrap();
        workshop.run("strip --strip-all program");
        if target == "debug/linked" {
            workshop.run("objcopy --add-gnu-debuglink=linked program");
        }
        if !is_this {
            workshop.compile("linked", PROGRAM, "-O0 -g -Wl,--build-id");
        }
        fs::create_dir(workshop.path("debug")).unwrap();
        fs::rename(workshop.path("linked"), workshop.path(target)).unwrap();
        let expected = if is_this { local_function() } else { Ok((String::new(), 0)) };
        assert_eq!(name(&workshop.symbolizer(), &module, address), expected, "{target}");
        let lookup = workshop.symbolizer().open(&module).unwrap().lookup(address);
        assert_eq!(lookup.reason, (!is_this).then_some(Reason::DebugFileRefused), "{target}");
    }
}

/// Check that a folder with the name of a program does not count as a refused debug file.
#[test]
fn folders_are_no_debug_files() {
    let workshop = Workshop::new();
    let (module, address) = recorded(&workshop);
    workshop.run("strip --strip-all program");
    fs::create_dir_all(workshop.path("debug/program")).unwrap();
    let lookup = workshop.symbolizer().open(&module).unwrap().lookup(address);
    assert_eq!(lookup.reason, Some(Reason::NoSymbols));
}

/// Check that files fetched by other tools count even if no server is named, for a stripped program and for one that
/// is gone, and that nothing is noted there.
#[test]
fn fetched_files_count_without_servers() {
    let workshop = Workshop::new();
    let (module, address) = recorded(&workshop);
    let id: String = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    workshop.split("program");
    let cache = workshop.path("cache");
    fs::create_dir_all(cache.join(&id)).unwrap();
    let symbolizer = || {
        let servers = Servers {
            urls: Vec::new(),
            cache: cache.clone(),
            timeout: std::time::Duration::ZERO,
            notice: None,
        };
        Symbolizer::new(Options { debug_dirs: Vec::new(), servers: Some(servers), ..Options::default() })
    };
    let kept = cache.join(&id).join("debuginfo");
    assert_eq!(name(&symbolizer(), &module, address), Ok((String::new(), 0)));
    assert!(!kept.exists() && cache.join(&id).exists(), "nobody was asked, so nothing is known");
    fs::rename(workshop.path("program.debug"), &kept).unwrap();
    assert_eq!(name(&symbolizer(), &module, address), local_function());
    fs::remove_file(&module.path).unwrap();
    assert_eq!(name(&symbolizer(), &module, address), local_function());
}

/// Check that a debug file alone names no variables: it does not tell where the file's beginning was mapped.
#[test]
fn debug_files_alone_name_no_variables() {
    let workshop = Workshop::new();
    let (module, _) = recorded(&workshop);
    let offset = {
        let (sink, _) = symbol(&module.path, "sink");
        let start = beginning(&module.path);
        sink - start
    };
    let by_build_id = workshop.build_id_path("program");
    assert_eq!(workshop.symbolizer().open(&module).unwrap().variable(offset).1.as_deref(), Some("sink"));
    workshop.split("program");
    fs::rename(workshop.path("program.debug"), by_build_id).unwrap();
    fs::remove_file(&module.path).unwrap();
    assert_eq!(workshop.symbolizer().open(&module).unwrap().variable(offset).1, None);
}

/// The address of the file's first byte, computed from a section that is mapped as it lies in the file.
fn beginning(path: &Path) -> u64 {
    let (address, _) = section(path, ".interp");
    let bytes = fs::read(path).unwrap();
    let place = bytes.windows(7).position(|bytes| bytes == b"/lib64/").unwrap();
    address - place as u64
}
