//! The product, built once by each test process.
//!
//! ```text
//!   TARGET/debug/deps/end_to_end-HASH        this executable
//!   TARGET/debug/sysprof-memprof             what it tests: same target folder, same profile
//! ```

use super::{World, skip, wait};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The built command.
pub(crate) fn product() -> &'static Path {
    static PRODUCT: OnceLock<PathBuf> = OnceLock::new();
    PRODUCT.get_or_init(build)
}

/// A folder for what is compiled for the tests, beside the product.
pub(crate) fn build_folder() -> PathBuf {
    profile_folder().join("end-to-end")
}

/// A part of what `scripts/validators` has downloaded to check exports with, if it is there.
pub(crate) fn validator(part: &str) -> Option<PathBuf> {
    let profile = profile_folder();
    // With --target there is one more folder.
    let mut places = profile.ancestors().skip(1).take(2).map(|folder| folder.join("validators").join(part));
    places.find(|place| place.exists())
}

/// Whether the CPU can be sampled here. If not, a recording says so, and that is tested as well.
pub(crate) fn can_sample() -> bool {
    let world = World::new();
    let ran = wait(&world, world.tool(["doctor"]));
    let finding = ran.text().lines().find(|line| line.contains("CPU samples")).unwrap_or_default();
    let can = finding.contains("cpu-clock") || finding.contains("cycles");
    if !can {
        skip("CPU samples", "the kernel does not permit them");
    }
    can
}

/// The folder of the profile that this executable was built with.
fn profile_folder() -> PathBuf {
    let executable = std::env::current_exe().expect("/proc is mounted");
    let folder = executable.parent().and_then(Path::parent);
    folder.expect("cargo puts tests two folders below the target folder").to_path_buf()
}

fn build() -> PathBuf {
    let folder = profile_folder();
    let name = |path: Option<&Path>| {
        path.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned()
    };
    let profile = match name(Some(&folder)).as_str() {
        "debug" => "dev".to_string(),
        profile => profile.to_string(),
    };
    let above = folder.parent().expect("the profile has a folder of its own");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What cargo tells this test of its package is not what it told the build: some packages would be built again.
    let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    let told = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_package));
    told.for_each(|(name, _)| _ = cargo.env_remove(name));
    cargo.args(["build", "--quiet", "--package", "sysprof-memprof", "--profile", &profile]);
    cargo.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml"));
    // With --target there is a folder named after it in between.
    let target = name(Some(above));
    if target.ends_with("-linux-gnu") {
        cargo.args(["--target", &target, "--target-dir"]).arg(above.parent().unwrap_or(above));
    } else {
        cargo.arg("--target-dir").arg(above);
    }
    let status = cargo.status().unwrap_or_else(|error| panic!("cannot run {cargo:?}: {error}"));
    assert!(status.success(), "the product does not build: {cargo:?}");
    folder.join("sysprof-memprof")
}
