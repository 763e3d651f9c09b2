//! Writes an outline as a Markdown table.

use super::{Outline, OutlineRow};
use crate::text::escape;
use std::io::{self, Write};

pub(super) fn write(out: &mut dyn Write, outline: &Outline) -> io::Result<()> {
    for line in &outline.title {
        writeln!(out, "{}", escape(line))?;
    }
    writeln!(out, "\n| {} |", outline.columns.join(" | "))?;
    let numbers = outline.columns.len().saturating_sub(1);
    writeln!(out, "|{}:---|", "---:|".repeat(numbers))?;
    for row in &outline.rows {
        let cells = (0..numbers).map(|place| row.numbers.get(place).map_or("", String::as_str));
        let cells: String = cells.map(|cell| format!("{cell} | ")).collect();
        writeln!(out, "| {cells}{} |", name(row))?;
    }
    Ok(())
}

/// A name as code, delimited by more backticks than it contains; generated names in italics.
fn name(row: &OutlineRow) -> String {
    let indent = "&nbsp;&nbsp;".repeat(row.indent);
    let text = escape(&row.name).replace('|', "\\|");
    if row.name.is_empty() {
        return indent;
    }
    if row.is_generated {
        // Generated text is ours, except for the name of a file.
        let text: String = text.chars().map(entity).collect();
        return format!("{indent}*{text}*");
    }
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let mark = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{indent}{mark}{space}{text}{space}{mark}")
}

/// A character without a meaning in Markdown.
fn entity(letter: char) -> String {
    match letter {
        '<' => "&lt;".to_owned(),
        '&' => "&amp;".to_owned(),
        '*' | '_' | '`' => format!("\\{letter}"),
        letter => letter.to_string(),
    }
}
