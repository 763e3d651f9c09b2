//! What CPython says of its own layout from 3.13: `_Py_DebugOffsets`, the beginning of `_PyRuntime`, made for
//! debuggers and profilers.
//!
//! It is a table of 64-bit numbers: offsets, by the struct that they are in. The structs have grown from version to
//! version, so their places in the table are those of a minor version, and everything that is used is checked.
//!
//! ```text
//!  "xdebugpy" │ version │ free-threaded │ runtime 3 │ interpreter 13, 16 │ thread 9 │ frame 6, 8 │ code 10, 11 │ …
//! ```

use super::layout::{ADDRESS, Bytes, Code, Frame, Layout, Links, Text, ThreadState};
use super::lines::Format;
use crate::interpreters::chain::FrameWords;

const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");
/// Largest offset that is believed.
const MOST: u64 = 1 << 15;

/// Where the structs begin in the table, in words.
struct Places {
    thread: u64,
    frame: u64,
    code: u64,
    object: u64,
    bytes: u64,
    text: u64,
    /// The index of the frame's `tlbc_index`, and of the code's `co_tlbc`; 0 before they were there.
    copies: [u64; 2],
}

const V3_13: Places =
    Places { thread: 19, frame: 28, code: 34, object: 44, bytes: 64, text: 67, copies: [0, 0] };
const V3_14: Places =
    Places { thread: 22, frame: 31, code: 39, object: 50, bytes: 74, text: 77, copies: [7, 10] };

/// The layout that the table describes, whose words `word` reads by their index; `None` if there is no such table, or
/// one that is not understood.
pub(crate) fn layout(word: impl Fn(u64) -> Option<u64>) -> Option<Layout> {
    if word(0)? != COOKIE {
        return None;
    }
    let version = word(1)?;
    let is_free_threaded = word(2)? != 0;
    let Places { thread, frame, code, object, bytes, text, copies } = match version >> 16 {
        0x030D => V3_13,
        0x030E => V3_14,
        _ => return None,
    };
    let offset = |of: u64, index: u64| {
        let value = word(of.checked_add(index)?)?;
        u16::try_from(value).ok().filter(|_| value < MOST)
    };
    let is_copied = is_free_threaded && copies != [0, 0];
    let [copy, all_copies] = copies.map(|index| if is_copied { index } else { 0 });
    let or_none = |of: u64, index: u64| if index == 0 { Some(0) } else { offset(of, index) };
    let ascii = offset(text, 3)?;
    let (first_line, names_of_locals) = (offset(code, 5)?, offset(code, 7)?);
    Some(Layout {
        links: Links::Frames,
        thread: ThreadState { id: offset(thread, 5)?, frames: offset(thread, 4)? },
        frame: Frame {
            words: FrameWords {
                previous: offset(frame, 1)?,
                code: offset(frame, 2)?,
                instruction: offset(frame, 3)?,
                instruction_bits: ADDRESS,
            },
            owner: offset(frame, 5)?,
            copy: or_none(frame, copy)?,
        },
        code: Code {
            file: offset(code, 1)?,
            name: offset(code, 3)?,
            lines: offset(code, 4)?,
            first_line,
            instructions: offset(code, 9)?,
            // The table does not have it, but it is between two that it has.
            version: if names_of_locals.checked_sub(first_line)? == 28 {
                names_of_locals.checked_sub(4)?
            } else {
                0
            },
            copies: or_none(code, all_copies)?,
        },
        text: Text {
            state: offset(text, 1)?,
            length: offset(text, 2)?,
            // Not in the table; not needed where code has a number.
            hash: 24,
            ascii,
            // The struct of other strings has two words more.
            wide: ascii.checked_add(16)?,
            // From 3.14, whether a string is interned takes a byte of its own if it may change meanwhile.
            kind: if is_copied { 8 } else { 2 },
        },
        bytes: Bytes { length: offset(bytes, 1)?, content: offset(bytes, 2)? },
        kind: offset(object, 1)?,
        format: Format::Locations,
        unit: 0,
        holder: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a table: those that are used have the values of 3.13.0, or of a build without the lock.
    fn table(version: u64, is_free_threaded: bool, values: &[(u64, u64)]) -> impl Fn(u64) -> Option<u64> {
        move |index| {
            let head = [COOKIE, version << 16, u64::from(is_free_threaded)];
            let found = values.iter().find(|(at, _)| *at == index).map(|(_, value)| *value);
            head.get(index as usize).copied().or(found).or(Some(0))
        }
    }

    const OF_3_13: &[(u64, u64)] = &[
        (23, 72),
        (24, 152), // thread
        (29, 8),
        (30, 0),
        (31, 56),
        (33, 70), // frame
        (35, 112),
        (37, 128),
        (38, 136),
        (39, 68),
        (41, 96),
        (43, 200), // code
        (45, 8),
        (65, 16),
        (66, 32),
        (68, 32),
        (69, 16),
        (70, 40), // object, bytes, text
    ];

    /// Check that the table of 3.13 says what its headers do.
    #[test]
    fn table_of_3_13_is_read() {
        let layout = layout(table(0x030D, false, OF_3_13)).expect("it is known");
        assert_eq!(layout.thread, ThreadState { id: 152, frames: 72 });
        let words = FrameWords { code: 0, previous: 8, instruction: 56, instruction_bits: ADDRESS };
        assert_eq!(layout.frame, Frame { words, owner: 70, copy: 0 });
        let code = Code {
            file: 112,
            name: 128,
            lines: 136,
            first_line: 68,
            instructions: 200,
            version: 92,
            copies: 0,
        };
        assert_eq!(layout.code, code);
        assert_eq!(layout.text, Text { length: 16, hash: 24, state: 32, ascii: 40, wide: 56, kind: 2 });
        assert_eq!((layout.bytes, layout.kind), (Bytes { length: 16, content: 32 }, 8));
    }

    /// Check that other versions, other tables and impossible offsets are refused.
    #[test]
    fn what_is_not_understood_is_refused() {
        assert_eq!(layout(table(0x030F, false, OF_3_13)), None);
        assert_eq!(layout(|_| Some(0)), None);
        assert_eq!(layout(|_| None), None);
        assert_eq!(layout(table(0x030D, false, &[(23, 1 << 20)])), None);
    }
}
