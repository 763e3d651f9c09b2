//! Which names of an expression match nothing.

use super::evaluate::MALLOC;
use super::{Expression, Field, Term};
use crate::names::file_name::file_name;
use crate::names::process_name::process_name;
use crate::names::table::Names;
use crate::query::Unmatched;
use capture::{Frame, Tables};
use std::collections::BTreeSet;

impl Expression {
    /// The names that match nothing in a capture, so that mistyped ones are noticed.
    pub fn unmatched(&self, tables: &Tables, names: &Names) -> Vec<Unmatched> {
        self.terms.iter().filter_map(|term| term.unmatched(tables, names)).collect()
    }
}

impl Term {
    fn unmatched(&self, tables: &Tables, names: &Names) -> Option<Unmatched> {
        let pattern = &self.pattern;
        let of = |field, there: &BTreeSet<String>| {
            let is_there = there.iter().any(|name| pattern.matches(name));
            (!is_there).then(|| Unmatched::new(field, pattern, there.iter()))
        };
        let of_paths = |field, paths: &BTreeSet<&str>| {
            let is_there = paths.iter().any(|path| pattern.names_file(path));
            (!is_there).then(|| Unmatched::new(field, pattern, paths.iter().map(|path| file_name(path))))
        };
        match self.field {
            Field::Function => {
                let is_there = names.labels().any(|label| pattern.names(label))
                    || calls(tables).iter().any(|call| pattern.matches(call));
                (!is_there).then(|| Unmatched::function(pattern, names))
            }
            Field::Call => of("call", &calls(tables)),
            Field::Module => {
                of_paths("module", &tables.modules.iter().map(|module| module.path.as_str()).collect())
            }
            Field::File => {
                let steps = (0..names.step_count()).filter_map(|place| u32::try_from(place).ok());
                let files = steps.filter_map(|place| names.step_at(place).file);
                of_paths("file", &files.map(|file| tables.string(file)).collect())
            }
            Field::Process => {
                let all = tables.processes.iter();
                of("process", &all.flat_map(|one| [process_name(one), one.pid.to_string()]).collect())
            }
            Field::Thread => {
                let all = tables.threads.iter();
                of("thread", &all.flat_map(|one| [one.name.clone(), one.tid.to_string()]).collect())
            }
        }
    }
}

/// The functions of the allocator that were called.
fn calls(tables: &Tables) -> BTreeSet<String> {
    let pseudo = tables.frames.iter().filter_map(|frame| match frame {
        Frame::Pseudo(pseudo) if pseudo.is_call() => Some(pseudo.label().to_owned()),
        _ => None,
    });
    pseudo.chain([MALLOC.to_owned()]).collect()
}
