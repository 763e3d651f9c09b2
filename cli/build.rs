//! Builds the agent, which is embedded in the command.
//!
//! The agent is a library of its own, with its own features and lints, and cargo cannot yet depend on the file that a
//! crate produces. So this runs cargo once more, for the agent alone:
//!
//! ```text
//!   cargo build -p sysprof-memprof
//!     └── cli/build.rs
//!           └── cargo build -p preload --target-dir OUT_DIR/agent       no lock in common with the outer cargo
//!                 └── libsysprof_memprof_preload.so ── include_bytes! ──► cli/src/agent.rs
//! ```
//!
//! Tests of the agent with other features name these in a variable; see [`FEATURES`].
//!
//! The outer build's settings for its own crates are kept from the agent: flags such as those for coverage or
//! sanitizers would add calls that allocate to its hooks, and wrappers such as clippy's do not build at all.

use std::env;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates that make up the agent.
const SOURCES: [&str; 3] = ["preload", "shared-ring", "unwind"];
/// Other files that decide how it is built.
const SETTINGS: [&str; 4] = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo/config.toml"];

/// Features of the agent besides those that it is installed with, separated by commas.
const FEATURES: &str = "SYSPROF_MEMPROF_AGENT_FEATURES";

fn main() {
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let Some(workspace) = manifest.parent() else {
        panic!("{} has no workspace above it", manifest.display())
    };
    watch(workspace);
    let out = PathBuf::from(variable("OUT_DIR"));
    let library = build(workspace, &out);
    assert!(library.is_file(), "the agent was built, but not to {}", library.display());
    println!("cargo::rustc-env=SYSPROF_MEMPROF_AGENT={}", library.display());
    println!("cargo::rustc-env=SYSPROF_MEMPROF_AGENT_HASH={}", hash(&library));
}

/// A hash of a file, as 16 hexadecimal digits.
fn hash(file: &Path) -> String {
    let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    format!("{:016x}", hasher.finish())
}

/// Asks cargo to rerun this script if the agent would turn out different.
fn watch(workspace: &Path) {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={FEATURES}");
    // Cargo watches whole folders; a file that does not exist would make it rerun every time.
    for path in SOURCES.iter().chain(&SETTINGS).map(|name| workspace.join(name)).filter(|path| path.exists())
    {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// Builds the agent and returns its path.
fn build(workspace: &Path, out: &Path) -> PathBuf {
    let target = variable("TARGET");
    assert!(
        target.contains("linux") && target.contains("-gnu"),
        "the agent works with glibc on Linux, not on {target}: build for a -linux-gnu target"
    );
    let profile = profile(out);
    let target_dir = out.join("agent");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["build", "--package", "preload", "--lib", "--features"]);
    cargo.arg(format!("standalone,{}", env::var(FEATURES).unwrap_or_default()));
    cargo.args(["--profile", &profile, "--target", &target]);
    cargo.arg("--manifest-path").arg(workspace.join("Cargo.toml")).arg("--target-dir").arg(&target_dir);
    if workspace.join("Cargo.lock").exists() {
        cargo.arg("--locked");
    }
    if is_offline() {
        cargo.arg("--offline");
    }
    cargo.current_dir(workspace);
    for (name, _) in env::vars_os().filter(|(name, _)| !is_kept(&name.to_string_lossy())) {
        cargo.env_remove(name);
    }
    // What was kept of an earlier build of optimized code let the linker miss symbols that are in it.
    cargo.env("CARGO_INCREMENTAL", "0");
    // Nothing may unwind into a host.
    let of_profile = profile.to_uppercase().replace('-', "_");
    cargo.env(format!("CARGO_PROFILE_{of_profile}_PANIC"), "abort");
    if profile == "release" {
        // A hook consists of code of four crates, and the program pays for every nanosecond of it. With `fat` a stack
        // takes 0.5 to 1.5 ns longer than with `thin`, because LLVM lays the hook out differently.
        cargo.env("CARGO_PROFILE_RELEASE_LTO", "thin").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
        // Line tables would be four fifths of the file, which each recording compares with the one that programs load,
        // and reads for names when samples of the processor fall into hooks. Functions keep their names.
        cargo.env("CARGO_PROFILE_RELEASE_STRIP", "debuginfo");
    }
    let status = cargo.status().unwrap_or_else(|error| panic!("cannot run {cargo:?}: {error}"));
    assert!(
        status.success(),
        "the agent could not be built ({status}); see above. If a crate is missing offline, run: cargo fetch --locked"
    );
    let folder = if profile == "dev" { "debug" } else { &profile };
    target_dir.join(target).join(folder).join("libsysprof_memprof_preload.so")
}

/// The profile being built. Cargo only tells whether it derives from `debug` or `release`, but names the folder after
/// it: `target/PROFILE/build/sysprof-memprof-HASH/out`.
fn profile(out: &Path) -> String {
    let mut above = out.ancestors().skip(2).filter_map(|path| path.file_name()?.to_str());
    let name = match (above.next(), above.next()) {
        (Some("build"), Some(profile)) => profile.to_string(),
        _ => variable("PROFILE"),
    };
    if name == "debug" { "dev".to_string() } else { name }
}

/// True if the outer cargo may not use the network. It passes `CARGO_NET_OFFLINE` on, but not its `--offline` and
/// `--frozen`, so these are looked for in its own command line.
fn is_offline() -> bool {
    let by_variable = env::var("CARGO_NET_OFFLINE").is_ok_and(|value| value == "true");
    let parent = std::os::unix::process::parent_id();
    let command = std::fs::read(format!("/proc/{parent}/cmdline")).unwrap_or_default();
    let by_flag = command.split(|byte| *byte == 0).take_while(|argument| *argument != b"--");
    by_variable || by_flag.into_iter().any(|argument| argument == b"--offline" || argument == b"--frozen")
}

/// Variables that the agent's build may see: the user's own settings for network, sources and profiles, and the job
/// server. Everything else that cargo sets belongs to the outer build.
fn is_kept(name: &str) -> bool {
    const FLAGS: [&str; 4] = ["RUSTFLAGS", "RUSTDOCFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"];
    const KEPT: [&str; 8] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_MAKEFLAGS",
        "CARGO_NET_",
        "CARGO_PROFILE_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
    ];
    let is_linker = name.starts_with("CARGO_TARGET_") && name.ends_with("_LINKER");
    match name {
        name if FLAGS.contains(&name) => false,
        name if name == "CARGO" || name.starts_with("CARGO_") => {
            is_linker || KEPT.iter().any(|kept| name.starts_with(kept))
        }
        name => !name.starts_with("CLIPPY_"),
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: this is run by cargo"))
}
