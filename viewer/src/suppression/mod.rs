//! Blocks that are alive at the end on purpose: which of them `leaks` and `check` leave out, and by which rule.
//!
//! ```text
//!  still allocated at exit ──┬── young            by --older-than: in use until a moment ago
//!                            ├── suppressed       by a rule, the first that matches the stack
//!                            └── leaked           the rest
//! ```
//!
//! Rules come from three places, in this order: files in the syntax of `LeakSanitizer`, the program itself
//! (`__lsan_default_suppressions`), and the list that comes with us. Nothing is hidden in silence: views show what
//! each rule hid, and which of the user's hid nothing.
//!
//! Whether a block that was never freed could still be reached is not known: nobody looked at the memory. So what is
//! left is called *still allocated*, and a rule is how one says that it may be.

mod builtin;
mod list;
mod rule;
mod suppress;
mod target;
mod young;

pub use list::{ListError, parse};
pub use rule::{Origin, Rule};
pub use suppress::{Suppressed, Suppressions, Use};
pub(crate) use target::rules_of_targets;
pub(crate) use young::{Young, YoungLeaks};
