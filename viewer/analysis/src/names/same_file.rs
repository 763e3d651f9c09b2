//! Identifies a file by whatever path: `bin/../lib/libx.so` and `lib/libx.so` contain the same functions.

use capture::{Module, ModuleId, Tables};
use std::collections::HashMap;

/// What identifies the file of a module; none if too little is known.
#[derive(PartialEq, Eq, Hash)]
enum Identity<'a> {
    BuildId(&'a [u8]),
    Inode(u64, u64, u64),
}

impl<'a> Identity<'a> {
    fn of(module: &'a Module) -> Option<Self> {
        match (module.build_id.as_slice(), module.inode) {
            ([], 0) => None,
            ([], inode) => Some(Identity::Inode(module.device, inode, module.modified_ns)),
            (build_id, _) => Some(Identity::BuildId(build_id)),
        }
    }
}

/// For each module the one that represents its file: the one with the shortest path.
pub fn representatives(tables: &Tables) -> Vec<ModuleId> {
    let mut shortest: HashMap<Identity<'_>, ModuleId> = HashMap::new();
    let length = |id: ModuleId| tables.modules[id.index()].path.len();
    let modules =
        || tables.modules.iter().enumerate().map(|(index, module)| (ModuleId::from_index(index), module));
    for (id, module) in modules().filter(|(_, module)| !module.path.is_empty()) {
        let Some(identity) = Identity::of(module) else { continue };
        let known = shortest.entry(identity).or_insert(id);
        if length(id) < length(*known) {
            *known = id;
        }
    }
    let stands_for = |module| Identity::of(module).and_then(|identity| shortest.get(&identity).copied());
    modules().map(|(id, module)| stands_for(module).unwrap_or(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that files are the same by build id, or else by inode, and that files about which nothing is known stay
    /// apart.
    #[test]
    fn one_file_has_one_representative() {
        let module = |path: &str, build_id: &[u8], inode| Module {
            path: path.to_owned(),
            build_id: build_id.to_vec(),
            inode,
            ..Module::default()
        };
        let modules = vec![
            module("/bin/../lib/x", b"id", 1),
            module("/lib/x", b"id", 2),
            module("/lib/y", b"", 3),
            module("/lib/../lib/y", b"", 3),
            module("/lib/z", b"", 0),
            module("/lib/../lib/z", b"", 0),
            module("", b"id", 0),
        ];
        let tables = Tables { modules, ..Tables::default() };
        let found: Vec<u32> = representatives(&tables).into_iter().map(|id| id.0).collect();
        assert_eq!(found, [1, 1, 2, 2, 4, 5, 1]);
    }
}
