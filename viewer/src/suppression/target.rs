//! Rules that a program brings along, as it does for `LeakSanitizer`.

use super::list::parse_of_program;
use super::rule::Rule;
use crate::analysis::file_name;
use crate::symbolize::module_file;
use capture::Tables;
use std::collections::BTreeSet;
use symbols::{ReturnedText, returned_text};

/// The function that returns them.
const FUNCTION: &str = "__lsan_default_suppressions";

/// Programs that are looked at; a build runs some dozen different ones.
const MOST_PROGRAMS: usize = 64;

/// The rules of the recorded programs whose files are here as they were recorded, and the names of those that
/// compute theirs.
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
            // A file that is gone or another one says nothing about the program that was recorded.
            Ok(ReturnedText::Absent) | Err(_) => {}
        }
    }
    (rules, unread)
}
