//! Tries out what a recording needs.

use super::check::Check;
use crate::agent::{self, Available};
use crate::{output, version};
use analysis::format::bytes;
use collector::Probe;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create, statvfs};
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Size of the memory that is tried; any size would do.
const TRIED: u64 = 1 << 16;
/// Address space that one process's recording reserves; most of it is never used.
const RESERVED: u64 = 4 << 30;

/// All checks, most basic first.
pub(super) fn all() -> Vec<Check> {
    let agent = agent::provide();
    let mut checks = vec![versions(), system(), libc()];
    match &agent {
        Ok(agent) => checks.extend([place(agent), loads(agent)]),
        Err(error) => checks.push(Check::bad("agent", error.to_string().replace('\n', ";"))),
    }
    let probe = collector::probe();
    checks.extend([
        shared_memory(),
        clock(),
        cpu_samples(&probe),
        page_faults(&probe),
        memory_accesses(),
        address_space(),
        file_size(),
        captures(),
        privileges(),
        environment(),
    ]);
    checks
}

fn versions() -> Check {
    let version = version::text();
    Check::good("version", format!("{version}, agent of {} bytes", agent::BYTES.len()))
}

fn system() -> Check {
    let name = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let container = ["/.dockerenv", "/run/.containerenv"].iter().any(|file| Path::new(file).exists());
    let inside = if container { ", in a container" } else { "" };
    Check::good(
        "system",
        format!("{} {} {}{inside}", text(name.sysname()), text(name.release()), text(name.machine())),
    )
}

fn libc() -> Check {
    match Command::new("getconf").arg("GNU_LIBC_VERSION").env_remove("LD_PRELOAD").output() {
        Ok(output) if output.status.success() => {
            Check::good("C library", String::from_utf8_lossy(&output.stdout).trim().to_string())
        }
        _ => Check::note("C library", "unknown to getconf"),
    }
}

fn place(agent: &Available) -> Check {
    let path = agent.path.display();
    match agent.installed {
        true => Check::good("agent", format!("installed at {path}")),
        false => Check::good("agent", format!("private copy at {path}; services need agent install")),
    }
}

/// Preloads the agent into a program and looks for it in the memory map.
fn loads(agent: &Available) -> Check {
    let output = Command::new("cat")
        .arg("/proc/self/maps")
        .env("LD_PRELOAD", &agent.path)
        .env_remove("SYSPROF_MEMPROF_SOCKET")
        .output();
    let name = "preloading";
    match output {
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains(&*agent.path.to_string_lossy()) => {
            Check::good(name, "the dynamic loader loads the agent")
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
            Check::bad(name, format!("the dynamic loader does not load the agent: {said}"))
        }
        Err(error) => Check::note(name, format!("could not be tried: {error}")),
    }
}

/// Creates memory in the way in which it is shared with recorded processes.
fn shared_memory() -> Check {
    let name = "shared memory";
    let tried = memfd_create("sysprof-memprof-doctor", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
        .and_then(|memory| ftruncate(&memory, TRIED).map(|()| memory))
        .and_then(|memory| fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW).map(|()| memory));
    match tried {
        Ok(memory) => match fcntl_add_seals(&memory, SealFlags::FUTURE_WRITE) {
            Ok(()) => Check::good(name, "memfd with seals"),
            Err(error) => {
                Check::bad(name, format!("no seal against writing ({error}): Linux 5.1 or later is needed"))
            }
        },
        Err(error) => {
            Check::bad(name, format!("no memfd with seals ({error}): does a sandbox forbid memfd_create?"))
        }
    }
}

fn clock() -> Check {
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    match source.as_str() {
        "tsc" => Check::good("clock", "tsc"),
        "" => Check::note("clock", "the kernel's clock source is unknown"),
        other => Check::note("clock", format!("{other}; time stamps cost more than with tsc")),
    }
}

/// Whether the CPU could be sampled along with allocations.
fn cpu_samples(probe: &Probe) -> Check {
    let name = "CPU samples";
    let Some(event) = probe.event else { return Check::note(name, &probe.refused) };
    let clock = if probe.is_native_clock {
        "its times are the time stamp counter's"
    } else {
        "timed by the system's clock"
    };
    let system = if probe.system_wide { "--system is possible" } else { "--system is not permitted" };
    let finding = format!("{event}, {clock}, {system}");
    match probe.has_kernel {
        true => Check::good(name, finding),
        false => Check::note(name, format!("{finding}; {}", probe.refused)),
    }
}

/// Whether page faults could be recorded.
fn page_faults(probe: &Probe) -> Check {
    let name = "page faults";
    match probe.faults {
        (false, _) => Check::note(name, &probe.faults_refused),
        (true, everywhere) => {
            let of_others = match everywhere {
                true => "attach --faults is possible",
                false => "attach --faults is not permitted (it needs CAP_PERFMON)",
            };
            let finding = format!("run --faults records them, {of_others}");
            match probe.faults_refused.is_empty() {
                true => Check::good(name, finding),
                false => Check::note(name, format!("{finding}; {}", probe.faults_refused)),
            }
        }
    }
}

/// Whether the processor could report the addresses of memory accesses; nothing records these yet.
fn memory_accesses() -> Check {
    let sources = ["cpu/events/mem-loads", "cpu_core/events/mem-loads", "ibs_op", "arm_spe_0"];
    let has = |source: &&&str| Path::new("/sys/bus/event_source/devices").join(source).exists();
    let finding = match sources.iter().find(has) {
        Some(source) => format!("not recorded, though this processor could sample them ({source})"),
        None => String::from("not available: this processor, or virtual machine, does not sample addresses"),
    };
    Check::note("memory accesses", format!("{finding}; run --faults shows who touched memory first"))
}

fn address_space() -> Check {
    match getrlimit(Resource::As).current {
        Some(limit) if limit < RESERVED => Check::note(
            "address space",
            format!(
                "limited to {limit} bytes (ulimit -v): recorded programs may not start; take a smaller --ring-size"
            ),
        ),
        _ => Check::good("address space", "not limited"),
    }
}

fn file_size() -> Check {
    match getrlimit(Resource::Fsize).current {
        Some(limit) => {
            Check::note("file size", format!("limited to {limit} bytes (ulimit -f): captures end there"))
        }
        None => Check::good("file size", "not limited"),
    }
}

/// Whether a capture could be written to the current folder.
fn captures() -> Check {
    let name = "current folder";
    // Permissions do not tell: /sys lets nobody create a file.
    if output::check_default().is_err() || output::create(Path::new("doctor.memprof")).is_err() {
        return Check::note(name, "captures cannot be written here; choose another place with --output");
    }
    match statvfs(".") {
        Ok(system) => {
            let free = system.f_bavail.saturating_mul(system.f_frsize);
            Check::good(name, format!("captures can be written here, {} free", bytes(free.cast_signed())))
        }
        Err(error) => Check::note(name, format!("free space is unknown: {error}")),
    }
}

fn privileges() -> Check {
    let status = read("/proc/self/status");
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("?").trim().to_string()
    };
    let setting = |name: &str| match read(&format!("/proc/sys/kernel/{name}")) {
        value if value.is_empty() => "?".to_string(),
        value => value,
    };
    let user = if rustix::process::geteuid().is_root() { "root" } else { "an ordinary user" };
    Check::good(
        "privileges",
        format!(
            "{user}, seccomp {}, no_new_privs {}, perf_event_paranoid {}, ptrace_scope {}",
            field("Seccomp:"),
            field("NoNewPrivs:"),
            setting("perf_event_paranoid"),
            setting("yama/ptrace_scope")
        ),
    )
}

/// Names only: the values may be private.
fn environment() -> Check {
    let ours = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let mut names: Vec<_> =
        ours.filter(|name| name.starts_with("SYSPROF_MEMPROF_") || name == "LD_PRELOAD").collect();
    names.sort();
    match names.is_empty() {
        true => Check::good("environment", "no SYSPROF_MEMPROF variables, no LD_PRELOAD"),
        false => Check::note("environment", format!("set: {}", names.join(", "))),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_string()
}
