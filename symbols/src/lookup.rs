//! What is known about one address.

use crate::reason::Reason;
use serde::{Deserialize, Serialize};

/// Names of one address, or the reason why there are none, or lines with the reason why there is no name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lookup {
    /// Innermost inlined function first; the last one is the function that owns the code. A frame may have a line
    /// and no function.
    pub frames: Vec<SourceFrame>,
    /// Linkage name of the function that owns the code, where it differs from the name that its frame shows; `main`
    /// for the function without a name whose address the program's entry passes to the C library.
    pub linkage: Option<String>,
    /// Where the function that owns the code begins in its file according to the unwind tables, if it has no name:
    /// this tells it from others.
    pub start: Option<u64>,
    /// Set exactly when the last frame has no function, or there is no frame.
    pub reason: Option<Reason>,
}

/// One function at one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFrame {
    /// Readable name, or as it is in the file where [`crate::Options::demangle`] is off.
    pub function: Option<String>,
    /// Source file as the compiler recorded it.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
}

impl Lookup {
    /// An answer without names, for this reason.
    pub(crate) fn without(reason: Reason) -> Lookup {
        Lookup { reason: Some(reason), ..Lookup::default() }
    }

    /// The function that owns the code.
    pub fn function(&self) -> Option<&str> {
        self.frames.last()?.function.as_deref()
    }
}
