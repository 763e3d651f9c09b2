//! The names of roots.

use super::holder::RootId;
use std::borrow::Cow;

/// The name of a root; `[root 7]` if there is none.
///
/// ```
/// # use heap_graph::{RootId, root_name};
/// let names = ["cache".to_owned()];
/// assert_eq!(root_name(&names, RootId(0)), "cache");
/// assert_eq!(root_name(&names, RootId(7)), "[root 7]");
/// ```
pub fn root_name(names: &[String], root: RootId) -> Cow<'_, str> {
    match names.get(root.0 as usize).filter(|name| !name.trim().is_empty()) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("[root {}]", root.0)),
    }
}
