//! Which library allocates blocks in place of glibc's malloc.

use capture::Tables;

/// Prefixes of the file names of such libraries, and their names.
const LIBRARIES: [(&str, &str); 8] = [
    ("libjemalloc", "jemalloc"),
    ("libtcmalloc", "tcmalloc"),
    ("libmimalloc", "mimalloc"),
    ("libsnmalloc", "snmalloc"),
    ("librpmalloc", "rpmalloc"),
    ("libhoard", "Hoard"),
    ("libc.musl-", "musl"),
    ("ld-musl-", "musl"),
];

/// The allocator library in whose heaps the blocks of a capture lie, if not glibc: as far as the files on stacks
/// show, which include those of an allocator's own mappings.
pub fn allocator_library(tables: &Tables) -> Option<&'static str> {
    let names = tables.modules.iter().map(|module| module.path.rsplit('/').next().unwrap_or_default());
    let known =
        |name: &str| LIBRARIES.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, name)| *name);
    names.filter_map(known).next()
}

#[cfg(test)]
mod tests {
    use crate::rows::allocator_library::*;
    use capture::Module;

    /// Check that libraries are known by how their files' names begin.
    #[test]
    fn libraries_are_known_by_their_files() {
        let of = |paths: &[&str]| {
            let module = |path: &&str| Module { path: (*path).to_owned(), ..Module::default() };
            let modules = paths.iter().map(module).collect();
            allocator_library(&Tables { modules, ..Tables::default() })
        };
        assert_eq!(of(&["/bin/app", "/usr/lib/libc.so.6", "/opt/jemalloc/libapp.so"]), None);
        assert_eq!(of(&["/bin/app", "/usr/lib/libjemalloc.so.2"]), Some("jemalloc"));
        assert_eq!(of(&["/usr/lib/libtcmalloc_minimal.so.4"]), Some("tcmalloc"));
        assert_eq!(of(&["/lib/ld-musl-x86_64.so.1"]), Some("musl"));
    }
}
