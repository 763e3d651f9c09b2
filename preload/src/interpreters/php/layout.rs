//! Where PHP keeps what is read, by version. The tables are made from the headers of each version; within a minor
//! version the layout stays. What is the same in all of them:
//!
//! | | words, by their offsets |
//! |---|---|
//! | frame | 0 instruction, 24 function, 32 object, 40 how it was called, 48 its caller |
//! | function | 0 type and flags, 8 name, 16 class |
//! | instruction | 24 line and opcode; 32 bytes each |
//! | string | 8 hash, 16 length, 24 text |

use crate::interpreters::chain::FrameWords;

/// Everything that differs from version to version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Offsets in a function of a script of its instructions, of their number, and of its file, behind which are its
    /// first and last line.
    pub(crate) instructions: u16,
    pub(crate) count: u16,
    pub(crate) file: u16,
    /// Offsets in a generator of its frame, and of the generator whose values it passes on.
    pub(crate) execution: u16,
    pub(crate) source: u16,
}

/// In a frame.
pub(crate) const FRAME: FrameWords =
    FrameWords { code: 24, previous: 48, instruction: 0, instruction_bits: u64::MAX };
pub(crate) const OBJECT: u64 = 32;
pub(crate) const CALL: u64 = 40;

/// In the globals: where an exit leaves to, on the machine stack; the stack of frames, and where it ends; the innermost
/// frame.
pub(crate) const BAILOUT: u64 = 416;
pub(crate) const STACK_TOP: u64 = 456;
pub(crate) const STACK_END: u64 = 464;
pub(crate) const STACK: u64 = 472;
pub(crate) const CURRENT: u64 = 488;
/// In a page of that stack: where it ends.
pub(crate) const PAGE_END: u64 = 8;

/// In an object, and in a class.
pub(crate) const CLASS_OF: u64 = 16;
pub(crate) const CLASS_NAME: u64 = 8;

/// In a function.
pub(crate) const NAME: u64 = 8;
pub(crate) const SCOPE: u64 = 16;

/// In an instruction, and its size.
pub(crate) const LINE: u64 = 24;
pub(crate) const OPCODE: u64 = 28;
pub(crate) const INSTRUCTION: u64 = 32;

/// In a string.
pub(crate) const HASH: u64 = 8;
pub(crate) const LENGTH: u64 = 16;
pub(crate) const TEXT: u64 = 24;

/// In a hash table: its entries, which begin with a pointer to what they have, and their number. In what describes an
/// extension: the interface that it was built for, and whether that is the one with threads.
pub(crate) const ENTRIES: u64 = 16;
pub(crate) const USED: u64 = 24;
pub(crate) const INTERFACE: u64 = 4;
pub(crate) const HAS_THREADS: u64 = 9;

const V7_4: Layout = Layout { instructions: 64, count: 60, file: 136, execution: 64, source: 160 };
const V8_0: Layout = Layout { instructions: 72, count: 68, file: 144, execution: 56, source: 152 };
const V8_2: Layout = Layout { instructions: 88, count: 80, file: 152, ..V8_0 };
const V8_3: Layout = Layout { instructions: 80, count: 76, file: 144, ..V8_0 };
const V8_4: Layout = Layout { instructions: 104, count: 96, file: 168, ..V8_0 };

/// The layout of the version whose extensions are built for this interface; `None` if that is not known.
pub(crate) fn of_interface(number: u32) -> Option<Layout> {
    match number {
        20190902 => Some(V7_4),
        // 8.0 and 8.1.
        20200930 | 20210902 => Some(V8_0),
        20220829 => Some(V8_2),
        20230831 => Some(V8_3),
        20240924 => Some(V8_4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    /// The members of a function of a script, in the order that a version's headers have them.
    macro_rules! function {
        ($name:ident { $($member:ident: $type:ty),+ $(,)? }) => {
            #[repr(C)]
            #[allow(dead_code)]
            struct $name {
                kind: u8,
                argument_flags: [u8; 3],
                flags: u32,
                name: u64,
                scope: u64,
                prototype: u64,
                argument_counts: [u32; 2],
                arguments: u64,
                $($member: $type,)+
                variables: u64,
                references: u64,
                range_counts: [u32; 2],
                ranges: u64,
                tries: u64,
                file: u64,
                first_line: u32,
                last_line: u32,
            }
        };
    }

    function!(Of74 {
        cache_size: u32,
        variable_count: u32,
        temporaries: u32,
        count: u32,
        instructions: u64,
        cache: u64,
        statics_of_thread: u64,
        statics: u64,
    });
    function!(Of80 {
        attributes: u64,
        cache_size: u32,
        variable_count: u32,
        temporaries: u32,
        count: u32,
        instructions: u64,
        cache: u64,
        statics_of_thread: u64,
        statics: u64,
    });
    function!(Of82 {
        attributes: u64,
        temporaries: u32,
        cache: u64,
        cache_size: u32,
        variable_count: u32,
        count: u32,
        instructions: u64,
        statics_of_thread: u64,
        statics: u64,
    });
    function!(Of83 {
        attributes: u64,
        cache: u64,
        temporaries: u32,
        cache_size: u32,
        variable_count: u32,
        count: u32,
        instructions: u64,
        statics_of_thread: u64,
        statics: u64,
    });
    function!(Of84 {
        attributes: u64,
        cache: u64,
        comment: u64,
        temporaries: u32,
        property: u64,
        cache_size: u32,
        variable_count: u32,
        count: u32,
        instructions: u64,
        statics_of_thread: u64,
        statics: u64,
    });

    /// Check the offsets in functions against the members that the headers of each version have.
    #[test]
    fn functions_are_laid_out_as_the_headers_have_them() {
        macro_rules! check {
            ($($name:ident $($interface:literal),+;)+) => {$($(
                let layout = of_interface($interface).expect("it is known");
                assert_eq!(usize::from(layout.instructions), offset_of!($name, instructions), "{}", $interface);
                assert_eq!(usize::from(layout.count), offset_of!($name, count), "{}", $interface);
                assert_eq!(usize::from(layout.file), offset_of!($name, file), "{}", $interface);
                assert_eq!(usize::from(layout.file) + 8, offset_of!($name, first_line), "{}", $interface);
                assert_eq!([NAME as usize, SCOPE as usize], [offset_of!($name, name), offset_of!($name, scope)]);
            )+)+};
        }
        check! {
            Of74 20190902;
            Of80 20200930, 20210902;
            Of82 20220829;
            Of83 20230831;
            Of84 20240924;
        }
    }

    /// Check that other versions are left alone.
    #[test]
    fn other_versions_are_not_known() {
        for interface in [0, 20180731, 20250925, u32::MAX] {
            assert_eq!(of_interface(interface), None);
        }
    }
}
