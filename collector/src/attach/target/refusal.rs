//! Reasons why a program cannot be recorded, and what to do about each.

use super::allocator;
use super::elf::Elf;
use crate::proc::preloaded;
use object::elf::{EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64, ET_DYN, ET_EXEC};
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name prefixes of the dynamic loaders whose C libraries the agent works with.
const OUR_LOADERS: &[&str] =
    if cfg!(target_arch = "x86_64") { &["ld-linux", "ld-2.", "ld-musl"] } else { &["ld-linux", "ld-2."] };

/// The architecture that this collector and its agent were built for.
const OUR_MACHINE: u16 = if cfg!(target_arch = "aarch64") { EM_AARCH64 } else { EM_X86_64 };

/// Why a program cannot be recorded; each text says what it is and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// No program has that name.
    #[error("{}: command not found. Check the name, or give the path of the program.", command.display())]
    NotFound {
        /// As given.
        command: PathBuf,
    },
    /// No permission to execute it.
    #[error(
        "{0} is not executable, or lies on a file system mounted noexec. Try: chmod +x {0}", path.display()
    )]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
    /// A folder.
    #[error("{} is a directory. Give the path of a program in it.", path.display())]
    Directory {
        /// The folder.
        path: PathBuf,
    },
    /// It could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is empty.
    #[error("{} is empty: there is nothing to run in it.", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Neither ELF nor a script.
    #[error("{} is not a program: it is neither an ELF file nor a script.", path.display())]
    NotAProgram {
        /// The file.
        path: PathBuf,
    },
    /// It is a library, object file or core file.
    #[error("{} is not a program: it is {what}.", path.display())]
    NotExecutableElf {
        /// The file.
        path: PathBuf,
        /// Kind of the file.
        what: &'static str,
    },
    /// An ELF file whose parts are inconsistent.
    #[error("{} is not a program that can run: {what} cannot be read. Is the file complete?", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The part.
        what: &'static str,
    },
    /// A script whose `#!` line does not name a usable interpreter.
    #[error("{} asks for the interpreter {}, but {reason}. Correct its first line.", path.display(), interpreter.display())]
    BadInterpreter {
        /// The script.
        path: PathBuf,
        /// The interpreter it names.
        interpreter: PathBuf,
        /// Why it cannot be used.
        reason: &'static str,
    },
    /// The program's dynamic loader is missing.
    #[error(
        "{} needs the dynamic loader {}, which is not on this system. Install the libraries it was built for.",
        path.display(), interpreter.display()
    )]
    LoaderMissing {
        /// The program.
        path: PathBuf,
        /// Its loader.
        interpreter: PathBuf,
    },
    /// Interpreters that are scripts, nested too deep.
    #[error("{}: its interpreters are scripts nested too deep. Name the program itself.", path.display())]
    TooManyInterpreters {
        /// The first script.
        path: PathBuf,
    },
    /// It has no dynamic loader.
    #[error(
        "{} is statically linked: it has no dynamic loader that could load the agent. Link it dynamically, \
         that is without -static (in Rust: with -C target-feature=-crt-static, which is not the default of \
         musl targets).",
        path.display()
    )]
    Static {
        /// The program.
        path: PathBuf,
    },
    /// `chmod u+s` or `g+s`.
    #[error(
        "{0} has the {bit} bit: for such programs the system ignores LD_PRELOAD, so the agent would not be loaded. \
         {1}",
        path.display(),
        instead_of_privileged(path)
    )]
    Privileged {
        /// The program.
        path: PathBuf,
        /// `setuid` or `setgid`.
        bit: &'static str,
    },
    /// `setcap`.
    #[error(
        "{0} has file capabilities (see: getcap {0}): for such programs the system ignores LD_PRELOAD, so the agent \
         would not be loaded. Record a copy, which has none: cp {0} /tmp/copy",
        path.display()
    )]
    Capabilities {
        /// The program.
        path: PathBuf,
    },
    /// A 32-bit program.
    #[error("{} is a 32-bit program; only 64-bit programs can be recorded. Build it for 64 bits.", path.display())]
    Bits32 {
        /// The program.
        path: PathBuf,
    },
    /// A program for another architecture.
    #[error(
        "{} is a program for {machine}; on this system only programs for {} can be recorded.",
        path.display(), std::env::consts::ARCH
    )]
    Machine {
        /// The program.
        path: PathBuf,
        /// Its architecture.
        machine: String,
    },
    /// A program for another C library.
    #[error(
        "{} is built for {libc} (its dynamic loader is {}); the agent works with glibc and with musl. Build the program for \
         one of them.",
        path.display(), interpreter.display()
    )]
    OtherLibc {
        /// The program.
        path: PathBuf,
        /// The C library's name.
        libc: &'static str,
        /// Its loader.
        interpreter: PathBuf,
    },
    /// It was built with a sanitizer.
    #[error(
        "{} is built with a sanitizer, which replaces malloc itself and refuses to start behind another library. \
         Record a build without -fsanitize.",
        path.display()
    )]
    Sanitizer {
        /// The program.
        path: PathBuf,
    },
    /// `LD_PRELOAD` contains a sanitizer runtime.
    #[error(
        "LD_PRELOAD names {library}, which has to be the first library of a program, as does the agent. \
         Record without it: env -u LD_PRELOAD sysprof-memprof …"
    )]
    PreloadedSanitizer {
        /// As in `LD_PRELOAD`.
        library: String,
    },
}

/// What to do instead of recording a program with such a bit.
fn instead_of_privileged(path: &Path) -> String {
    const BECOME_OTHERS: [&str; 5] = ["sudo", "su", "doas", "pkexec", "runuser"];
    match path.file_name().and_then(OsStr::to_str).filter(|name| BECOME_OTHERS.contains(name)) {
        Some(name) => format!("Let {name} start sysprof-memprof, and that the program"),
        None => {
            format!("Record a copy without it: cp {0} /tmp/copy && chmod u-s,g-s /tmp/copy", path.display())
        }
    }
}

/// Refuses a list of preloaded libraries that includes one which must come first.
pub(super) fn check_preloaded(list: &OsStr) -> Result<(), Refusal> {
    let is_first = |library: &&[u8]| {
        let name = preloaded::file_name(library);
        name.starts_with(b"libasan.so") || name.starts_with(b"libclang_rt.asan")
    };
    match preloaded::libraries(list).find(is_first) {
        Some(library) => {
            Err(Refusal::PreloadedSanitizer { library: String::from_utf8_lossy(library).into_owned() })
        }
        None => Ok(()),
    }
}

/// Refuses programs that the dynamic loader starts in secure mode. The bits are refused for everybody, even root,
/// whom they give nothing: the rule does not depend on who asks.
pub(super) fn check_privileges(path: &Path) -> Result<(), Refusal> {
    let owned = || path.to_path_buf();
    let mode =
        std::fs::metadata(path).map_err(|source| Refusal::Unreadable { path: owned(), source })?.mode();
    if mode & libc::S_ISUID != 0 {
        return Err(Refusal::Privileged { path: owned(), bit: "setuid" });
    }
    // Without the group's execute bit, S_ISGID means mandatory locking and does not change the group.
    if mode & libc::S_ISGID != 0 && mode & libc::S_IXGRP != 0 {
        return Err(Refusal::Privileged { path: owned(), bit: "setgid" });
    }
    let mut capabilities = [0u8; 64];
    if rustix::fs::getxattr(path, "security.capability", &mut capabilities[..]).is_ok_and(|length| length > 0)
    {
        return Err(Refusal::Capabilities { path: owned() });
    }
    Ok(())
}

/// Refuses executables in which the agent cannot work, and remarks on those in which it sees little.
pub(super) fn check_elf(elf: &Elf, path: &Path) -> Result<Vec<String>, Refusal> {
    let path = path.to_path_buf();
    if elf.ident.machine == OUR_MACHINE && !elf.ident.bits64 || elf.ident.machine == EM_386 {
        return Err(Refusal::Bits32 { path });
    }
    if elf.ident.machine != OUR_MACHINE || !elf.ident.little_endian {
        return Err(Refusal::Machine { path, machine: machine_name(elf.ident.machine) });
    }
    let what = match elf.ident.kind {
        ET_EXEC | ET_DYN => None,
        object::elf::ET_REL => Some("an object file"),
        object::elf::ET_CORE => Some("a core file"),
        _ => Some("an ELF file of an unknown kind"),
    };
    if let Some(what) = what {
        return Err(Refusal::NotExecutableElf { path, what });
    }
    let Some(interpreter) = &elf.interpreter else {
        return check_without_loader(elf, path);
    };
    if let Some(libc) = foreign_libc(interpreter) {
        return Err(Refusal::OtherLibc { path, libc, interpreter: interpreter.clone() });
    }
    if !interpreter.exists() {
        return Err(Refusal::LoaderMissing { path, interpreter: interpreter.clone() });
    }
    if elf.allocators.sanitizer || elf.needed.iter().any(|library| is_sanitizer(library)) {
        return Err(Refusal::Sanitizer { path });
    }
    let mut remarks = allocator::remarks(&elf.allocators, &path);
    // With glibc, compilers take care of it; and code compiled without tables is not the linker's fault.
    if is_musl(interpreter) && !elf.has_unwind_tables {
        remarks.push(format!(
            "{} was linked without an index of its unwind tables, so its stacks end at its own functions: \
             link it with -Wl,--eh-frame-hdr, which Debian's musl-gcc does not do by itself.",
            path.display()
        ));
    }
    Ok(remarks)
}

/// A program without a loader is static, except the loader itself (`ld.so ./app` loads preloaded libraries) and
/// libraries.
fn check_without_loader(elf: &Elf, path: PathBuf) -> Result<Vec<String>, Refusal> {
    match &elf.soname {
        Some(name) if name.starts_with(b"ld-linux") => Ok(Vec::new()),
        _ if elf.ident.kind == ET_DYN && !elf.pie => {
            Err(Refusal::NotExecutableElf { path, what: "a library" })
        }
        _ => Err(Refusal::Static { path }),
    }
}

/// The C library of a dynamic loader, when it is neither glibc's (`ld-linux-x86-64.so.2`, `ld-2.31.so`) nor musl's
/// (`ld-musl-x86_64.so.1`).
fn foreign_libc(interpreter: &Path) -> Option<&'static str> {
    let name = interpreter.file_name().unwrap_or_default().to_string_lossy();
    match &*name {
        name if OUR_LOADERS.iter().any(|ours| name.starts_with(ours)) => None,
        name if name.to_lowercase().contains("uclibc") => Some("uClibc"),
        name if name.starts_with("linker") => Some("Android"),
        _ => Some("another C library"),
    }
}

fn is_musl(interpreter: &Path) -> bool {
    interpreter.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-musl"))
}

/// True for the shared runtimes of gcc's sanitizers.
fn is_sanitizer(library: &[u8]) -> bool {
    [b"libasan.so".as_slice(), b"libtsan.so", b"liblsan.so", b"libclang_rt.asan"]
        .iter()
        .any(|name| library.starts_with(name))
}

/// An architecture's name for the user.
fn machine_name(machine: u16) -> String {
    let name = match machine {
        EM_386 => "32-bit x86",
        EM_X86_64 => "x86_64",
        EM_ARM => "32-bit ARM",
        EM_AARCH64 => "aarch64",
        EM_RISCV => "RISC-V",
        EM_PPC64 => "PowerPC 64",
        EM_S390 => "s390",
        other => return format!("another architecture (ELF machine {other})"),
    };
    name.to_string()
}
