//! Where CPython keeps what is read, by version.
//!
//! Until 3.12 these are tables, made from the headers of each version: within a minor version the layout stays. From
//! 3.13 the interpreter itself says where most of it is, see [`super::debug_offsets`].
//!
//! | versions | frames | what tells which evaluation runs them |
//! |---|---|---|
//! | 3.8, 3.9 | objects, by `f_back` from the thread's `frame` | each has its own, in the same order |
//! | 3.10 | the same | a `CFrame` on the machine stack for each |
//! | 3.11 | by `previous` from the innermost `_PyCFrame` | a `_PyCFrame` for all up to an entry frame |
//! | 3.12 | the same | a frame on the machine stack, behind those that it runs |
//! | from 3.13 | by `previous` from the thread's `current_frame` | the same |

use super::lines::Format;
use crate::interpreters::chain::FrameWords;

/// How the frames of a thread are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// 3.8 and 3.9: frame objects, one for each evaluation.
    Objects,
    /// 3.10: the same; offset of the list of evaluations in the thread's state, and in one of those that of the next.
    ObjectsBeside { evaluations: u16, next: u16 },
    /// 3.11: offsets in an evaluation of its innermost frame and of the next evaluation; in a frame that of the byte
    /// that marks the outermost frame of its evaluation.
    Evaluations { frame: u16, next: u16, entry: u16 },
    /// 3.12: offset in an evaluation of its innermost frame.
    ThroughEvaluation { frame: u16 },
    /// From 3.13.
    Frames,
}

/// Offsets in a state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadState {
    /// The value of `pthread_self`.
    pub(crate) id: u16,
    /// Where its frames begin, see [`Links`].
    pub(crate) frames: u16,
}

/// Offsets in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The code, the caller, and the instruction: its address, or until 3.10 its number, of 32 bits.
    pub(crate) words: FrameWords,
    /// The byte that says who owns it; 0 where that is not needed.
    pub(crate) owner: u16,
    /// The number of the thread's copy of the code, of 32 bits; 0 if there are no such copies.
    pub(crate) copy: u16,
}

/// Offsets in a code object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) file: u16,
    /// Its name, qualified if the version knows that.
    pub(crate) name: u16,
    pub(crate) lines: u16,
    pub(crate) first_line: u16,
    /// Its instructions; 0 where frames have numbers.
    pub(crate) instructions: u16,
    /// A number that no other code object has had; 0 if there is none.
    pub(crate) version: u16,
    /// The threads' copies of the instructions; 0 if there are none.
    pub(crate) copies: u16,
}

/// Offsets in strings, and how their state is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) length: u16,
    /// A hash of the whole text.
    pub(crate) hash: u16,
    pub(crate) state: u16,
    /// The text, if it is ASCII.
    pub(crate) ascii: u16,
    /// The text, if it is not.
    pub(crate) wide: u16,
    /// The first bit of the state that tells how wide characters are.
    pub(crate) kind: u8,
}

/// Offsets in `bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub(crate) length: u16,
    pub(crate) content: u16,
}

/// Everything that is known of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) links: Links,
    pub(crate) thread: ThreadState,
    pub(crate) frame: Frame,
    pub(crate) code: Code,
    pub(crate) text: Text,
    pub(crate) bytes: Bytes,
    /// Offset of an object's type.
    pub(crate) kind: u16,
    pub(crate) format: Format,
    /// Bytes of an instruction, where frames have its number.
    pub(crate) unit: u8,
    /// Offset in `_PyRuntime` of the state of the thread that holds the lock; 0 if it is not needed.
    pub(crate) holder: u16,
}

/// Which bits are the instruction: a number, in the word's lower half since its offset is even, or an address.
const NUMBER: u64 = u32::MAX as u64;
pub(crate) const ADDRESS: u64 = u64::MAX;

const fn words(code: u16, previous: u16, instruction: u16, instruction_bits: u64) -> FrameWords {
    FrameWords { code, previous, instruction, instruction_bits }
}

const BYTES: Bytes = Bytes { length: 16, content: 32 };
/// Strings with a cached `wchar_t` form, until 3.11.
const OLD_TEXT: Text = Text { length: 16, hash: 24, state: 32, ascii: 48, wide: 72, kind: 2 };
const TEXT: Text = Text { length: 16, hash: 24, state: 32, ascii: 40, wide: 56, kind: 2 };
const OLD_CODE: Code =
    Code { file: 104, name: 112, lines: 120, first_line: 40, instructions: 0, version: 0, copies: 0 };

const V3_8: Layout = Layout {
    links: Links::Objects,
    thread: ThreadState { id: 176, frames: 24 },
    frame: Frame { words: words(32, 24, 104, NUMBER), owner: 0, copy: 0 },
    code: OLD_CODE,
    text: OLD_TEXT,
    bytes: BYTES,
    kind: 8,
    format: Format::Increments,
    unit: 1,
    holder: 1368,
};
const V3_9: Layout = Layout { holder: 568, ..V3_8 };
const V3_10: Layout = Layout {
    links: Links::ObjectsBeside { evaluations: 48, next: 8 },
    frame: Frame { words: words(32, 24, 96, NUMBER), ..V3_8.frame },
    format: Format::Ranges,
    unit: 2,
    ..V3_9
};
const V3_11: Layout = Layout {
    links: Links::Evaluations { frame: 8, next: 16, entry: 68 },
    thread: ThreadState { id: 152, frames: 56 },
    frame: Frame { words: words(32, 48, 56, ADDRESS), owner: 69, copy: 0 },
    code: Code { file: 112, name: 128, lines: 136, first_line: 72, instructions: 184, version: 0, copies: 0 },
    text: OLD_TEXT,
    bytes: BYTES,
    kind: 8,
    format: Format::Locations,
    unit: 0,
    holder: 576,
};
const V3_12: Layout = Layout {
    links: Links::ThroughEvaluation { frame: 0 },
    thread: ThreadState { id: 136, frames: 56 },
    frame: Frame { words: words(0, 8, 56, ADDRESS), owner: 70, copy: 0 },
    code: Code { first_line: 68, instructions: 192, version: 92, ..V3_11.code },
    text: TEXT,
    holder: 0,
    ..V3_11
};

/// The layout of a version before 3.13, by its minor number; `None` if that is not known.
pub(crate) fn of_minor(minor: u32) -> Option<Layout> {
    match minor {
        8 => Some(V3_8),
        9 => Some(V3_9),
        10 => Some(V3_10),
        11 => Some(V3_11),
        12 => Some(V3_12),
        _ => None,
    }
}
