//! Names as their authors wrote them.
//!
//! - C++ (Itanium ABI) as c++filt prints it, with clones marked: `f(int) [clone .cold]`.
//! - Rust, both manglings, without the hash that changes with every build.
//! - Anything else, and a mangled name that is damaged or abusive, stays as it is.
//!
//! `.llvm.123` is dropped from mangled names: LLVM appends a number that differs from build to build, so with it
//! no function would be found again in a later capture.

use std::fmt::{self, Write};

/// Longest output. Substitutions let a mangled name of some hundred bytes grow without bound.
const LONGEST: usize = 1 << 16;
/// Deepest nesting of a mangled name, such that the stack of any thread suffices.
const DEEPEST: u32 = 160;

/// The readable form of a symbol's name, or the name itself if it is not mangled.
pub fn demangle(name: &str) -> String {
    let (mangled, _) = name.split_once(".llvm.").unwrap_or((name, ""));
    let readable = if name.starts_with("_R") || is_legacy_rust(mangled) {
        rust(mangled)
    } else if name.starts_with("_Z") || name.starts_with("_GLOBAL_") {
        cpp(mangled)
    } else {
        None
    };
    readable.unwrap_or_else(|| name.to_owned())
}

fn rust(name: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Bounded(String::new());
    write!(out, "{demangled:#}").ok()?;
    Some(out.0)
}

fn cpp(name: &str) -> Option<String> {
    // Clones are marked here rather than by the parser, which knows fewer kinds.
    let (mangled, clones) = match name.find('.') {
        Some(dot) => name.split_at(dot),
        None => (name, ""),
    };
    let parsing = cpp_demangle::ParseOptions::default().recursion_limit(DEEPEST);
    let printing = cpp_demangle::DemangleOptions::default().recursion_limit(DEEPEST);
    let symbol = cpp_demangle::BorrowedSymbol::new_with_options(mangled.as_bytes(), &parsing).ok()?;
    let mut out = Bounded(String::new());
    symbol.structured_demangle(&mut out, &printing).ok()?;
    mark_clones(clones, &mut out).ok()?;
    Some(out.0)
}

/// `.part.0.cold` as ` [clone .part.0] [clone .cold]`: each clone begins with a letter, its number belongs to it.
fn mark_clones(clones: &str, out: &mut Bounded) -> fmt::Result {
    let mut rest = clones;
    while !rest.is_empty() {
        let numbers_end = rest
            .match_indices('.')
            .skip(1)
            .find(|(at, _)| !rest[at + 1..].starts_with(|c: char| c.is_ascii_digit()))
            .map_or(rest.len(), |(at, _)| at);
        let (clone, next) = rest.split_at(numbers_end);
        write!(out, " [clone {clone}]")?;
        rest = next;
    }
    Ok(())
}

/// Whether a name ends as rustc's first mangling does, `17h`, 16 digits, `E`: without them it is C++.
fn is_legacy_rust(name: &str) -> bool {
    let body = name.split_once('.').map_or(name, |(body, _)| body);
    let hash = body.strip_suffix('E').and_then(|body| body.as_bytes().last_chunk::<19>());
    name.starts_with("_ZN")
        && hash.is_some_and(|hash| hash.starts_with(b"17h") && hash[3..].iter().all(u8::is_ascii_hexdigit))
}

/// A string that refuses to grow beyond [`LONGEST`].
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
