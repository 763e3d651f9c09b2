//! Names of D, spelled as c++filt spells them: `std.stdio.File.close()` for `_D3std5stdio4File5closeMFZv`.
//!
//! - **A name may be anybody's bytes.** Time and memory are bounded, however types refer back to each other and
//!   however deep they nest; what is damaged or abusive is no name.
//! - **Nothing else:** no dependency, no unsafe code, and names of other languages are not told apart.
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
//! Names of compilers before 2018, which wrote lengths before templates, too, are not read.
//!
//! `parser` is the position in a name, with all limits; `names`, `types` and `values` (of templates) call each other by it.

mod names;
mod parser;
mod types;
mod values;

pub use parser::LONGEST;

use parser::Parser;

/// The readable form of a mangled name; none for what is no name of D, or would be longer than [`LONGEST`]. What
/// compilers append to the names of clones (`.cold`) is not part of the name.
///
/// ```
/// let readable = dlang_demangle::demangle("_D3std5stdio4File5closeMFNeZv");
/// assert_eq!(readable.as_deref(), Some("std.stdio.File.close()"));
/// ```
pub fn demangle(name: &str) -> Option<String> {
    if name == "_Dmain" {
        return Some("D main".to_owned());
    }
    let (mut parser, mut readable) = (Parser::new(name), String::new());
    parser.whole(&mut readable)?;
    parser.is_at_end().then_some(readable)
}

#[cfg(test)]
mod tests;
