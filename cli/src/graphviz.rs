//! Draws graphs with Graphviz, if it is installed.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// The Graphviz program.
const PROGRAM: &str = "dot";

/// Formats of drawings, which are file extensions as well.
const DRAWINGS: [&str; 3] = ["svg", "png", "pdf"];

/// Time between two checks whether it has finished, or been given up.
const LOOK: Duration = Duration::from_millis(5);

/// Bytes of its error output that are kept.
const MOST_SAID: u64 = 4096;

/// Why there is no drawing.
#[derive(Debug)]
pub(crate) enum Undrawn {
    /// Graphviz is not installed.
    NotInstalled,
    /// Nobody waits for the drawing any more.
    GivenUp,
    /// Graphviz rejected the graph.
    Refused(ExitStatus, String),
    /// Graphviz could not be run.
    NotRun(io::Error),
}

impl Display for Undrawn {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Undrawn::NotInstalled => write!(
                out,
                "drawing a graph needs Graphviz, whose program `{PROGRAM}` is not installed. Install it, or \
                 write the graph itself to a file that ends in .dot"
            ),
            Undrawn::GivenUp => write!(out, "the drawing was given up"),
            Undrawn::Refused(status, said) => {
                write!(out, "{PROGRAM} did not draw the graph ({status}): {said}")
            }
            Undrawn::NotRun(error) => write!(out, "cannot run {PROGRAM}: {error}"),
        }
    }
}

impl Error for Undrawn {}

impl From<io::Error> for Undrawn {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Undrawn::NotInstalled,
            _ => Undrawn::NotRun(error),
        }
    }
}

/// Longest wait for the drawing of a page's call graph: one that takes longer would be unreadable.
pub(crate) const MOST_OF_DRAWING: Duration = Duration::from_secs(20);

/// The drawing format for a file with this extension; `None` for the graph itself.
pub(crate) fn drawing(output: &Path) -> Option<&'static str> {
    let extension = output.extension()?;
    DRAWINGS.into_iter().find(|drawing| extension.eq_ignore_ascii_case(drawing))
}

/// Draws a graph in one of these formats. `is_given_up` is called every few milliseconds.
///
/// # Errors
/// If Graphviz is not installed, rejects the graph, or was stopped.
pub(crate) fn draw(graph: &[u8], format: &str, is_given_up: &dyn Fn() -> bool) -> Result<Vec<u8>, Undrawn> {
    run(Command::new(PROGRAM).arg(format!("-T{format}")), graph, is_given_up)
}

fn run(command: &mut Command, graph: &[u8], is_given_up: &dyn Fn() -> bool) -> Result<Vec<u8>, Undrawn> {
    command.env_remove("LD_PRELOAD");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // It may write before it has read everything, so both directions are served at once.
    thread::scope(|scope| {
        // If it stops reading early, its own message says why.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(graph)));
        let drawn = scope.spawn(move || read(stdout, u64::MAX));
        let said = scope.spawn(move || read(stderr, MOST_SAID));
        let status = end_of(&mut child, is_given_up)?;
        let drawn = drawn.join().unwrap_or_default();
        let said = said.join().unwrap_or_default();
        match status {
            None => Err(Undrawn::GivenUp),
            Some(status) if !status.success() => {
                let said = String::from_utf8_lossy(&said).trim().escape_debug().to_string();
                Err(Undrawn::Refused(status, said))
            }
            Some(_) => Ok(drawn),
        }
    })
}

/// Its exit status; `None` if it was stopped. Either way it has been reaped.
fn end_of(child: &mut Child, is_given_up: &dyn Fn() -> bool) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if is_given_up() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// The first `most` bytes; the rest is read and discarded, so that the writer does not block.
fn read(from: Option<impl Read>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        // If reading fails, what was read before is all there is.
        let _ = from.by_ref().take(most).read_to_end(&mut bytes);
        let _ = io::copy(&mut from, &mut io::sink());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Check which files contain drawings.
    #[test]
    fn extensions_say_what_is_drawn() {
        for (output, expected) in [
            ("app.svg", Some("svg")),
            ("dir.d/APP.PNG", Some("png")),
            ("a.b.pdf", Some("pdf")),
            ("app.dot", None),
            ("svg", None),
            ("-", None),
        ] {
            assert_eq!(drawing(Path::new(output)), expected, "{output}");
        }
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// Check that a drawing arrives whole, even if it exceeds a pipe's capacity in both directions, and that errors
    /// are reported.
    #[test]
    fn drawings_come_whole() {
        let graph = vec![b'x'; 1 << 20];
        let drawn = run(&mut shell("cat; echo warning >&2"), &graph, &|| false).expect("it can be run");
        assert!(drawn == graph);
        let refused = run(&mut shell("printf 'a\\033b' >&2; exit 3"), &graph, &|| false).unwrap_err();
        assert!(refused.to_string().ends_with("(exit status: 3): a\\u{1b}b"), "{refused}");
        let missing = run(&mut Command::new("/nowhere/dot"), b"", &|| false).unwrap_err();
        assert!(matches!(missing, Undrawn::NotInstalled), "{missing}");
    }

    /// Check that giving up returns at once, and stops the program.
    #[test]
    fn drawings_are_given_up() {
        let begun = Instant::now();
        let is_late = || begun.elapsed() > Duration::from_millis(50);
        let given_up = run(&mut shell("exec sleep 100"), b"", &is_late).unwrap_err();
        assert!(matches!(given_up, Undrawn::GivenUp), "{given_up}");
        assert!(begun.elapsed() < Duration::from_secs(50));
    }
}
