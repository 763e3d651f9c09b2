//! Rules that a program itself contains, as for `LeakSanitizer`.

use super::list::parse_of_program;
use crate::loaded::Rule;
use crate::symbolize::module_file;
use analysis::file_name;
use capture::Tables;
use std::collections::BTreeSet;
use symbols::{ReturnedText, returned_text};

/// The function that returns the rules.
const FUNCTION: &str = "__lsan_default_suppressions";

/// Most programs that are examined; a build runs some dozen different ones.
const MOST_PROGRAMS: usize = 64;

/// The rules of the recorded programs whose files are unchanged on this machine, and the names of programs that
/// compute their rules.
pub(crate) fn rules_of_targets(tables: &Tables) -> (Vec<Rule>, Vec<String>) {
    let executables: BTreeSet<&str> = tables
        .processes
        .iter()
        .map(|process| process.executable.as_str())
        .filter(|path| path.starts_with('/'))
        .collect();
    let modules = tables.modules.iter().filter(|module| executables.contains(module.path.as_str()));
    let (mut rules, mut unread) = (Vec::new(), Vec::new());
    for module in modules.take(MOST_PROGRAMS) {
        let Some(file) = module_file(module) else { continue };
        let program = file_name(&module.path);
        match returned_text(&file, FUNCTION) {
            Ok(ReturnedText::Text(text)) => rules.extend(parse_of_program(&text, program)),
            Ok(ReturnedText::Computed) => unread.push(program.to_owned()),
            // A missing or changed file says nothing about the recorded program.
            Ok(ReturnedText::Absent) | Err(_) => {}
        }
    }
    (rules, unread)
}
