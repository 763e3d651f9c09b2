//! D names, spelled as c++filt spells them: `std.stdio.File.close()` for `_D3std5stdio4File5closeMFZv`.
//!
//! Written from the grammar in D's ABI specification. Return types are left out, as c++filt does; parameters are not,
//! since overloads differ in nothing else.
//!
//! ```text
//! _D 3std 5stdio 4File 5close M F Z v
//!    │                        │ │ │ └ type: of what is returned, or of a variable
//!    │                        │ │ └ end of the parameters
//!    │                        │ └ a function of D
//!    │                        └ that has `this`
//!    └ names, each with its length; a name or type that was there already is `Q` and how far back
//! ```
//!
//! Names of compilers before 2018, which wrote lengths before templates, too, stay as they are.

mod names;
mod parser;
mod types;
mod values;

use parser::Parser;

/// The readable form of a mangled name, with what follows its first dot marked as clones.
pub(super) fn demangle(name: &str) -> Option<String> {
    let (mangled, clones) = name.split_at(name.find('.').unwrap_or(name.len()));
    let mut readable = String::new();
    if mangled == "_Dmain" {
        readable.push_str("D main");
    } else {
        let mut parser = Parser::new(mangled);
        parser.whole(&mut readable)?;
        parser.is_at_end().then_some(())?;
    }
    super::mark_clones(clones, &mut readable);
    Some(readable)
}

#[cfg(test)]
mod tests;
