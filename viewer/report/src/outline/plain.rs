//! Writes an outline as columns of text.

use super::Outline;
use crate::text::{columns, escape};
use std::io::{self, Write};

pub(super) fn write(out: &mut dyn Write, outline: &Outline) -> io::Result<()> {
    for line in &outline.title {
        writeln!(out, "{}", escape(line))?;
    }
    writeln!(out)?;
    let numbers = outline.columns.len().saturating_sub(1);
    let width = |place: usize| {
        let rows = outline.rows.iter().filter_map(|row| row.numbers.get(place));
        rows.chain(&outline.columns[place..=place]).map(|text| columns(text)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..numbers).map(width).collect();
    // The first column is as wide as in the other views, so that texts from several pages line up.
    let least = |place: usize| if place == 0 { 10 } else { 0 };
    let cells = |texts: &[String]| {
        let cell = |(place, width): (usize, &usize)| {
            let text = texts.get(place).map_or("", String::as_str);
            let blank = (*width).max(least(place)).saturating_sub(columns(text));
            format!("{}{text}  ", " ".repeat(blank))
        };
        widths.iter().enumerate().map(cell).collect::<String>()
    };
    let last = outline.columns.last().map_or("", String::as_str);
    writeln!(out, "{}{last}", cells(&outline.columns))?;
    for row in &outline.rows {
        writeln!(out, "{}{}{}", cells(&row.numbers), "  ".repeat(row.indent), escape(&row.name))?;
    }
    Ok(())
}
