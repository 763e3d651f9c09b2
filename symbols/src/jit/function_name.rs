//! Splits names that compilers write into function, file and line.
//!
//! | written | function | file, line |
//! |---|---|---|
//! | `JS:*add /srv/app.js:12:5` (node; `~`, `^`, `+`, `*` say how well it is compiled) | `add` | `/srv/app.js`, 12 |
//! | `JS:~ /srv/app.js:1:1` | `(anonymous)` | `/srv/app.js`, 1 |
//! | `py::work:/srv/app.py` (Python) | `py::work` | `/srv/app.py` |
//! | anything else | as it is | |

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FunctionName<'a> {
    pub(super) function: &'a str,
    pub(super) file: Option<&'a str>,
    pub(super) line: Option<u32>,
}

/// Prefixes of script functions in node; the second is that of versions before 16.
const SCRIPTS: [&str; 3] = ["JS:", "LazyCompile:", "Function:"];

impl<'a> FunctionName<'a> {
    /// Takes a name apart.
    pub(super) fn of(name: &'a str) -> FunctionName<'a> {
        let plain = FunctionName { function: name, file: None, line: None };
        if let Some(script) = SCRIPTS.iter().find_map(|prefix| name.strip_prefix(prefix)) {
            return of_script(script.trim_start_matches(['~', '^', '+', '*'])).unwrap_or(plain);
        }
        match name.strip_prefix("py::").and_then(|rest| rest.split_once(':')) {
            Some((function, file)) if !function.is_empty() && !file.is_empty() => {
                FunctionName { function: &name[..name.len() - file.len() - 1], file: Some(file), line: None }
            }
            _ => plain,
        }
    }
}

/// `add /srv/app.js:12:5`, with or without a function, a column or a place.
fn of_script(name: &str) -> Option<FunctionName<'_>> {
    let (function, place) = name.split_once(' ').unwrap_or((name, ""));
    let function = if function.is_empty() { "(anonymous)" } else { function };
    if place.is_empty() {
        return (!name.is_empty()).then_some(FunctionName { function, file: None, line: None });
    }
    let (place, last) = numbered(place);
    let (file, first) = numbered(place);
    Some(FunctionName { function, file: Some(file), line: first.or(last).filter(|&line| line > 0) })
}

/// `app.js` and 12 of `app.js:12`.
fn numbered(place: &str) -> (&str, Option<u32>) {
    match place.rsplit_once(':').map(|(rest, number)| (rest, number.parse())) {
        Some((rest, Ok(number))) if !rest.is_empty() => (rest, Some(number)),
        _ => (place, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check what is made of names as compilers write them, and that others stay whole.
    #[test]
    fn names_are_taken_apart() {
        for (name, function, file, line) in [
            ("JS:*add /srv/app.js:12:5", "add", Some("/srv/app.js"), Some(12)),
            ("JS:~add /srv/my app.js:12:5", "add", Some("/srv/my app.js"), Some(12)),
            ("JS:^ /srv/app.js:1:1", "(anonymous)", Some("/srv/app.js"), Some(1)),
            ("LazyCompile:*add /srv/app.js:7", "add", Some("/srv/app.js"), Some(7)),
            ("JS:*next node:internal/timers:1:1", "next", Some("node:internal/timers"), Some(1)),
            ("JS:*add :1:1", "add", Some(":1"), Some(1)),
            ("JS:add", "add", None, None),
            ("JS:", "JS:", None, None),
            ("py::work:/srv/app.py", "py::work", Some("/srv/app.py"), None),
            ("py::<module>:/srv/a:b.py", "py::<module>", Some("/srv/a:b.py"), None),
            ("py::work", "py::work", None, None),
            ("Builtin:ArrayMap", "Builtin:ArrayMap", None, None),
            ("void Main::work(int)", "void Main::work(int)", None, None),
        ] {
            assert_eq!(FunctionName::of(name), FunctionName { function, file, line }, "{name}");
        }
    }
}
