//! What a process is called.

use super::names::file_name;
use capture::Process;

/// The name of a process: its executable's, or what its command begins with; `[pid = N]` where there is neither.
/// Ordinary names have no brackets; those of kernel threads come with theirs.
pub fn process_name(process: &Process) -> String {
    let command = process.command.first().map_or("", String::as_str);
    let known = [process.name.as_str(), file_name(&process.executable), file_name(command)];
    match known.into_iter().find(|name| !name.trim().is_empty()) {
        Some(name) => name.to_owned(),
        None => format!("[pid = {}]", process.pid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, executable: &str, command: &[&str], expected: &str) {
        let process = Process {
            pid: 1234,
            name: name.to_owned(),
            executable: executable.to_owned(),
            command: command.iter().map(|&part| part.to_owned()).collect(),
            ..Process::default()
        };
        assert_eq!(process_name(&process), expected);
    }

    /// Check that the best known name is taken, and that only a process without any gets brackets from us.
    #[test]
    fn processes_have_names() {
        check("app", "/usr/bin/app-1.2", &["./app", "-x"], "app");
        check("", "/usr/bin/app-1.2", &[], "app-1.2");
        check("", "", &["bin/tool", "-x"], "tool");
        check("[kworker/0:1]", "", &[], "[kworker/0:1]");
        check("", "", &[], "[pid = 1234]");
        check("  ", "", &[""], "[pid = 1234]");
    }
}
