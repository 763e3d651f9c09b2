//! Drawings of graphs by Graphviz, where it is installed.

use anyhow::{Context, bail};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Its program that draws.
const PROGRAM: &str = "dot";

/// Formats of drawings, which are extensions of files as well.
const DRAWINGS: [&str; 3] = ["svg", "png", "pdf"];

/// The format of the drawing that a file is to hold, by its extension; none for the graph itself.
pub(crate) fn drawing(output: &Path) -> Option<&'static str> {
    let extension = output.extension()?;
    DRAWINGS.into_iter().find(|drawing| extension.eq_ignore_ascii_case(drawing))
}

/// Writes the drawing of a graph in one of these formats.
///
/// # Errors
/// When Graphviz is not installed or does not take the graph, and those of the writer.
pub(crate) fn draw(graph: &[u8], format: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut command = Command::new(PROGRAM);
    command.arg(format!("-T{format}")).env_remove("LD_PRELOAD");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
            "a drawing needs Graphviz, and its program `{PROGRAM}` is not installed. Install it, or write the graph itself to \
             a file that ends in .dot"
        ),
        child => child.with_context(|| format!("cannot run {PROGRAM}"))?,
    };
    let stdin = child.stdin.take();
    // It may write before it has read all.
    let output = std::thread::scope(|scope| {
        scope.spawn(|| stdin.map(|mut stdin| stdin.write_all(graph)));
        child.wait_with_output()
    });
    let output = output.with_context(|| format!("cannot read from {PROGRAM}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{PROGRAM} did not draw the graph ({}): {}", output.status, said.trim().escape_debug());
    }
    Ok(out.write_all(&output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check which files hold drawings.
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
}
