//! Function names, made comparable between two builds of a program.

use crate::names::templates::without_templates;
use std::borrow::Cow;

/// Which parts of a name count when captures are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// Everything except what compilers add: clone suffixes, hashes.
    #[default]
    Exact,
    /// Template arguments do not count either.
    WithoutTemplates,
}

/// The name of a function without what changes from build to build.
///
/// ```
/// # use analysis::{Spelling, normal_name};
/// assert_eq!(normal_name("parse.isra.0", Spelling::Exact), "parse");
/// assert_eq!(normal_name("core::fmt::write::h0123456789abcdef", Spelling::Exact), "core::fmt::write");
/// assert_eq!(normal_name("fill<int>(int*)", Spelling::WithoutTemplates), "fill(int*)");
/// ```
pub fn normal_name(name: &str, spelling: Spelling) -> Cow<'_, str> {
    let plain = without_hash(without_clones(name));
    match spelling {
        Spelling::Exact => Cow::Borrowed(plain),
        Spelling::WithoutTemplates => without_templates(plain),
    }
}

/// Without `.isra.0`, `.llvm.123`, `.cold` and ` [clone .constprop.0]` at the end, however many.
fn without_clones(mut name: &str) -> &str {
    const CLONES: [&str; 9] =
        ["isra", "part", "constprop", "cold", "lto_priv", "llvm", "clone", "localalias", "warm"];
    loop {
        let bare =
            name.strip_suffix(']').and_then(|rest| rest.rsplit_once(" [clone .")).map(|(bare, _)| bare);
        let bare = bare.or_else(|| {
            let numbers = |char: char| char.is_ascii_digit() || char == '.';
            let (bare, kind) = name.trim_end_matches(numbers).rsplit_once('.')?;
            CLONES.contains(&kind).then_some(bare)
        });
        match bare.filter(|bare| !bare.is_empty()) {
            Some(bare) => name = bare,
            None => return name,
        }
    }
}

/// Without the hash that rustc puts behind a path.
fn without_hash(name: &str) -> &str {
    let is_hash = |part: &str| {
        part.len() == 17 && part.starts_with('h') && part[1..].bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    match name.rsplit_once("::") {
        Some((path, hash)) if hash.is_ascii() && is_hash(hash) => path,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check what is removed from names, and that ordinary ones are kept.
    #[test]
    fn builds_are_not_in_names() {
        use Spelling::{Exact, WithoutTemplates};
        for (name, spelling, expected) in [
            ("main", Exact, "main"),
            ("f.isra.0", Exact, "f"),
            ("f.part.1.constprop.0", Exact, "f"),
            ("f.llvm.12345678901", Exact, "f"),
            ("f.cold", Exact, "f"),
            ("f(int) [clone .isra.0] [clone .cold]", Exact, "f(int)"),
            ("file.c", Exact, "file.c"),
            ("v1.2", Exact, "v1.2"),
            (".cold", Exact, ".cold"),
            ("a::b::h00112233445566ff", Exact, "a::b"),
            ("a::b::h00112233445566f", Exact, "a::b::h00112233445566f"),
            ("h00112233445566ff", Exact, "h00112233445566ff"),
            ("std::vector<int>::push_back(int&&)", Exact, "std::vector<int>::push_back(int&&)"),
            ("std::vector<std::pair<int, int> >::f()", WithoutTemplates, "std::vector::f()"),
            ("bool operator< <int>(A const&)", WithoutTemplates, "bool operator< (A const&)"),
            (
                "std::ostream& operator<<(std::ostream&)",
                WithoutTemplates,
                "std::ostream& operator<<(std::ostream&)",
            ),
            ("f<(a>b)>()", WithoutTemplates, "f<(a>b)>()"),
            ("<T as Trait>::f", WithoutTemplates, "<T as Trait>::f"),
            ("unfinished<int", WithoutTemplates, "unfinished<int"),
        ] {
            assert_eq!(normal_name(name, spelling), expected, "{name}");
        }
    }

    proptest! {
        /// Check that normalizing a normal name changes nothing, whatever it is.
        #[test]
        fn normal_names_stay(name in "[a-z<>:. \\[\\]éh0-9]{0,40}") {
            for spelling in [Spelling::Exact, Spelling::WithoutTemplates] {
                let once = normal_name(&name, spelling).into_owned();
                prop_assert!(once.len() <= name.len());
                prop_assert!(name.is_empty() || !once.is_empty());
            }
        }
    }
}
