use super::*;
use object::read::ReadCache;
use proptest::collection;
use proptest::prelude::*;
use std::fs;
use std::io::Cursor;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Writes an executable file.
fn executable(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Compiles a small C program.
fn compile(folder: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let file = folder.join(format!("{name}.c"));
    fs::write(&file, source).unwrap();
    let output = folder.join(name);
    let status = Command::new("cc").args(flags).arg("-o").arg(&output).arg(&file).status().unwrap();
    assert!(status.success(), "cc {flags:?}");
    output
}

/// The same program with `from` replaced by `to` of the same length.
fn patched(program: &Path, name: &str, from: &[u8], to: &[u8]) -> PathBuf {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(program).unwrap();
    let at = bytes.windows(from.len()).position(|window| window == from).expect("the bytes to replace");
    bytes[at..at + to.len()].copy_from_slice(to);
    executable(program.parent().unwrap(), name, bytes)
}

/// The same program with the byte at `offset` changed.
fn with_byte(program: &Path, name: &str, offset: usize, byte: u8) -> PathBuf {
    let mut bytes = fs::read(program).unwrap();
    bytes[offset] = byte;
    executable(program.parent().unwrap(), name, bytes)
}

fn refused(path: &Path) -> Refusal {
    inspect(path).expect_err("a refusal")
}

/// Check that an ordinary program is accepted, as itself.
#[test]
fn dynamic_program_is_a_target() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [&["-pie", "-fPIE"][..], &["-no-pie"]] {
        let program = compile(folder.path(), "app", "int main(void) { return 0; }", flags);
        let target = inspect(&program).unwrap();
        assert_eq!(target, Target { path: program.clone(), program, by_shell: false, remarks: Vec::new() });
    }
}

/// Check that each kind of program that cannot load the agent is refused for its own reason.
#[test]
fn programs_that_cannot_load_the_agent_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = "int main(void) { return 0; }";
    let program = compile(folder.path(), "app", source, &[]);
    let interpreter = b"/lib64/ld-linux-x86-64.so.2\0";

    assert!(matches!(
        refused(&compile(folder.path(), "static", source, &["-static"])),
        Refusal::Static { .. }
    ));
    let static_pie = compile(folder.path(), "static-pie", source, &["-static-pie"]);
    assert!(matches!(refused(&static_pie), Refusal::Static { .. }));
    let uclibc = patched(&program, "uclibc", interpreter, b"/lib/ld64-uClibc.so.0\0\0\0\0\0\0\0");
    assert!(matches!(refused(&uclibc), Refusal::OtherLibc { libc: "uClibc", .. }));
    let missing = patched(&program, "missing", interpreter, b"/nowh/ld-linux-x86-64.so.2\0\0");
    assert!(matches!(refused(&missing), Refusal::LoaderMissing { .. }));
    assert!(matches!(refused(&with_byte(&program, "class", 4, 1)), Refusal::Bits32 { .. }));
    assert!(matches!(refused(&with_byte(&program, "i386", 18, 3)), Refusal::Bits32 { .. }));
    let arm = refused(&with_byte(&program, "arm", 18, 183));
    assert!(matches!(&arm, Refusal::Machine { machine, .. } if machine == "aarch64"), "{arm}");
    let big = refused(&with_byte(&program, "big", 5, 2));
    assert!(matches!(big, Refusal::Machine { .. }), "{big}");
    let library = compile(folder.path(), "libx.so", "int x(void) { return 0; }", &["-shared", "-fPIC"]);
    assert!(matches!(refused(&library), Refusal::NotExecutableElf { what: "a library", .. }));
    let object = compile(folder.path(), "x.o", "int x(void) { return 0; }", &["-c"]);
    fs::set_permissions(&object, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(refused(&object), Refusal::NotExecutableElf { what: "an object file", .. }));
    let cut = executable(folder.path(), "cut", &fs::read(&program).unwrap()[..70]);
    assert!(matches!(refused(&cut), Refusal::Malformed { .. }));
}

/// Check that bits that make the loader ignore `LD_PRELOAD` are noticed.
#[test]
fn privileged_programs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "app", "int main(void) { return 0; }", &[]);
    for (mode, expected) in [(0o4755, Some("setuid")), (0o2755, Some("setgid")), (0o2745, None)] {
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        match (inspect(&program), expected) {
            (Err(Refusal::Privileged { bit, .. }), Some(expected)) => assert_eq!(bit, expected),
            (Ok(_), None) => {}
            (other, _) => panic!("{mode:o}: {other:?}"),
        }
    }
}

/// Check that a user who wants to record a program as another user is told how, and not advised to copy the program
/// that changes the user.
#[test]
fn other_users_are_reached_the_other_way_round() {
    let text = |path: &str| Refusal::Privileged { path: path.into(), bit: "setuid" }.to_string();
    assert!(text("/usr/bin/sudo").ends_with("Let sudo start sysprof-memprof, and that the program"));
    assert!(text("/usr/bin/mount").ends_with("cp /usr/bin/mount /tmp/copy && chmod u-s,g-s /tmp/copy"));
}

/// Check that a script resolves to its interpreter, through other scripts, and that loops end.
#[test]
fn scripts_lead_to_their_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let inner = executable(folder.path(), "inner", "#!/bin/sh\nexit 0\n");
    let outer = executable(folder.path(), "outer", format!("#!{} -x\n", inner.display()));
    let target = inspect(&outer).unwrap();
    assert_eq!((target.path, target.program, target.by_shell), (outer, PathBuf::from("/bin/sh"), false));

    let bare = executable(folder.path(), "bare", "echo hello\n");
    let target = inspect(&bare).unwrap();
    assert_eq!((target.path, target.program, target.by_shell), (bare, PathBuf::from("/bin/sh"), true));

    let own = folder.path().join("own");
    executable(folder.path(), "own", format!("#!{}\n", own.display()));
    assert!(matches!(refused(&own), Refusal::TooManyInterpreters { .. }));
    let lost = executable(folder.path(), "lost", "#!/no/such/interpreter\n");
    assert!(matches!(refused(&lost), Refusal::BadInterpreter { .. }));
}

/// Check that files that are not programs are told apart.
#[test]
fn files_that_are_no_programs_are_named() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(refused(&executable(folder.path(), "empty", "")), Refusal::Empty { .. }));
    assert!(matches!(
        refused(&executable(folder.path(), "data", b"\x89PNG\0\n")),
        Refusal::NotAProgram { .. }
    ));
    let text = folder.path().join("text");
    fs::write(&text, "hello").unwrap();
    assert!(matches!(refused(&text), Refusal::NotExecutable { .. }));
    assert!(matches!(refused(folder.path()), Refusal::Directory { .. }));
    assert!(matches!(refused(&folder.path().join("nothing")), Refusal::NotFound { .. }));
}

/// Check that a bare name is looked for as `execvp` does it.
#[test]
fn bare_names_are_looked_up() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
    fs::create_dir_all(one.join("folder")).unwrap();
    fs::create_dir_all(&two).unwrap();
    fs::write(one.join("tool"), "#!/bin/sh\n").unwrap();
    fs::write(one.join("flat"), "").unwrap();
    let tool = executable(&two, "tool", "#!/bin/sh\n");
    let named_folder = executable(&two, "folder", "#!/bin/sh\n");
    let search = std::env::join_paths([Path::new("/nowhere"), &one, &two]).unwrap();
    let find = |name: &str| inspect_in(Path::new(name), Some(&search));

    assert_eq!(find("tool").unwrap().path, tool, "one/tool is not executable");
    assert_eq!(find("folder").unwrap().path, named_folder, "one/folder is a folder");
    assert!(matches!(find("flat").unwrap_err(), Refusal::NotExecutable { .. }));
    assert!(matches!(find("absent").unwrap_err(), Refusal::NotFound { .. }));
    assert!(matches!(find("").unwrap_err(), Refusal::NotFound { .. }));
    assert_eq!(inspect_in(Path::new("sh"), None).unwrap().path, Path::new("/bin/sh"), "without PATH");
}

/// Check that an allocator in the program that the agent does not know is remarked on, and a sanitizer refused.
#[test]
fn own_allocators_are_remarked_on() {
    let folder = tempfile::tempdir().unwrap();
    let linked = "void *TCMallocInternalMalloc(unsigned long n) { return (void *)n; } \
         int main(void) { return TCMallocInternalMalloc(0) != 0; }";
    let program = compile(folder.path(), "linked", linked, &[]);
    assert!(inspect(&program).unwrap().remarks.concat().contains("tcmalloc"));
    let sanitized = "void __asan_init(void) {} int main(void) { return 0; }";
    let program = compile(folder.path(), "sanitized", sanitized, &[]);
    assert!(matches!(refused(&program), Refusal::Sanitizer { .. }));
}

/// Check that glibc's loader, which has no loader of its own, is accepted: `ld.so ./app` loads the agent.
#[test]
fn the_dynamic_loader_itself_is_a_target() {
    let loader = Path::new("/lib64/ld-linux-x86-64.so.2");
    if loader.exists() {
        assert!(inspect(loader).unwrap().remarks.is_empty());
    }
}

/// Check that damaged programs give a refusal or a result, never a panic: cut anywhere, or with bytes changed near
/// the headers at both ends.
#[test]
fn damaged_programs_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let program = fs::read(compile(folder.path(), "app", "int main(void) { return 0; }", &["-s"])).unwrap();
    let judge = |bytes: &[u8]| elf::parse(&ReadCache::new(Cursor::new(bytes))).is_ok();
    assert!(judge(&program));
    let end = program.len();
    let place = prop_oneof![0..1024usize, end - 2048..end];
    let changes = collection::vec((place, any::<u8>()), 1..8);
    proptest!(|(changes in changes, length in 0..=end)| {
        let mut bytes = program.clone();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        judge(&bytes);
        judge(&program[..length]);
    });
}
