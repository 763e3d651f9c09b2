//! Functions of one name in different files get the file's name as a suffix; a unique name gets none.

use super::names::{Kind, Label, file_name};
use capture::{ModuleId, Tables};
use std::collections::{HashMap, HashSet};

/// Adds suffixes where they are needed.
pub(super) fn tell_apart(labels: &mut [Label], tables: &Tables) {
    let mut namesakes: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, label) in labels.iter().enumerate() {
        if path_of(label, tables).is_some() {
            namesakes.entry(&label.name).or_default().push(index);
        }
    }
    let mut suffixes = Vec::new();
    for indices in namesakes.into_values().filter(|indices| indices.len() > 1) {
        let paths: Vec<&str> = indices.iter().filter_map(|&index| path_of(&labels[index], tables)).collect();
        let files: HashSet<&str> = paths.iter().map(|path| file_name(path)).collect();
        let enough = files.len() == paths.len();
        for (index, path) in indices.into_iter().zip(paths).filter(|(_, path)| !path.is_empty()) {
            suffixes.push((index, if enough { file_name(path) } else { path }));
        }
    }
    for (index, suffix) in suffixes {
        let suffix = format!(" [{suffix}]");
        labels[index].suffix = suffix.len();
        labels[index].name += &suffix;
    }
}

/// The file that could tell this label from its namesakes: empty for code in no file, none for what is no code.
fn path_of<'a>(label: &Label, tables: &'a Tables) -> Option<&'a str> {
    match label.kind {
        Kind::Function(_, Some(module)) | Kind::InModule(module) => Some(path(module, tables)),
        Kind::Function(_, None) => Some(""),
        _ => None,
    }
}

fn path(module: ModuleId, tables: &Tables) -> &str {
    tables.modules.get(module.index()).map_or("", |module| &module.path)
}
