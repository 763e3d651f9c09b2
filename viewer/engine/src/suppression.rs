//! Blocks that are alive at the end on purpose: which of them `leaks` and `check` suppress, and by which rule.
//!
//! ```text
//!  still allocated at exit ──┬── young            by --older-than: allocated only just before
//!                            ├── suppressed       by a rule, the first that matches the stack
//!                            └── leaked           the rest
//! ```
//!
//! Rules come from three places, in this order: files in the syntax of `LeakSanitizer`, the program itself
//! (`__lsan_default_suppressions`), and the built-in list. Nothing is hidden in silence: views show what each rule
//! hid, and which of the user's rules hid nothing.
//!
//! Without a scan of memory, it is unknown whether a block that was never freed could still be reached. So the
//! remaining blocks are called *still allocated*, and a rule is the way to say that this is fine.

mod builtin;
mod left;
mod list;
mod suppress;
mod target;
mod young;

pub use left::Left;
pub use list::{ListError, parse};
pub use suppress::Suppressions;
pub(crate) use target::rules_of_targets;
pub(crate) use young::{YoungBlockFilter, YoungLeaks};
