//! The programs that are recorded: compiled once, in a folder named after everything that they are built from.
//!
//! ```text
//!   TARGET/debug/end-to-end/9c1f0b…/nested_calls      tests/programs/c/nested_calls.c with one set of flags
//! ```

use super::product::build_folder;
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The headers that sources include, relative to `programs`.
const HEADERS: [&str; 11] = [
    "c/say.h",
    "c/filter.h",
    "c/page.h",
    "c/probe.h",
    "c/wipe.h",
    "c/without_headers.ld",
    "../bench/stopwatch.h",
    "../bench/frames.h",
    "../bench/blocks.h",
    API,
    "../../api/src/agent.rs",
];

/// The header by which programs report about themselves.
const API: &str = "../../preload/include/sysprof_memprof.h";

/// A program or library to be compiled.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Fixture {
    compiler: &'static str,
    source: PathBuf,
    output: String,
    flags: Vec<OsString>,
}

/// Names another C compiler, such as `musl-gcc`, for the programs of all tests.
const COMPILER: &str = "SYSPROF_MEMPROF_TEST_CC";

/// That compiler, and the flags that it needs.
fn compiler_of_c() -> (&'static str, &'static [&'static str]) {
    static NAMED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var(COMPILER).ok());
    match NAMED.as_deref() {
        // Debian's does not ask the linker for the unwind tables' header; Alpine's does.
        Some(name) if name.contains("musl") => (name, &["-Wl,--eh-frame-hdr"]),
        Some(name) => (name, &[]),
        None => ("cc", &[]),
    }
}

/// A program of `programs/c`.
pub(crate) fn c(name: &str) -> Fixture {
    let (compiler, flags) = compiler_of_c();
    let fixture = Fixture::new(compiler, &format!("c/{name}.c"), name);
    fixture.flags(["-g", "-fno-builtin", "-pthread"]).flags(flags.iter().copied())
}

/// A program of `programs/c` for musl; `None` without a compiler for it, which is reported.
pub(crate) fn for_musl(name: &str) -> Option<Fixture> {
    if super::installed("musl-gcc").is_none() {
        super::skip(name, "musl-gcc is not installed");
        return None;
    }
    let fixture = Fixture::new("musl-gcc", &format!("c/{name}.c"), name);
    Some(fixture.flags(["-g", "-fno-builtin", "-pthread", "-Wl,--eh-frame-hdr"]))
}

/// A library of `programs/c`.
pub(crate) fn library(name: &str) -> Fixture {
    library_by(compiler_of_c(), name)
}

/// A library of `programs/c` for the command itself, which has the system's C library whatever the programs have.
pub(crate) fn command_library(name: &str) -> Fixture {
    library_by(("cc", &[]), name)
}

fn library_by((compiler, flags): (&'static str, &[&str]), name: &str) -> Fixture {
    let fixture = Fixture::new(compiler, &format!("c/{name}.c"), &format!("lib{name}.so"));
    let fixture = fixture.flags(["-g", "-O1", "-fno-builtin", "-fPIC", "-shared", "-pthread"]);
    fixture.flags(flags.iter().copied())
}

/// A program of `programs/cpp`.
pub(crate) fn cpp(name: &str) -> Fixture {
    Fixture::new("c++", &format!("cpp/{name}.cpp"), name).flags(["-g", "-std=c++17", "-pthread"])
}

/// A library of `programs/cpp`.
pub(crate) fn cpp_library(name: &str) -> Fixture {
    let fixture = Fixture::new("c++", &format!("cpp/{name}.cpp"), &format!("lib{name}.so"));
    fixture.flags(["-g", "-O1", "-std=c++17", "-fno-builtin", "-fPIC", "-shared"])
}

/// A program of `bench`, built as `scripts/bench` does.
pub(crate) fn bench(name: &str) -> Fixture {
    let flags = ["-D_GNU_SOURCE", "-O2", "-g1", "-fomit-frame-pointer", "-pthread"];
    let (compiler, source) = match name {
        "mix" => ("c++", "../bench/mix.cpp".to_string()),
        name => ("cc", format!("../bench/{name}.c")),
    };
    Fixture::new(compiler, &source, name).flags(flags)
}

/// A program of `programs/rust`.
pub(crate) fn rust(name: &str) -> Fixture {
    Fixture::new("rustc", &format!("rust/{name}.rs"), name).flags(["--edition=2024", "-g"])
}

/// The Rust interface by which programs report about themselves.
fn rust_api() -> Fixture {
    let flags = ["--edition=2024", "-g", "--crate-type=rlib", "--crate-name=sysprof_memprof_api"];
    Fixture::new("rustc", "../../api/src/lib.rs", "libsysprof_memprof_api.rlib").flags(flags)
}

impl Fixture {
    /// With the interface by which programs report about themselves.
    pub(crate) fn with_api(self) -> Fixture {
        if self.compiler == "rustc" {
            let library = format!("sysprof_memprof_api={}", rust_api().build().display());
            return self.flags(["--extern".into(), OsString::from(library)]);
        }
        let header = programs().join(API);
        let folder = header.parent().unwrap_or(&header).to_path_buf();
        self.flags([OsString::from("-I"), folder.into()])
    }

    fn new(compiler: &'static str, source: &str, output: &str) -> Fixture {
        Fixture { compiler, source: programs().join(source), output: output.to_string(), flags: Vec::new() }
    }

    /// With these compiler flags, too.
    pub(crate) fn flags<S: Into<OsString>>(mut self, flags: impl IntoIterator<Item = S>) -> Fixture {
        self.flags.extend(flags.into_iter().map(Into::into));
        self
    }

    /// Linked with a library, which is found where it is now.
    pub(crate) fn with(self, library: &Path) -> Fixture {
        if self.compiler == "rustc" {
            let flag = format!("link-arg={}", library.display());
            return self.flags([OsString::from("-C"), flag.into()]);
        }
        self.flags([library])
    }

    /// The C source, compiled as C++.
    pub(crate) fn for_cpp(mut self) -> Fixture {
        self.compiler = "c++";
        self
    }

    /// Under another name.
    pub(crate) fn named(mut self, name: &str) -> Fixture {
        self.output = name.to_string();
        self
    }

    /// Compiles it, unless that was done before, and returns its path.
    pub(crate) fn build(&self) -> PathBuf {
        let folder = build_folder().join(self.fingerprint());
        let output = folder.join(&self.output);
        if !output.exists() {
            self.compile(&folder);
        }
        output
    }

    /// Everything that it is built from, as the name of a folder.
    fn fingerprint(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        read(&self.source).hash(&mut hasher);
        for header in HEADERS {
            read(&programs().join(header)).hash(&mut hasher);
        }
        format!("{:016x}", hasher.finish())
    }

    /// Compiles into a folder of this thread's and renames it, since tests run in several threads and processes at
    /// once.
    fn compile(&self, folder: &Path) {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let unique = folder.with_extension(format!("{}.{number}", std::process::id()));
        fs::create_dir_all(&unique).expect("the target folder is writable");
        let mut compiler = Command::new(self.compiler);
        // Libraries come after what uses them.
        compiler.arg(&self.source).args(&self.flags).arg("-o").arg(unique.join(&self.output));
        succeed(&mut compiler);
        if fs::rename(&unique, folder).is_err() {
            // Another thread or process was faster.
            assert!(folder.join(&self.output).exists(), "{} cannot be made", folder.display());
            let _ = fs::remove_dir_all(&unique);
        }
    }
}

/// Runs a compiler that must exist and succeed.
fn succeed(compiler: &mut Command) {
    let output = compiler.output();
    let output = output.unwrap_or_else(|error| panic!("these tests need {compiler:?}: {error}"));
    assert!(output.status.success(), "{compiler:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The sources.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
