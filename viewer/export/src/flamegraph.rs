//! A flame graph as an SVG file that a browser can open, zoom and search, without any network.
//!
//! ```text
//!  ┌──────────────────────────────────┐
//!  │ app                              │   the width is the cost of a function including its callees
//!  ├──────────────────────────────────┤
//!  │ main                             │
//!  ├──────────────────┬───────┬───────┘
//!  │ parse            │ render│
//!  ├──────────────┬───┴───────┘
//!  │ push         │
//!  └──────────────┘
//! ```
//!
//! It is drawn here and not by the inferno crate, since the script that inferno embeds in each file has a licence
//! (CDDL) that would extend to the user's file.

use super::walk::walk;
use super::xml::xml;
use analysis::format::{counted, percent};
use analysis::{Kind, Metric, Tree};
use engine::Loaded;
use report::text::{Units, caveats, scope};
use std::io::{self, Write};

const WIDTH: f64 = 1200.0;
const ROW: usize = 17;
/// Space above the rows: a title, and a line about what the pointer is on.
const HEAD: usize = 48;
/// Boxes narrower than this are not drawn.
const NARROWEST: f64 = 0.1;
/// Width of a character of the font, slightly overestimated.
const LETTER: f64 = 7.0;

const SCRIPT: &str = include_str!("flamegraph.js");

/// Draws the functions by this metric.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, metric: Metric) -> io::Result<()> {
    let Loaded { profile, tables, names, .. } = loaded;
    flamegraph(out, loaded, &Tree::top_down(profile, tables, names, metric), None, metric)
}

/// Draws a tree of a capture in this metric, with widths from its nodes. If the tree holds changes in either
/// direction, `sums` is a tree of the same shape with the net changes: boxes that grew are orange, those that shrank
/// are blue.
///
/// # Errors
/// Those of the writer.
pub fn flamegraph(
    out: &mut dyn Write,
    loaded: &Loaded,
    tree: &Tree,
    sums: Option<&Tree>,
    metric: Metric,
) -> io::Result<()> {
    let names = &loaded.names;
    let units = Units::of(loaded, metric);
    let total = metric.rank(tree.node(Tree::ROOT).total);
    let least = ((total as f64 * NARROWEST / WIDTH) as i64).max(1);
    let (mut rows, mut shown) = (0, 0);
    walk(tree, names, metric, least, |depth, _| {
        rows = rows.max(depth + 1);
        shown += 1;
        Ok(())
    })?;
    let amount = units.pair(tree.node(Tree::ROOT).total).0;
    let title = format!("{} · {} · {amount}", scope(loaded), metric.name());
    let hidden = match tree.len() - shown {
        0 => None,
        hidden => Some(format!("{} too narrow to draw", counted(hidden as u64, "box"))),
    };
    let notes: Vec<String> = hidden.into_iter().chain(caveats(loaded)).collect();
    head(out, &title, &notes.join("; "), total, rows)?;
    // By depth, where the next box begins.
    let mut next = vec![0_i64];
    walk(tree, names, metric, least, |depth, id| {
        next.truncate(depth + 1);
        let (start, own) = (next[depth], metric.rank(tree.node(id).total));
        next[depth] = start.saturating_add(own);
        next.push(start);
        let scale = |rank: i64| if total > 0 { rank as f64 * WIDTH / total as f64 } else { 0.0 };
        let label = names.label(tree.node(id).label);
        let cost = units.pair(tree.node(id).total).0;
        let (text, color) = match sums.map(|sums| sums.node(id).total) {
            None => {
                (format!("{} · {cost} · {}", label.name, percent(own, total)), color(label.kind, &label.name))
            }
            Some(sum) => {
                let text = format!("{} · {} of {cost} that changed", label.name, units.signed(sum).0);
                (text, color_of_change(metric.rank(sum), own))
            }
        };
        let place =
            Place { x: scale(start), width: if id == Tree::ROOT { WIDTH } else { scale(own) }, row: depth };
        draw(out, place, color, &label.short(), &text)
    })?;
    writeln!(out, "</g>\n</svg>")
}

fn head(out: &mut dyn Write, title: &str, notes: &str, total: i64, rows: usize) -> io::Result<()> {
    let height = HEAD + rows * ROW + 8;
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>")?;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"monospace\" font-size=\"11\">"
    )?;
    writeln!(
        out,
        "<style>.box:hover rect{{stroke:#000}}.found rect{{fill:#c6f}}.button{{cursor:pointer}}</style>"
    )?;
    writeln!(out, "<script><![CDATA[\n{SCRIPT}]]></script>")?;
    writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>")?;
    writeln!(out, "<text x=\"4\" y=\"16\" font-size=\"13\">{}</text>", xml(title))?;
    writeln!(
        out,
        "<text id=\"reset\" class=\"button\" x=\"1040\" y=\"16\" visibility=\"hidden\">reset zoom</text>"
    )?;
    writeln!(out, "<text id=\"search\" class=\"button\" x=\"1140\" y=\"16\">search</text>")?;
    writeln!(out, "<text id=\"details\" x=\"4\" y=\"38\">{}</text>", xml(notes))?;
    writeln!(out, "<g id=\"boxes\" data-total=\"{total}\">")
}

struct Place {
    x: f64,
    width: f64,
    row: usize,
}

fn draw(out: &mut dyn Write, place: Place, color: String, name: &str, text: &str) -> io::Result<()> {
    let Place { x, width, row } = place;
    let y = HEAD + row * ROW;
    let (name, text) = (xml(name), xml(text));
    write!(
        out,
        "<g class=\"box\"><title>{text}</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\" \
         fill=\"{color}\"/><text x=\"{:.2}\" y=\"{}\" data-name=\"{name}\">",
        ROW - 1,
        x + 3.0,
        y + ROW - 5,
    )?;
    writeln!(out, "{}</text></g>", fit(&name, width))
}

/// As much of a name as fits into a box of this width.
fn fit(name: &str, width: f64) -> String {
    let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
    match name.contains('&') {
        // An escaped character cannot be cut in half: the script fits such names once the file is open.
        true if name.chars().count() > letters => String::new(),
        _ if name.chars().count() <= letters => name.to_owned(),
        _ if letters < 3 => String::new(),
        _ => name.chars().take(letters - 1).chain(['…']).collect(),
    }
}

/// A warm colour that is the same for a function in every drawing; grey for anything but functions.
fn color(kind: Kind, name: &str) -> String {
    if !matches!(kind, Kind::Function(..)) {
        return "#ddd".to_owned();
    }
    // FNV-1a: a hash that stays the same from version to version.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("hsl({},{}%,{}%)", 8 + hash % 44, 70 + (hash >> 8) % 20, 62 + (hash >> 16) % 12)
}

/// Orange for growth, blue for shrinkage, the stronger the more one-sided; grey if both are equal.
fn color_of_change(sum: i64, either_way: i64) -> String {
    let share = sum as f64 / either_way.max(1) as f64;
    match sum {
        0 => "#ddd".to_owned(),
        _ => {
            format!("hsl({},70%,{:.0}%)", if sum > 0 { 25 } else { 212 }, 88.0 - 28.0 * share.abs().min(1.0))
        }
    }
}
