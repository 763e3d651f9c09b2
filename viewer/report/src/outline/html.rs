//! Writes an outline as an HTML page.

use super::Outline;
use crate::text::escape;
use std::io::{self, Write};

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
    <style>body{font:14px system-ui,sans-serif;margin:1em}table{border-collapse:collapse}\
    td,th{padding:1px 8px;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\
    td:last-child,th:last-child{text-align:left}td:last-child{font-family:ui-monospace,monospace}\
    tr:hover td{background:#8882}</style>\n";

pub(super) fn write(out: &mut dyn Write, outlines: &[Outline]) -> io::Result<()> {
    let title = outlines.first().and_then(|outline| outline.title.first());
    writeln!(out, "{HEAD}<title>{}</title>", title.map_or_else(String::new, |title| text(title)))?;
    outlines.iter().try_for_each(|outline| table(out, outline))?;
    writeln!(out, "</html>")
}

fn table(out: &mut dyn Write, outline: &Outline) -> io::Result<()> {
    for line in &outline.title {
        writeln!(out, "<p>{}</p>", text(line))?;
    }
    let heads: String = outline.columns.iter().map(|head| format!("<th>{}</th>", text(head))).collect();
    writeln!(out, "<table>\n<tr>{heads}</tr>")?;
    let numbers = outline.columns.len().saturating_sub(1);
    for row in &outline.rows {
        let cells = (0..numbers).map(|place| row.numbers.get(place).map_or("", String::as_str));
        let cells: String = cells.map(|cell| format!("<td>{}</td>", text(cell))).collect();
        let name = text(&row.name);
        let name = if row.is_generated { format!("<i>{name}</i>") } else { name };
        writeln!(
            out,
            "<tr>{cells}<td><span style=\"padding-left:{}em\">{name}</span></td></tr>",
            row.indent
        )?;
    }
    writeln!(out, "</table>")
}

fn text(text: &str) -> String {
    let escaped = escape(text);
    escaped.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
