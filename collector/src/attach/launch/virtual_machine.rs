//! Virtual machines that name the code that they make, and keep its frames, if they are told to by a variable.
//!
//! | | option | what it does |
//! |---|---|---|
//! | Node.js, from 12 | `--perf-basic-prof` | writes the functions that it compiles into `/tmp/perf-PID.map` |
//! | | `--interpreted-frames-native-stack` | gives each function that it interprets code of its own, and so a name |
//! | Java | `PreserveFramePointer` | compiled methods have frames that can be walked |
//! | | `DumpPerfMapAtExit` (from 17) | writes them into `/tmp/perf-PID.map` at the end |
//!
//! Variables go to all processes of a recording, most of which do not know them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A virtual machine.
struct VirtualMachine {
    /// Names of its executables.
    programs: &'static [&'static str],
    variable: &'static str,
    options: &'static str,
    /// Whoever has said this has asked for a map himself, and expects it.
    asks_for_map: &'static str,
}

const ALL: [VirtualMachine; 2] = [
    VirtualMachine {
        programs: &["node", "nodejs"],
        variable: "NODE_OPTIONS",
        options: "--perf-basic-prof --interpreted-frames-native-stack",
        asks_for_map: "--perf-",
    },
    VirtualMachine {
        programs: &["java"],
        variable: "JAVA_TOOL_OPTIONS",
        // Versions that do not know one of these ignore it.
        options: "-XX:+IgnoreUnrecognizedVMOptions -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions \
                  -XX:+DumpPerfMapAtExit",
        asks_for_map: "DumpPerfMapAtExit",
    },
];

impl VirtualMachine {
    /// What its variable is to be: our options after the user's. `None` if these ask for a map.
    fn value(&self, before: Option<OsString>) -> Option<OsString> {
        let mut value = before.unwrap_or_default();
        if contains(&value, self.asks_for_map) {
            return None;
        }
        if !value.is_empty() {
            value.push(" ");
        }
        value.push(self.options);
        Some(value)
    }

    /// True if it was told by us.
    fn is_told(&self) -> bool {
        self.value(std::env::var_os(self.variable)).is_some()
    }

    fn executes(&self, executable: &str) -> bool {
        let name = executable.rsplit('/').next().unwrap_or(executable);
        self.programs.contains(&name)
    }
}

/// The variables that tell them, with the options that the user has given to them.
pub(super) fn variables() -> impl Iterator<Item = (&'static str, OsString)> {
    ALL.iter()
        .filter_map(|machine| Some((machine.variable, machine.value(std::env::var_os(machine.variable))?)))
}

/// Says which of these executables were told what, if any was.
pub(crate) fn remark(executables: &[&str]) -> Option<String> {
    let is_there =
        |machine: &&VirtualMachine| executables.iter().any(|executable| machine.executes(executable));
    let told = ALL.iter().filter(|machine| machine.is_told()).filter(is_there);
    let told: Vec<String> =
        told.map(|machine| format!("{} by {}", machine.programs[0], machine.variable)).collect();
    (!told.is_empty()).then(|| {
        format!(
            "Told to name the functions that it compiles: {} (not with --no-interpreters).",
            told.join(", ")
        )
    })
}

/// Removes the map that a process has written because we told it to, once it was read. It is left alone if the process
/// may have been told by somebody else: by its arguments, which are empty where they are not known.
pub(crate) fn remove_map(executable: &str, arguments: &[String], pid: u32) {
    let of_us = ALL.iter().filter(|machine| machine.executes(executable) && machine.is_told());
    let asked =
        |machine: &VirtualMachine| arguments.iter().any(|argument| argument.contains(machine.asks_for_map));
    if arguments.is_empty() || !of_us.into_iter().any(|machine| !asked(machine)) {
        return;
    }
    let path = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    if is_own_file(&path) {
        // Somebody else may have removed it.
        let _ = fs::remove_file(path);
    }
}

/// True for a regular file of our user.
fn is_own_file(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|file| file.is_file() && file.uid() == rustix::process::geteuid().as_raw())
}

fn contains(text: &OsStr, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|window| window == part.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the user's options stay, and that whoever asks for a map is not told anything.
    #[test]
    fn options_of_the_user_come_first() {
        let [node, java] = ALL;
        let value = |machine: &VirtualMachine, before: &str| machine.value(Some(before.into()));
        assert_eq!(node.value(None).unwrap(), node.options);
        assert_eq!(value(&node, "--inspect").unwrap(), format!("--inspect {}", node.options).as_str());
        assert_eq!(value(&node, "--perf-basic-prof-only-functions"), None);
        assert_eq!(value(&java, "-Xmx1g -XX:+DumpPerfMapAtExit"), None);
        assert!(value(&java, "-XX:-PreserveFramePointer").is_some());
    }

    /// Check that only machines that ran are spoken of.
    #[test]
    fn machines_that_ran_are_named() {
        assert_eq!(remark(&["/bin/sh", "/opt/node/lib.so", "nodejs2"]), None);
        assert_eq!(remark(&[]), None);
        let told = remark(&["/bin/sh", "/usr/bin/node"]).unwrap();
        assert!(told.contains("NODE_OPTIONS") && !told.contains("JAVA"), "{told}");
    }
}
