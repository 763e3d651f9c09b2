//! Lambdas and arguments with template parameters that are declared in the mangled name.
//!
//! Since gcc 14 and clang 18, names declare the template parameters of a lambda, and those kinds of parameters that an
//! argument alone does not tell. The parser does not know these declarations:
//!
//! ```text
//!  Ul Ty Tn i PAT0__T_ E_      []<typename $T0, int $N1>($T0 (*)[$N1])      {lambda<typename $T0, int $N1>(…)#1}
//!  Ul Tk 3Big T_ E_            []<Big $T0>($T0)
//!  I Tn Da Li3E E              <auto $N0>, here 3
//! ```
//!
//! So a lambda's declarations are replaced by a parameter of a type that stands for them, which takes no place among
//! what later parts refer to, and is spelled out afterwards; those before arguments are left out. Declarations whose
//! own parts may be referred to later, such as concepts in namespaces, are not understood.

use std::fmt::Write;

/// Most declarations that are replaced.
const MOST: usize = 64;
/// The type that stands for declarations, followed by their number and an underscore.
const STAND_IN: &str = "template_head_";

/// A name without declarations, and what they were.
pub(super) struct Replaced {
    pub(super) name: String,
    heads: Vec<Vec<Declaration>>,
}

/// One template parameter.
#[derive(Clone)]
struct Declaration {
    /// `typename`, `int`, a concept, or `template<typename> class`.
    kind: String,
    /// `$T`, `$N` or `$TT`, by what it stands for.
    letter: &'static str,
    is_pack: bool,
}

/// Replaces the declarations in a mangled name; none if there are none.
pub(super) fn without_declarations(mangled: &str) -> Option<Replaced> {
    let mut replaced = Replaced { name: String::with_capacity(mangled.len()), heads: Vec::new() };
    let (mut rest, mut is_changed) = (mangled, false);
    for _ in 0..MOST {
        let Some(at) =
            rest.match_indices('T').map(|(at, _)| at).find(|&at| declaration(&rest[at..], 0).is_some())
        else {
            break;
        };
        let (before, mut here) = rest.split_at(at);
        replaced.name.push_str(before);
        is_changed = true;
        if before.ends_with("Ul") {
            let mut head = Vec::new();
            while let Some((declared, after)) = declaration(here, 0) {
                head.push(declared);
                here = after;
            }
            let stand_in = format!("{STAND_IN}{}_", replaced.heads.len());
            replaced.name.push('u');
            let _ = write!(replaced.name, "{}{stand_in}", stand_in.len());
            replaced.heads.push(head);
            // Without parameters.
            here = here.strip_prefix('v').filter(|after| after.starts_with('E')).unwrap_or(here);
        } else if let Some((_, after)) = declaration(here, 0) {
            here = after;
        }
        rest = here;
    }
    replaced.name.push_str(rest);
    is_changed.then_some(replaced)
}

/// The declaration that some text begins with, and what follows it.
fn declaration(text: &str, depth: usize) -> Option<(Declaration, &str)> {
    if depth > 4 {
        return None;
    }
    let plain = |kind: &str, letter| Declaration { kind: kind.to_owned(), letter, is_pack: false };
    if let Some(rest) = text.strip_prefix("Ty") {
        return Some((plain("typename", "$T"), rest));
    }
    if let Some(rest) = text.strip_prefix("Tp") {
        let (declared, rest) = declaration(rest, depth + 1)?;
        return Some((Declaration { is_pack: true, ..declared }, rest));
    }
    if let Some(rest) = text.strip_prefix("Tn") {
        let (kind, rest) = builtin(rest)?;
        return Some((plain(kind, "$N"), rest));
    }
    if let Some(rest) = text.strip_prefix("Tk") {
        let (name, rest) = concept(rest)?;
        return Some((plain(&name, "$T"), rest));
    }
    let mut rest = text.strip_prefix("Tt")?;
    let mut kinds = Vec::new();
    while let Some((declared, after)) = declaration(rest, depth + 1) {
        kinds.push(declared.kind + if declared.is_pack { "..." } else { "" });
        rest = after;
    }
    let kind = format!("template<{}> class", kinds.join(", "));
    Some((plain(&kind, "$TT"), rest.strip_prefix('E')?))
}

/// A type of one letter or two, to which nothing refers later.
fn builtin(text: &str) -> Option<(&'static str, &str)> {
    const TYPES: [(&str, &str); 16] = [
        ("Da", "auto"),
        ("b", "bool"),
        ("c", "char"),
        ("a", "signed char"),
        ("h", "unsigned char"),
        ("s", "short"),
        ("t", "unsigned short"),
        ("i", "int"),
        ("j", "unsigned int"),
        ("l", "long"),
        ("m", "unsigned long"),
        ("x", "long long"),
        ("y", "unsigned long long"),
        ("w", "wchar_t"),
        ("d", "double"),
        ("f", "float"),
    ];
    TYPES.iter().find_map(|(letters, name)| Some((*name, text.strip_prefix(letters)?)))
}

/// A concept outside of namespaces, or one of the standard library.
fn concept(text: &str) -> Option<(String, &str)> {
    let (scope, text) = match text.strip_prefix("St") {
        Some(rest) => ("std::", rest),
        None => ("", text),
    };
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length: usize = text[..digits].parse().ok()?;
    let name = text.get(digits..)?.get(..length).filter(|name| !name.is_empty())?;
    Some((format!("{scope}{name}"), &text[digits + length..]))
}

impl Replaced {
    /// The readable name with its declarations.
    pub(super) fn spelled(&self, readable: &str) -> String {
        let mut out = String::with_capacity(readable.len());
        let mut rest = readable;
        let opened = format!("({STAND_IN}");
        while let Some((before, after)) = rest.split_once(&opened) {
            out.push_str(before);
            let number =
                after.split_once('_').and_then(|(number, after)| Some((number.parse().ok()?, after)));
            let Some((head, after)) =
                number.and_then(|(number, after): (usize, _)| Some((self.heads.get(number)?, after)))
            else {
                out.push_str(&opened);
                rest = after;
                continue;
            };
            let parameters = after.strip_prefix(", ").unwrap_or(after);
            let end = end_of_parameters(parameters);
            out.push('<');
            out.push_str(&listed(head));
            out.push_str(">(");
            out.push_str(&renamed(&parameters[..end], head));
            rest = &parameters[end..];
        }
        out.push_str(rest);
        out
    }
}

/// `typename $T0, int $N1`.
fn listed(head: &[Declaration]) -> String {
    let declared = head.iter().enumerate().map(|(index, Declaration { kind, letter, is_pack })| {
        let pack = if *is_pack { "..." } else { "" };
        format!("{kind}{pack} {letter}{index}")
    });
    Vec::from_iter(declared).join(", ")
}

/// Where a list of parameters ends, whose opening bracket precedes.
fn end_of_parameters(text: &str) -> usize {
    let mut depth = 0_usize;
    let end = text.bytes().position(|byte| {
        depth += usize::from(byte == b'(');
        let is_end = byte == b')' && depth == 0;
        depth -= usize::from(byte == b')' && depth > 0);
        is_end
    });
    end.unwrap_or(text.len())
}

/// The parser calls the parameters `auto:1` and so on.
fn renamed(parameters: &str, head: &[Declaration]) -> String {
    let mut parts = parameters.split("auto:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let index = part[..digits].parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match index.and_then(|index| Some((index, head.get(index)?))) {
            Some((index, declared)) => {
                let _ = write!(out, "{}{index}", declared.letter);
                out.push_str(&part[digits..]);
            }
            None => {
                out.push_str("auto:");
                out.push_str(part);
            }
        }
    }
    out
}
