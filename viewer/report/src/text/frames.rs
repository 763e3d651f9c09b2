//! A stack with a line for each function.

use super::escape::columns;
use super::line::Line;
use super::place::{detail, fit_name};
use super::style::{Role, Style};
use analysis::format::counted;
use analysis::{functions_of, is_library_frame};
use capture::NodeId;
use engine::Loaded;

/// Most functions shown of a stack; one that calls itself from the same place counts once.
const DEPTH: usize = 40;

/// The lines of a stack.
pub(super) fn frames(loaded: &Loaded, node: NodeId, style: &Style) -> Vec<Line> {
    let plain = |text: String| vec![(Role::Plain, text)];
    let mut steps = functions_of(&loaded.tables, &loaded.names, node).peekable();
    if steps.peek().is_none() {
        return vec![plain("    [no stack]".to_owned())];
    }
    let mut lines = Vec::new();
    while let Some((_, step)) = steps.next_if(|_| lines.len() < DEPTH) {
        let mut times = 1;
        while steps.next_if(|(_, next)| *next == step).is_some() {
            times += 1;
        }
        let times = if times > 1 { format!(" ×{times}") } else { String::new() };
        let inlined = if step.inlined { " (inlined)" } else { "" };
        let place = detail(loaded, &step).map_or(String::new(), |place| format!("  {place}"));
        let place = format!("{times}{inlined}{place}");
        let name = fit_name(&loaded.names, step.label, style.room(4 + columns(&place)));
        let is_library = is_library_frame(&loaded.tables, &loaded.names, &step);
        let role = if is_library { Role::Detail } else { Role::Function };
        lines.push(vec![(Role::Plain, "    ".to_owned()), (role, name), (Role::Detail, place)]);
    }
    let more = steps.count() as u64;
    lines.extend((more > 0).then(|| plain(format!("    … {}", counted(more, "more function")))));
    lines
}
