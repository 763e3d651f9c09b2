//! The plugin for pytest: limits of marked tests.

use crate::harness::{Ran, World, installed, product, skip, validator, wait};
use std::path::Path;

/// Runs the tests of a script; none if there is no pytest.
fn pytest(options: &[&str]) -> Option<Ran> {
    let (Some(python), Some(package)) = (installed("python3"), validator("python/pytest")) else {
        skip("the plugin for pytest", "python3 or scripts/validators is missing");
        return None;
    };
    let world = World::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let product = product();
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = product.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&folders));
    let mut command = world.command(python);
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_sysprof_memprof"]);
    command.args(options).arg(here.join("programs/python/limited_tests.py"));
    command.env("PATH", std::env::join_paths(folders).expect("paths of a path"));
    let packages = package.parent().expect("it has a folder").to_owned();
    let packages = std::env::join_paths([here.join("../python"), packages]).expect("paths of a path");
    command.env("PYTHONPATH", packages).env("PYTHONDONTWRITEBYTECODE", "1");
    Some(wait(&world, command))
}

/// Check which limits hold: of what tests hold at once and leave behind, whatever others hold, and with a cache that is
/// filled before.
#[test]
fn limits_of_tests_are_checked() {
    let Some(ran) = pytest(&["--memprof"]) else { return };
    let said = format!("{}{}", ran.text(), ran.stderr);
    let limits = ran.text().split_once("memory limits:\n").unwrap_or_else(|| panic!("{said}")).1;
    let is_rule = |line: &&str| line.starts_with("ok ") || line.starts_with("FAIL ");
    let outcome = |line: &str| {
        let (result, _) = line.split_once(' ')?;
        let (_, rule) = line.split_once(": ")?;
        let (marker, test) = rule.split_once(" of ")?;
        Some(format!("{result} {marker} {}", test.rsplit("::").next()?))
    };
    let outcomes: Vec<_> = limits.lines().filter(is_rule).filter_map(outcome).collect();
    let expected = [
        "ok limit_memory test_holds_little",
        "FAIL limit_memory test_holds_much",
        "FAIL limit_memory test_leaves_much",
        "FAIL limit_leaks test_leaves_much",
        "ok limit_leaks test_fills_a_cache",
        "ok limit_leaks test_makes_a_circle",
        "ok limit_memory test_has_cases[1-2]",
        "ok limit_memory test_has_cases[3-4]",
    ];
    assert_eq!(outcomes, expected, "{said}");
    assert!(limits.contains("limited_tests.py"), "stacks have the functions of the tests: {said}");
    assert!(ran.text().contains("8 passed") && ran.code == 1, "{}: {said}", ran.code);
}

/// Check that limits that hold do not fail, that a failed test does, and that without the option nothing is recorded.
#[test]
fn exit_codes_are_those_of_tests_and_limits() {
    for (options, code, is_recorded) in [
        (&["--memprof", "-k", "little or circle"][..], 0, true),
        (&["--memprof", "-k", "not_limited"], 0, false),
        (&["--memprof", "-k", "little", "--no-such-option"], 4, false),
        (&[], 0, false),
    ] {
        let Some(ran) = pytest(options) else { return };
        assert_eq!(ran.code, code, "{options:?}: {}{}", ran.text(), ran.stderr);
        assert_eq!(ran.text().contains("memory limits:"), is_recorded, "{options:?}: {}", ran.text());
    }
}
