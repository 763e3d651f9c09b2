//! Frames between the allocator and the code that wanted the memory.

mod wrappers;

use crate::names::short_name::{is_of_script, short_name};
use symbols::is_rust;
use wrappers::WRAPPERS;

/// Prefixes of the standard libraries' own functions: containers, smart pointers, adaptors.
const PREFIXES: &[&str] = &["operator new", "std::", "__gnu_cxx::", "boost::container::"];

/// The same for Rust's crates: in C++ anybody may have namespaces of these names.
const CRATES: &[&str] = &["alloc::", "core::", "hashbrown::"];

/// Folder of the headers of C++'s standard library.
const HEADERS: &str = "/include/c++/";

/// Folders of the sources of Rust's standard library.
const SOURCES: &[&str] = &["/library/alloc/src/", "/library/core/src/"];

/// True for a function that only forwards what another one asked for. Views start a stack at the first frame that is
/// not in a library, if there is one. The linkage name tells whether a function is Rust; where it is unknown, as for inlined
/// functions, the name decides.
pub fn is_library_function(name: &str, linkage: Option<&str>) -> bool {
    if is_of_script(name) {
        return false;
    }
    let bare = short_name(name);
    is_wrapper(&bare)
        || begins_with(PREFIXES, name)
        || begins_with(PREFIXES, &bare)
        || begins_with(CRATES, &bare) && !has_parameters(name) && linkage.is_none_or(is_rust)
        || is_blanket(&bare)
        || is_of_nim(&bare)
}

/// True for the [short name](short_name) of a function that programs and libraries wrap around the allocator, and
/// that calls nothing else.
pub(crate) fn is_wrapper(bare: &str) -> bool {
    WRAPPERS.binary_search(&bare).is_ok() || is_of_php(bare)
}

/// True for functions of PHP's allocator, of which there is one for each of its sizes: `_emalloc_320`.
fn is_of_php(bare: &str) -> bool {
    let size = bare.strip_prefix("_emalloc_").unwrap_or_default();
    !size.is_empty() && size.bytes().all(|letter| letter.is_ascii_digit())
}

/// True for functions of Nim's module `system`, which contains its allocator, sequences and strings:
/// `alloc0Impl__system_1727`.
fn is_of_nim(bare: &str) -> bool {
    let number = bare.rsplit_once("__system_").map_or("", |(_, number)| number);
    !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit())
}

/// True for source files of the standard libraries. Debug information lacks the namespaces of some of their inlined
/// functions, so the name alone is not enough.
pub fn is_library_file(path: &str) -> bool {
    path.contains(HEADERS) || path.ends_with(".rs") && SOURCES.iter().any(|folder| path.contains(folder))
}

/// True for C++ names, which end with the types of all parameters. In Rust names, brackets enclose such lists.
fn has_parameters(name: &str) -> bool {
    name.rsplit_once(')').is_some_and(|(_, rest)| !rest.contains('>'))
}

/// True for the traits by which `Vec` and slices specialize: nobody else can implement them.
fn is_specialization(named: &str) -> bool {
    begins_with(&["alloc::vec::", "alloc::slice::", "<["], named)
}

/// True for the trait of a program's allocator: its implementations forward what they are asked for.
fn is_global_allocator(named: &str) -> bool {
    ["core::alloc::global::GlobalAlloc", "core::alloc::GlobalAlloc"].contains(&named)
}

fn begins_with(prefixes: &[&str], name: &str) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// True for a standard library path of a type or trait within a Rust name.
fn is_library(path: &str) -> bool {
    begins_with(PREFIXES, path) || begins_with(CRATES, path)
}

/// True for Rust's `<T as Trait>::method` and `<[T]>::method` if they are from the standard library: the type belongs
/// to it, or the type is any and the trait belongs to it.
fn is_blanket(bare: &str) -> bool {
    let Some(inner) = bare.strip_prefix('<') else { return false };
    let inner = inner.rsplit_once(">::").map_or(inner, |(inner, _)| inner);
    let (of, named) = inner.rsplit_once(" as ").map_or((inner, None), |(of, named)| (of, Some(named)));
    let of = of.trim_start_matches("dyn ").trim_start_matches(['<', '&', '[', '(']);
    let of = of.trim_start_matches("mut ").trim_start_matches("dyn ");
    is_library(of)
        || named.is_some_and(|named| is_specialization(named) || is_global_allocator(named))
        || (!of.contains("::") && named.is_none_or(is_library))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check names as C, C++ and Rust have them.
    #[test]
    fn library_functions_are_known() {
        for name in [
            "operator new(unsigned long)",
            "std::string::_Rep::_S_create(unsigned long, unsigned long, std::allocator<char> const&)",
            "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int*, int&&)",
            "__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)",
            "alloc::raw_vec::RawVec<T,A>::grow_one",
            "<alloc::raw_vec::RawVec<my::T>>::grow_one",
            "<T as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
            "<&mut I as core::iter::Iterator>::next",
            "<[u8]>::to_vec_in::<alloc::alloc::Global>",
            "<&dyn core::ops::Fn<(), Output = i32> + core::marker::Sync as core::ops::FnOnce<()>>::call_once",
            "<dyn core::any::Any>::downcast",
            "<my::T as alloc::vec::spec_from_elem::SpecFromElem>::from_elem::<alloc::alloc::Global>",
            "<my::T as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>",
            "CRYPTO_zalloc",
            "<alloc::string::String as core::clone::Clone>::clone",
            "<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc",
            "__rust_alloc",
            "g_malloc0",
            "zmalloc_usable",
            "os::malloc(unsigned long, MEMFLAGS)",
            "alignedAlloc0__system_1897",
            "eqcopy___system_3266",
            "_emalloc_320",
            "newSeqPayload",
        ] {
            assert!(is_library_function(name, None), "{name}");
        }
        for name in [
            "main",
            "parse",
            "standard::go",
            "my::std::thing()",
            "std_init",
            "newSeq__t_264",
            "start__system_",
            "read__system_4k",
            "__system_property",
            "malloc_tree(int)",
            "<my::T as core::clone::Clone>::clone",
            "<&mut my::T as core::fmt::Write>::write_str",
            "<T as my::Trait>::go",
            "<my::T<alloc::string::String>>::go",
            "",
        ] {
            assert!(!is_library_function(name, None), "{name}");
        }
    }

    /// Check that namespaces of C++ are not taken for the crates of Rust's standard library.
    #[test]
    fn namespaces_are_not_crates() {
        for name in [
            "core::Parser::grow()",
            "core::Parser::grow(std::vector<int>&) const",
            "void core::Parser::grow<int>(int) [clone .cold]",
            "alloc::(anonymous namespace)::refill(core::Pool*, int (*)(int))",
            "core::Parser::grow()::{lambda(int)#1}::operator()(int) const",
            "hashbrown::Map<int>::operator[](int) &&",
        ] {
            assert!(!is_library_function(name, None), "{name}");
        }
        let name = "core::Parser::grow";
        assert!(!is_library_function(name, Some("_ZN4core6Parser4growEv")));
        assert!(is_library_function(name, Some("_ZN4core6Parser4grow17h0123456789abcdefE")));
        assert!(is_library_function(name, Some("_RNvNtC4core6Parser4grow")));
        for name in
            ["core::ptr::drop_in_place::<(u8, fn(u8))>", "core::ops::FnOnce::call_once{{vtable.shim}}"]
        {
            assert!(is_library_function(name, None), "{name}");
        }
    }

    /// Check that standard library sources are recognized wherever they are installed.
    #[test]
    fn library_files_are_known() {
        for path in [
            "/usr/include/c++/12/bits/std_function.h",
            "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/new",
            "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/alloc/src/vec/mod.rs",
        ] {
            assert!(is_library_file(path), "{path}");
        }
        let others =
            ["/src/main.cpp", "library/alloc.rs", "/usr/include/stdio.h", "/library/core/src/parser.cpp", ""];
        for path in others {
            assert!(!is_library_file(path), "{path}");
        }
    }
}
