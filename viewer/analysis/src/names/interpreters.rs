//! Which files are interpreters and virtual machines, of which views show the scripts and not what runs them.

use crate::names::file_name::file_name;
use crate::names::table::Script;
use capture::{Frame, FrameId, Module, SourceFrame, Tables};

/// What runs scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    /// Any whose frames are read from the interpreter's memory: Python, Ruby, PHP, Perl.
    Interpreted,
    JavaScript,
    Java,
}

impl Language {
    /// That of a function of a script; none for any other.
    fn of_frame(tables: &Tables, frame: FrameId) -> Option<Language> {
        let Frame::Code { module: Some(module), .. } = tables.frames[frame.index()] else { return None };
        let module = tables.modules.get(module.index())?;
        let name = tables.symbol(frame)?.names.first()?;
        let file = name.file.map(|file| tables.string(file));
        match file {
            // Its file stands in for a module.
            Some(file) if file == module.path => Some(Language::Interpreted),
            _ if is_made_at_run_time(module) => Language::of_compiled(tables, name, file),
            _ => None,
        }
    }

    /// That of a function which a compiler reported. What Java reports has no file, and a class.
    fn of_compiled(tables: &Tables, name: &SourceFrame, file: Option<&str>) -> Option<Language> {
        match file {
            Some(file) if file.ends_with(".py") => Some(Language::Interpreted),
            Some(_) => Some(Language::JavaScript),
            None => {
                let name = tables.string(name.function?);
                let name = name.split('(').next().unwrap_or(name);
                (name.contains('.') && !name.contains("::")).then_some(Language::Java)
            }
        }
    }

    /// That of an interpreter by the name of its file.
    fn of_file(file: &str) -> Option<Language> {
        match file {
            "node" | "nodejs" => Some(Language::JavaScript),
            "libjvm.so" => Some(Language::Java),
            file if file.starts_with("libnode.so") => Some(Language::JavaScript),
            file => is_interpreter(file).then_some(Language::Interpreted),
        }
    }
}

/// By module, whether it is an interpreter whose scripts have functions on stacks. Where there are none, the
/// interpreter's own functions are all that is known.
pub(super) fn interpreters(tables: &Tables) -> Vec<bool> {
    let mut spoken = Vec::new();
    for index in 0..tables.frames.len() {
        let language = Language::of_frame(tables, FrameId::from_index(index));
        spoken.extend(language.filter(|language| !spoken.contains(language)));
    }
    let language = |module: &Module| Language::of_file(file_name(&module.path));
    tables
        .modules
        .iter()
        .map(|module| language(module).is_some_and(|language| spoken.contains(&language)))
        .collect()
}

/// How a frame's function is run, if it is one of a script.
pub(super) fn script_of(tables: &Tables, frame: FrameId) -> Option<Script> {
    Language::of_frame(tables, frame)?;
    let Frame::Code { module: Some(module), .. } = tables.frames[frame.index()] else { return None };
    Some(match is_made_at_run_time(&tables.modules[module.index()]) {
        true => Script::Compiled(tables.symbol(frame)?.names.first()?.file),
        false => Script::Interpreted,
    })
}

/// True for the file of a script that is a part of the interpreter: what imports others in Python, which leaves it out of
/// its own stack traces, and what Node.js is made of.
pub(super) fn is_part_of_interpreter(file: &str) -> bool {
    file.starts_with("<frozen importlib.") || file.starts_with("node:")
}

/// True for memory into which a compiler may write code: that cannot be executed meanwhile.
fn is_made_at_run_time(module: &Module) -> bool {
    module.path.starts_with("[anonymous ")
}

/// True for the names of the executable of an interpreter and its library, with any version: `python3.11`,
/// `libpython3.12.so.1.0`, `libruby-3.1.so.3.1.2`, `php-fpm8.2`, `libperl.so.5.36`.
fn is_interpreter(file: &str) -> bool {
    let name = file.strip_prefix("lib").unwrap_or(file);
    let names = ["python", "ruby", "php-fpm", "php-cgi", "php", "perl"];
    names.into_iter().filter_map(|language| name.strip_prefix(language)).any(|rest| {
        let version = rest.split(".so").next().unwrap_or(rest);
        let digits = version.trim_start_matches('-').trim_end_matches(['d', 'm', 't', 'u']);
        digits.bytes().all(|letter| letter.is_ascii_digit() || letter == b'.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{Module, ModuleId, SourceFrame, StringId, Symbolized};

    /// Check which files are interpreters.
    #[test]
    fn interpreters_are_known_by_their_files() {
        for file in [
            "python",
            "python3",
            "python3.11",
            "python3.13t",
            "python3.8d",
            "libpython3.12.so.1.0",
            "libpython3.so",
            "ruby",
            "ruby3.1",
            "libruby-3.1.so.3.1.2",
            "libruby.so.3.3",
            "php",
            "php8.2",
            "php-fpm8.2",
            "php-cgi",
            "libphp8.2.so",
            "perl",
            "perl5.36.0",
            "libperl.so.5.36",
        ] {
            assert!(is_interpreter(file), "{file}");
        }
        for file in [
            "python3-config",
            "pythonize",
            "ipython3",
            "_json.cpython-311-x86_64-linux-gnu.so",
            "rubygems",
            "jruby",
            "php-config8.2",
            "phpize",
            "perldoc",
            "libc.so.6",
        ] {
            assert!(!is_interpreter(file), "{file}");
        }
    }

    /// Check that an interpreter counts as one only where there are functions of scripts.
    #[test]
    fn interpreters_without_scripts_are_programs() {
        let mut tables = Tables::default();
        for path in ["/usr/bin/python3.11", "/srv/a.py"] {
            tables.modules.push(Module { path: path.to_owned(), ..Module::default() });
        }
        assert_eq!(interpreters(&tables), [false, false]);
        tables.strings = vec!["/srv/a.py".to_owned()];
        tables.frames.push(Frame::Code { module: Some(ModuleId(1)), address: 3, exact: true });
        let names = vec![SourceFrame { file: Some(StringId(0)), ..SourceFrame::default() }];
        tables.symbols.push(Some(Symbolized { frame: FrameId(0), names, ..Symbolized::default() }));
        assert_eq!(interpreters(&tables), [true, false]);
    }

    /// Check that what compilers report is known by its file or its class, and that it says which interpreter is one.
    #[test]
    fn compiled_scripts_are_scripts() {
        let interpreters = |function: &str, file: Option<&str>| {
            let mut tables = Tables::default();
            for path in
                ["[anonymous code (JIT?) of 7]", "/usr/bin/node", "/jdk/libjvm.so", "/usr/bin/python3.12"]
            {
                tables.modules.push(Module { path: path.to_owned(), ..Module::default() });
            }
            tables.strings = vec![function.to_owned(), file.unwrap_or_default().to_owned()];
            tables.frames.push(Frame::Code { module: Some(ModuleId(0)), address: 3, exact: true });
            let names = vec![SourceFrame {
                function: Some(StringId(0)),
                file: file.map(|_| StringId(1)),
                ..SourceFrame::default()
            }];
            tables.symbols.push(Some(Symbolized { frame: FrameId(0), names, ..Symbolized::default() }));
            let [_, node, java, python] = interpreters(&tables)[..] else { unreachable!("four modules") };
            [node, java, python]
        };
        assert_eq!(interpreters("handle", Some("/srv/app.js")), [true, false, false]);
        assert_eq!(interpreters("void App.handle(int)", None), [false, true, false]);
        assert_eq!(interpreters("py::work", Some("/srv/app.py")), [false, false, true]);
        for stub in
            ["Interpreter", "StubRoutines (1)", "Builtin:ArrayMap", "void [a.dll] App.Main::work(int)"]
        {
            assert_eq!(interpreters(stub, None), [false; 3], "{stub}");
        }
    }
}
