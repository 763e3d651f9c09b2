//! C++ names, spelled as c++filt spells them.
//!
//! The parser is `cpp_demangle`. Its output differs from c++filt's in some spellings, which are changed here, and
//! it takes the first parameter of a template constructor for a return type, so one is put in. Of the 116,821
//! functions that LLVM, node and libstdc++ export, 97.3 % then read as c++filt has them, 98.7 % as it or llvm-cxxfilt
//! has them, which differ, too, and no two that c++filt tells apart read the same. Most of the others differ in
//! spaces, in `std::string` for its long form, in `&&` and `const&` that only the last of an expanded pack has, or in
//! `&f(int)` for `&f`.

use super::bounded::Bounded;
use super::{generics, scopes};
use cpp_demangle::{BorrowedSymbol, DemangleOptions, ParseOptions};
use std::borrow::Cow;

/// Deepest nesting of a mangled name, such that the stack of any thread suffices.
const DEEPEST: u32 = 160;
/// Most ends of template arguments tried when a constructor's are looked for.
const MOST_TRIES: usize = 64;

/// The readable form of a mangled name, with what follows its first dot marked as clones.
pub(super) fn demangle(name: &str) -> Option<String> {
    if let Some((what, key)) = global(name) {
        let key = if key.starts_with("_Z") { demangle(key) } else { None }.unwrap_or_else(|| key.to_owned());
        return Some(format!("global {what} keyed to {key}"));
    }
    // Clones are marked here rather than by the parser, which knows fewer kinds.
    let (mangled, clones) =
        coroutine(name).unwrap_or_else(|| name.split_at(name.find('.').unwrap_or(name.len())));
    let mut readable = match thunk(mangled) {
        Some((what, function)) => format!("{what} thunk to {}", of_any_kind(&format!("_Z{function}"))?),
        None => of_any_kind(mangled)?,
    };
    super::mark_clones(clones, &mut readable);
    Some(readable)
}

fn of_any_kind(mangled: &str) -> Option<String> {
    let plain = |mangled: &str| match spelled(mangled) {
        Some(readable) => Some(readable),
        None => Some(scopes::with_types(&spelled(&scopes::with_values(mangled)?)?)),
    };
    plain(mangled).or_else(|| {
        let replaced = generics::without_declarations(mangled)?;
        Some(replaced.spelled(&plain(&replaced.name)?))
    })
}

/// A function that calls constructors or destructors of global objects, in the way of older compilers: what it calls,
/// and the name that it is known by, which need not be mangled.
fn global(name: &str) -> Option<(&'static str, &str)> {
    let rest = name.strip_prefix("_GLOBAL_")?;
    let ([separator, kind, b'_'], _) = rest.as_bytes().split_first_chunk()? else { return None };
    let what = match kind {
        b'I' => "constructors",
        b'D' => "destructors",
        _ => return None,
    };
    matches!(separator, b'_' | b'.' | b'$').then(|| (what, &rest[3..]))
}

/// The kind of a thunk, and the function that it adjusts a pointer for.
///
/// ```text
/// _ZTh n16_ N1B1fEv        _ZTv 0_n24_ N1BD1Ev        _ZTc h16_ v0_n24_ N1C5cloneEv
/// ```
fn thunk(mangled: &str) -> Option<(&'static str, &str)> {
    let rest = mangled.strip_prefix("_ZT")?;
    match rest.as_bytes().first()? {
        b'h' => Some(("non-virtual", behind_offset(rest)?)),
        b'v' => Some(("virtual", behind_offset(rest)?)),
        b'c' => Some(("covariant return", behind_offset(behind_offset(&rest[1..])?)?)),
        _ => None,
    }
}

/// What follows an offset, `h16_` or `v0_n24_`.
fn behind_offset(text: &str) -> Option<&str> {
    let number = |text: &'_ str| -> Option<usize> {
        let digits = text.strip_prefix('n').unwrap_or(text);
        let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < digits.len() && rest.starts_with('_')).then(|| text.len() - rest.len() + 1)
    };
    let rest = text.get(1..)?;
    match text.as_bytes().first()? {
        b'h' => rest.get(number(rest)?..),
        b'v' => {
            let second = rest.get(number(rest)?..)?;
            second.get(number(second)?..)
        }
        _ => None,
    }
}

/// The coroutine that one of gcc's functions resumes or destroys, and how that function is marked. Its parameter is
/// of a type that is called as the coroutine is:
///
/// ```text
/// _Z4workPZ4workiE14_Z4worki.Frame.actor
///                   │        └ 14 bytes end here
///                   └ the coroutine, work(int)
/// ```
fn coroutine(name: &str) -> Option<(&str, &str)> {
    const FRAME: &str = ".Frame";
    let at = name.find(FRAME)?;
    let is_called_so = |start: &usize| {
        let length = (at - start + FRAME.len()).to_string();
        name[..*start]
            .strip_suffix(&length)
            .is_some_and(|before| !before.ends_with(|c: char| c.is_ascii_digit()))
    };
    let start = name[..at].match_indices("_Z").map(|(start, _)| start).find(is_called_so)?;
    Some((&name[start..at], &name[at + FRAME.len()..]))
}

fn spelled(mangled: &str) -> Option<String> {
    let mangled = with_return_type(mangled);
    let options = DemangleOptions::default().recursion_limit(DEEPEST);
    let mut out = Bounded::default();
    parse(&mangled)?.structured_demangle(&mut out, &options).ok()?;
    Some(respell(&out.into_string()))
}

fn parse(mangled: &str) -> Option<BorrowedSymbol<'_>> {
    let options = ParseOptions::default().recursion_limit(DEEPEST);
    BorrowedSymbol::new_with_options(mangled.as_bytes(), &options).ok()
}

/// Puts a return type into the name of a template constructor, which has none:
///
/// ```text
/// _ZN1AC1IPKcvEE T_S3_i         A::A<char const*, void>, then the types of the parameters
///        │      └ here "v" goes in
///        └ template arguments of the constructor, whose end is where the name so far parses
/// ```
fn with_return_type(mangled: &str) -> Cow<'_, str> {
    let unchanged = Cow::Borrowed(mangled);
    let Some(arguments) = constructor_arguments(mangled) else { return unchanged };
    let ends = mangled.match_indices('E').map(|(at, _)| at + 1).filter(|&end| end > arguments);
    for end in ends.take(MOST_TRIES) {
        if mangled[end..].starts_with('E') && parse(&mangled[..=end]).is_some() {
            let (name, parameters) = mangled.split_at(end + 1);
            return if parameters.is_empty() {
                unchanged
            } else {
                Cow::Owned(format!("{name}v{parameters}"))
            };
        }
    }
    unchanged
}

/// Where the template arguments of a constructor begin, if the name is one of a template constructor.
fn constructor_arguments(mangled: &str) -> Option<usize> {
    let constructors = mangled.match_indices('C').filter_map(|(at, _)| {
        let kind = mangled.as_bytes().get(at + 1..at + 3)?;
        (matches!(kind[0], b'1'..=b'4') && kind[1] == b'I').then_some(at + 2)
    });
    let nested = constructors.filter(|_| mangled.starts_with("_ZN"));
    nested.take(MOST_TRIES).find(|&arguments| parse(&format!("{}E", &mangled[..arguments])).is_some())
}

/// Changes the parser's spellings into c++filt's.
fn respell(name: &str) -> String {
    const TABLES: [(&str, &str); 2] = [("{vtable(", "vtable for "), ("{vtt(", "VTT for ")];
    const CASTS: [(&str, &str); 5] = [
        ("(unsigned int)", "u"),
        ("(unsigned long)", "ul"),
        ("(long)", "l"),
        ("(unsigned long long)", "ull"),
        ("(long long)", "ll"),
    ];
    let mut name = name.to_owned();
    for (theirs, ours) in TABLES {
        if let Some(of) = name.strip_prefix(theirs).and_then(|rest| rest.strip_suffix(")}")) {
            name = format!("{ours}{of}");
        }
    }
    if let Some((part, whole)) =
        name.strip_prefix("construction vtable for ").and_then(|rest| rest.split_once("-in-"))
    {
        name = format!("construction vtable for {whole}-in-{part}");
    }
    // An empty pack leaves behind its comma, and a parameter's reference to nothing; but `void (&&)(int)` is a
    // reference to a function.
    for (theirs, ours) in [
        (", >", ">"),
        ("<, ", "<"),
        (", )", ")"),
        ("(, ", "("),
        (", &&)", ")"),
        (", const&)", ")"),
        ("( const&)", "()"),
        ("(&&)::", "()::"),
    ] {
        if name.contains(theirs) {
            name = name.replace(theirs, ours);
        }
    }
    if let Some(function) = name.strip_suffix("(&&)") {
        name = format!("{function}()");
    }
    for (cast, suffix) in CASTS {
        if name.contains(cast) {
            name = with_suffix(&name, cast, suffix);
        }
    }
    name
}

/// `4u` for `(unsigned int)4`.
fn with_suffix(name: &str, cast: &str, suffix: &str) -> String {
    let mut parts = name.split(cast);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.strip_prefix('-').unwrap_or(part);
        let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == digits.len() {
            out.push_str(cast);
            out.push_str(part);
        } else {
            out.push_str(&part[..part.len() - rest.len()]);
            out.push_str(suffix);
            out.push_str(rest);
        }
    }
    out
}
