//! Where Ruby keeps what is read, by version. The tables are made from the headers of each version; within a minor
//! version the layout stays.
//!
//! | versions | frames | entry of a line table | strings | classes |
//! |---|---|---|---|---|
//! | 2.7, 3.0 | 7 words | 8 bytes | short ones have their length in their flags | named by a variable |
//! | 3.1 | 8 words | 12 bytes | the same | the same |
//! | 3.2 | 8 words | 12 bytes | have their length | named by their first variable |
//! | 3.3, 3.4 | 7 words | 12 bytes | the same | have their name |

use crate::interpreters::chain::FrameWords;

/// How a thread's execution context is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// 2.7: a key of thread-specific data has the thread's struct; offset there of the value of `pthread_self`.
    Key { id: u16 },
    /// From 3.0: `ruby_current_ec`, of which each thread has its own. From 3.3 it is not exported.
    Variable,
}

/// How the names of classes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Classes {
    /// Until 3.1: a hidden variable of the class.
    Variables,
    /// 3.2: the class' first variable. Its variables lie side by side, and what they are is known elsewhere; but a class
    /// is named, and one of an object's own attached to that, before it gets others.
    FirstVariable,
    /// From 3.3: words behind the class.
    Words,
}

/// Everything that differs from version to version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) threads: Threads,
    /// Offset in a thread's struct of its context, and in a context of its thread.
    pub(crate) context: u16,
    pub(crate) thread: u16,
    /// Bytes of a control frame.
    pub(crate) frame: u64,
    /// Offset in the body of an instruction sequence of its table of lines.
    pub(crate) lines: u16,
    /// Offset of `local_iseq` there.
    pub(crate) local: u16,
    /// Bytes of an entry of such a table.
    pub(crate) entry: u64,
    /// Each string has its length before its text.
    pub(crate) have_strings_lengths: bool,
    pub(crate) classes: Classes,
}

/// In a control frame: instruction, instruction sequence, and environment, which says what kind of frame it is.
pub(crate) const FRAME: FrameWords =
    FrameWords { code: 16, previous: 32, instruction: 0, instruction_bits: u64::MAX };

/// In an execution context: its stack, of how many words, the innermost control frame, and the innermost tag.
pub(crate) const CONTEXT_STACK: u16 = 0;
pub(crate) const CONTEXT_SIZE: u16 = 8;
pub(crate) const CONTEXT_FRAME: u16 = 16;
pub(crate) const CONTEXT_TAG: u16 = 24;

const V2_7: Layout = Layout {
    threads: Threads::Key { id: 72 },
    context: 32,
    thread: 56,
    frame: 56,
    lines: 120,
    local: 176,
    entry: 8,
    have_strings_lengths: false,
    classes: Classes::Variables,
};
const V3_0: Layout = Layout { threads: Threads::Variable, context: 40, ..V2_7 };
const V3_1: Layout = Layout { thread: 48, frame: 64, entry: 12, ..V3_0 };
const V3_2: Layout = Layout {
    context: 48,
    lines: 112,
    local: 168,
    have_strings_lengths: true,
    classes: Classes::FirstVariable,
    ..V3_1
};
const V3_3: Layout = Layout { frame: 56, classes: Classes::Words, ..V3_2 };

/// The layout of a version; `None` if that is not known.
pub(crate) fn of_version(major: u32, minor: u32) -> Option<Layout> {
    match (major, minor) {
        (2, 7) => Some(V2_7),
        (3, 0) => Some(V3_0),
        (3, 1) => Some(V3_1),
        (3, 2) => Some(V3_2),
        (3, 3 | 4) => Some(V3_3),
        _ => None,
    }
}
