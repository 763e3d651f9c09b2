//! The names of processes.

use crate::names::file_name::file_name;
use capture::Process;
use std::collections::{HashMap, HashSet};

/// The name of a process: that of its start, its executable's, or its command's; `[pid = N]` if it has none. Process 0
/// is an idle processor. Ordinary names have no brackets; kernel threads come with theirs.
pub fn process_name(process: &Process) -> String {
    let command = process.command.first().map_or("", String::as_str);
    let known = [process.name.as_str(), file_name(&process.executable), file_name(command)];
    match known.into_iter().find(|name| !name.trim().is_empty()) {
        Some(name) => name.to_owned(),
        None if process.pid == 0 => "[idle]".to_owned(),
        None => format!("[pid = {}]", process.pid),
    }
}

/// The titles of processes in lists of several, such as those of a test runner or a build: they include arguments if
/// other processes have the same name with different ones.
#[derive(Debug)]
pub struct ProcessTitles {
    ambiguous: HashSet<String>,
}

/// Most letters of arguments. What tells commands apart is at either end of them.
const ARGUMENTS: usize = 60;

impl ProcessTitles {
    /// The titles of all these processes.
    pub fn new(processes: &[Process]) -> ProcessTitles {
        let mut first: HashMap<String, &[String]> = HashMap::new();
        let mut ambiguous = HashSet::new();
        for process in processes {
            let arguments = process.command.get(1..).unwrap_or_default();
            let name = process_name(process);
            match first.get(&name) {
                Some(before) if *before != arguments => {
                    ambiguous.insert(name);
                }
                Some(_) => {}
                None => {
                    first.insert(name, arguments);
                }
            }
        }
        ProcessTitles { ambiguous }
    }

    /// The title of one of them.
    pub fn of(&self, process: &Process) -> String {
        let name = process_name(process);
        let arguments = process.command.get(1..).unwrap_or_default().join(" ");
        if arguments.is_empty() || !self.ambiguous.contains(&name) {
            return name;
        }
        let letters: Vec<char> = arguments.chars().collect();
        if letters.len() <= ARGUMENTS {
            return format!("{name} {arguments}");
        }
        let (half, end) = (ARGUMENTS / 2, letters.len() - ARGUMENTS / 2);
        format!("{name} {}…{}", String::from_iter(&letters[..half]), String::from_iter(&letters[end..]))
    }
}

#[cfg(test)]
mod tests {
    use crate::names::process_name::*;

    /// Check that arguments are shown for processes that share a name but not arguments, and for no others.
    #[test]
    fn titles_tell_processes_of_one_name_apart() {
        let process = |name: &str, arguments: &[&str]| Process {
            name: name.into(),
            command: std::iter::once(&name).chain(arguments).map(|text| (*text).into()).collect(),
            ..Process::default()
        };
        let long =
            ["-quiet", "-imultiarch", "x86_64-linux-gnu", "-dumpbase", "first.c", "-o", "/tmp/first.s"];
        let all = [
            process("make", &["-j4", "check"]),
            process("unit", &["1"]),
            process("unit", &["2"]),
            process("unit", &[]),
            process("sh", &["-c", "x"]),
            process("sh", &["-c", "x"]),
            process("cc1", &long),
            process("cc1", &["second.c"]),
        ];
        let titles = ProcessTitles::new(&all);
        let expected = [
            "make",
            "unit 1",
            "unit 2",
            "unit",
            "sh",
            "sh",
            "cc1 -quiet -imultiarch x86_64-linu…mpbase first.c -o /tmp/first.s",
            "cc1 second.c",
        ];
        assert_eq!(all.each_ref().map(|process| titles.of(process)), expected);
    }

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
        assert_eq!(process_name(&Process::default()), "[idle]");
    }
}
