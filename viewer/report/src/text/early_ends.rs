//! Footnote about stacks that end for lack of unwind information.

use super::escape::{escape, fit};
use super::style::{Role, Style};
use analysis::format::percent;
use analysis::{Metric, early_ends, file_name};
use engine::Loaded;
use std::io::{self, Write};

/// Most files that are named.
const FILES: usize = 4;

/// Width of the columns before the file.
const WIDTH: usize = 12;

const ADVICE: &str =
    "Build it with -fasynchronous-unwind-tables or -fno-omit-frame-pointer; assembly needs .cfi directives.";

const ADVICE_FOR_MADE_CODE: &str =
    "Code made at run time needs frame pointers, as of java -XX:+PreserveFramePointer.";

/// Writes a row for each file and what to do about it, or nothing if no stacks end this way.
///
/// ```text
/// Stacks that end early
/// on stacks  in code without unwind information
///    98.2 %  libx.so
///            Build it with -fasynchronous-unwind-tables or -fno-omit-frame-pointer; assembly needs .cfi directives.
/// ```
pub(super) fn early_ends_footnote(
    out: &mut dyn Write,
    loaded: &Loaded,
    metric: Metric,
    style: &Style,
) -> io::Result<()> {
    let ends = early_ends(&loaded.profile, &loaded.tables, metric);
    if ends.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", style.paint(Role::Heading, "Stacks that end early"))?;
    let header = format!("{:>10}  in code without unwind information", "on stacks");
    writeln!(out, "{}", style.paint(Role::Detail, header))?;
    let whole = metric.rank(metric.of(&loaded.profile.total));
    let (mut has_file, mut has_made_code) = (false, false);
    for end in ends.iter().take(FILES) {
        let module = end.module.and_then(|module| loaded.tables.modules.get(module.index()));
        let file = module.map_or("code outside any file", |module| file_name(&module.path));
        let is_made = module.is_none_or(|module| module.path.starts_with("[anonymous code"));
        (has_file, has_made_code) = (has_file || !is_made, has_made_code || is_made);
        let share = percent(metric.rank(end.cost), whole);
        writeln!(out, "{share:>10}  {}", fit(&escape(file), style.room(WIDTH)))?;
    }
    for (advice, _) in
        [(ADVICE, has_file), (ADVICE_FOR_MADE_CODE, has_made_code)].iter().filter(|(_, fits)| *fits)
    {
        writeln!(out, "{:WIDTH$}{}", "", style.paint(Role::Detail, advice))?;
    }
    Ok(())
}
