//! Regions of time.

use crate::{agent, name};

/// A region of time with a name, from its creation until it is dropped.
///
/// ```
/// let region = sysprof_memprof_api::Region::new("loading");
/// // …
/// drop(region);
/// ```
#[derive(Debug)]
#[must_use = "the region ends when this is dropped"]
pub struct Region<'a> {
    name: &'a str,
}

impl<'a> Region<'a> {
    /// Begins the region. Regions may overlap and repeat.
    pub fn new(name: &'a str) -> Self {
        name::with_c_string(name, agent::mark_begin);
        Self { name }
    }
}

impl Drop for Region<'_> {
    fn drop(&mut self) {
        name::with_c_string(self.name, agent::mark_end);
    }
}
