//! Compiles fixtures, modifies them, and reads what the linker made of them.

use object::{Object, ObjectSection, ObjectSymbol};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use symbols::{Lookup, ModuleFile, Options, Reason, Symbolizer};
use tempfile::TempDir;

/// A program with two functions beside `main`, one of them static.
pub(crate) const PROGRAM: &str = "
volatile int sink;
__attribute__((noinline)) static int local_function(int x) { sink = x; return x + sink; }
__attribute__((noinline)) int global_function(int x) { return local_function(x) * 3; }
int main(void) { return global_function(sink) & 1; }
";

/// A directory in which one test builds its fixtures.
pub(crate) struct Workshop {
    directory: TempDir,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        Workshop { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles C, or assembly if `source` starts with a directive, with gcc.
    pub(crate) fn compile(&self, name: &str, source: &str, flags: &str) -> PathBuf {
        assert!(self.try_compile(name, source, flags), "gcc {flags} failed");
        self.path(name)
    }

    /// As [`Self::compile`], for flags that some systems do not support.
    pub(crate) fn try_compile(&self, name: &str, source: &str, flags: &str) -> bool {
        self.try_compile_with("gcc", name, source, flags)
    }

    /// The same with another compiler, which may be missing.
    pub(crate) fn try_compile_with(&self, compiler: &str, name: &str, source: &str, flags: &str) -> bool {
        let extension = if source.trim_start().starts_with('.') { "s" } else { "c" };
        let file = format!("{name}.source.{extension}");
        fs::write(self.path(&file), source).unwrap();
        let mut command = Command::new(compiler);
        command.current_dir(self.directory.path()).args(flags.split_whitespace()).args(["-o", name, &file]);
        let output = match command.output() {
            Err(error) if compiler != "gcc" && error.kind() == std::io::ErrorKind::NotFound => return false,
            output => output.expect("the tests need gcc"),
        };
        if !output.status.success() {
            println!("{compiler} {flags}: {}", String::from_utf8_lossy(&output.stderr));
        }
        output.status.success()
    }

    /// Runs a tool of binutils in the directory.
    pub(crate) fn run(&self, command: &str) {
        let mut words = command.split_whitespace();
        let tool = words.next().unwrap();
        let mut command = Command::new(tool);
        let output = command.current_dir(self.directory.path()).args(words).output();
        let output = output.unwrap_or_else(|error| panic!("the tests need {tool}: {error}"));
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Splits a program: `NAME` keeps no symbols, `NAME.debug` has them.
    pub(crate) fn split(&self, name: &str) {
        self.run(&format!("objcopy --only-keep-debug {name} {name}.debug"));
        self.run(&format!("strip --strip-all {name}"));
    }

    /// A symbolizer that looks for debug files in `debug` of this directory, not in those of the system.
    pub(crate) fn symbolizer(&self) -> Symbolizer {
        Symbolizer::new(Options { debug_dirs: vec![self.path("debug")], ..Options::default() })
    }

    /// Where the debug file is looked for by the build id of `name`; the directories are created.
    pub(crate) fn build_id_path(&self, name: &str) -> PathBuf {
        let id: String = build_id(&self.path(name)).iter().map(|byte| format!("{byte:02x}")).collect();
        let directory = self.path("debug/.build-id").join(&id[..2]);
        fs::create_dir_all(&directory).unwrap();
        directory.join(format!("{}.debug", &id[2..]))
    }

    /// Looks up addresses of a fixture.
    pub(crate) fn lookup(&self, name: &str, addresses: &[u64]) -> Vec<Lookup> {
        let module = self.symbolizer().open(&ModuleFile::at(self.path(name))).unwrap();
        addresses.iter().map(|&address| module.lookup(address)).collect()
    }

    /// The function at an address of a fixture, or the reason.
    pub(crate) fn function(&self, name: &str, address: u64) -> Result<String, Reason> {
        let lookup = self.lookup(name, &[address]).remove(0);
        match lookup.function() {
            Some(function) => Ok(function.to_owned()),
            None => Err(lookup.reason.expect("what has no name has a reason")),
        }
    }
}

/// Address and size of a symbol.
pub(crate) fn symbol(path: &Path, name: &str) -> (u64, u64) {
    let bytes = fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name) && symbol.is_definition());
    let symbol = symbol.or_else(|| file.symbols().find(|symbol| symbol.name() == Ok(name)));
    let symbol = symbol.unwrap_or_else(|| panic!("{name} is in {}", path.display()));
    (symbol.address(), symbol.size())
}

/// Address and size of a section.
pub(crate) fn section(path: &Path, name: &str) -> (u64, u64) {
    let bytes = fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let section = file.section_by_name(name).unwrap();
    (section.address(), section.size())
}

pub(crate) fn build_id(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    object::File::parse(&*bytes).unwrap().build_id().unwrap().unwrap_or_default().to_vec()
}

/// Turns a section into NOBITS: its size stays, its contents count as absent.
pub(crate) fn make_nobits(path: &Path, name: &str) {
    let mut bytes = fs::read(path).unwrap();
    let index = object::File::parse(&*bytes).unwrap().section_by_name(name).unwrap().index().0;
    let table = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
    let header = table + index * 64;
    bytes[header + 4..header + 8].copy_from_slice(&object::elf::SHT_NOBITS.to_le_bytes());
    fs::write(path, bytes).unwrap();
}
