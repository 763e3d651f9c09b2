//! Lines of pieces with roles, for whoever draws them: a terminal's escape sequences, or a screen.

use super::style::{Role, Style};
use std::io::{self, Write};

/// A line, in pieces.
pub type Line = Vec<(Role, String)>;

/// Writes lines in the colours of their roles.
pub(super) fn print(out: &mut dyn Write, lines: &[Line], style: &Style) -> io::Result<()> {
    for line in lines {
        for (role, text) in line.iter().filter(|(_, text)| !text.is_empty()) {
            write!(out, "{}", style.paint(*role, text))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
