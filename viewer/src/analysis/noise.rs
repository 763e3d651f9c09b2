//! Frames between the allocator and the code that wanted the memory.

use super::short_name::short_name;

/// Innermost functions whose name says nothing about who allocates.
const FUNCTIONS: &[&str] = &[
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_realloc",
    "__rdl_alloc",
    "__rdl_alloc_zeroed",
    "__rdl_realloc",
    "__rustc::__rust_alloc",
    "__rustc::__rust_alloc_zeroed",
    "__rustc::__rust_realloc",
    "__rustc::__rdl_alloc",
    "__rustc::__rdl_alloc_zeroed",
    "__rustc::__rdl_realloc",
    "g_malloc",
    "g_malloc0",
    "g_malloc_n",
    "g_malloc0_n",
    "g_realloc",
    "g_realloc_n",
    "g_slice_alloc",
    "g_slice_alloc0",
    "malloc",
    "calloc",
    "realloc",
    "xmalloc",
    "xcalloc",
    "xrealloc",
    "strdup",
    "__strdup",
    "strndup",
    "__strndup",
];

/// Beginnings of names of the standard libraries' own functions: containers, smart pointers, adaptors.
const PREFIXES: &[&str] = &[
    "operator new",
    "std::",
    "__gnu_cxx::",
    "boost::container::",
    "alloc::",
    "core::",
    "hashbrown::",
    "<alloc::",
    "<core::",
    "<std::",
    "<hashbrown::",
];

/// True for a function that only passes on what another one asked for. Views start a stack at the first frame
/// that is none of these, if there is one.
pub fn is_noise(name: &str) -> bool {
    let bare = short_name(name);
    FUNCTIONS.contains(&bare.as_ref())
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix) || bare.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check names as C, C++ and Rust have them.
    #[test]
    fn library_functions_are_noise() {
        for name in [
            "operator new(unsigned long)",
            "std::string::_Rep::_S_create(unsigned long, unsigned long, std::allocator<char> const&)",
            "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int*, int&&)",
            "__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)",
            "alloc::raw_vec::RawVec<T,A>::grow_one",
            "<alloc::string::String as core::clone::Clone>::clone",
            "__rust_alloc",
            "g_malloc0",
        ] {
            assert!(is_noise(name), "{name}");
        }
        for name in ["main", "parse", "standard::go", "my::std::thing()", "std_init", "malloc_tree(int)", ""]
        {
            assert!(!is_noise(name), "{name}");
        }
    }
}
