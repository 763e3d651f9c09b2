//! The user's editor.

use crate::work::Place;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// The command that opens a place: `$VISUAL`, else `$EDITOR`, else `vi`, with the line as most editors take it.
pub(crate) fn command(visual: Option<OsString>, editor: Option<OsString>, place: &Place) -> Command {
    let said = |value: Option<OsString>| value.filter(|value| !value.is_empty());
    let words = said(visual).or_else(|| said(editor)).unwrap_or_else(|| "vi".into());
    let words = words.to_string_lossy().into_owned();
    let mut words = words.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let mut command = Command::new(program);
    command.args(words);
    let name = program.rsplit('/').next().unwrap_or(program);
    // A relative path in a capture could look like an option, or like a command for the editor.
    let path = if place.path.is_absolute() { place.path.clone() } else { Path::new(".").join(&place.path) };
    let is_code = matches!(name, "code" | "codium" | "code-insiders");
    command.args(is_code.then_some("--goto"));
    if is_code || matches!(name, "hx" | "helix" | "zed" | "subl") {
        let mut target = path.into_os_string();
        target.push(format!(":{}", place.line.max(1)));
        command.arg(target);
    } else {
        command.arg(format!("+{}", place.line.max(1))).arg(path);
    }
    command
}

/// Runs the editor until the user leaves it.
pub(crate) fn open(place: &Place) -> io::Result<ExitStatus> {
    command(std::env::var_os("VISUAL"), std::env::var_os("EDITOR"), place).status()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a path cannot be taken for an option, or for a command of the editor.
    #[test]
    fn paths_are_no_options() {
        let place = Place { path: "+!reboot".into(), line: 0 };
        let command = command(None, None, &place);
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["+1", "./+!reboot"]);
    }

    /// Check how editors get the line, and which editor is chosen.
    #[test]
    fn editors_get_the_line_in_their_way() {
        let place = Place { path: "/src/a b.c".into(), line: 7 };
        for (visual, editor, expected) in [
            ("", "", vec!["vi", "+7", "/src/a b.c"]),
            ("", "nano", vec!["nano", "+7", "/src/a b.c"]),
            ("emacs -nw", "nano", vec!["emacs", "-nw", "+7", "/src/a b.c"]),
            ("/usr/bin/code --wait", "", vec!["/usr/bin/code", "--wait", "--goto", "/src/a b.c:7"]),
            ("hx", "", vec!["hx", "/src/a b.c:7"]),
        ] {
            let command = command(Some(visual.into()), Some(editor.into()), &place);
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
            assert_eq!(words, expected);
        }
    }
}
