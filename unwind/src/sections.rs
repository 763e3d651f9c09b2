//! What a walk needs to know about loaded modules.

use crate::code_without_tables::CodeWithoutTables;
use core::ffi::CStr;

/// Functions that begin a greenlet, under the names of greenlet 3 and 2.
///
/// Greenlets share a stack: the frames of one that waits are copied elsewhere, and back when it goes on. Its first
/// function does not return, and where it was called from, other greenlets have run since.
pub const FIRST_OF_GREENLETS: [&CStr; 2] = [
    c"_ZN8greenlet12UserGreenlet15inner_bootstrapEP9_greenletP7_object",
    c"_ZN8greenlet12UserGreenlet15inner_bootstrapERNS_4refs14_OwnedGreenletI9_greenletXadL_ZNS1_15GreenletCheckerEPvEEEERNS1_14OwnedReferenceI7_objectXadL_ZNS1_11NoOpCheckerES4_EEEE",
];

/// The unwind tables of one module, as they lie in memory.
///
/// ```text
///  segment_address                hdr_address
///  ▼                              ▼
///  ┌──────────────────────────────┬───────────────┬───────────────────────┬─────┐
///  │ .rodata …                    │ .eh_frame_hdr │ .eh_frame             │ …   │   one readable segment
///  └──────────────────────────────┴───────────────┴───────────────────────┴─────┘
/// ```
///
/// Program headers give the address of `.eh_frame_hdr` (`PT_GNU_EH_FRAME`) and no more. The header says where
/// `.eh_frame` begins, before or after itself, and nothing says where it ends. So the whole readable segment is
/// given; only the pages that a look-up needs are touched.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'a> {
    /// The bytes of the readable segment that contains the tables.
    pub segment: &'a [u8],
    /// Where those bytes are mapped.
    pub segment_address: u64,
    /// Where `.eh_frame_hdr` is mapped.
    pub hdr_address: u64,
}

/// The modules of the process.
///
/// Implementations that serve a hook must neither lock nor allocate; `_dl_find_object` of glibc 2.35 is made for
/// this.
pub trait Modules {
    /// The tables of the module whose code contains `address`; `None` if no module does, or it has no tables.
    fn find(&self, address: u64) -> Option<Sections<'_>>;

    /// The code around `address`, if its instructions are read where tables are missing: that of a C library
    /// which is built without tables.
    fn text(&self, address: u64) -> Option<CodeWithoutTables<'_>> {
        let _ = address;
        None
    }

    /// Whether `address` is in a function that begins a stack, although its table says that it was called: one of
    /// [`FIRST_OF_GREENLETS`].
    fn begins_stack(&self, address: u64) -> bool {
        let _ = address;
        false
    }

    /// Whether `address` is in an executable mapping, of a module or not. An address that is not code is never
    /// visited.
    fn is_code(&self, address: u64) -> bool;

    /// The 16 bytes at `address`, if all of them are mapped, readable code.
    ///
    /// They are examined where tables are missing: to recognise signal trampolines and PLT stubs, and to check that a
    /// return address follows a call. Without them, such frames end the walk, or are crossed with less proof.
    fn code(&self, address: u64) -> Option<[u8; 16]> {
        let _ = address;
        None
    }

    /// The 16 bytes before `address`; where a mapping begins less than 16 bytes before it, zeros stand for the rest.
    fn code_before(&self, address: u64) -> Option<[u8; 16]> {
        if let Some(before) = self.code(address.checked_sub(16)?) {
            return Some(before);
        }
        let page = address & !4095;
        let length =
            usize::try_from(address.wrapping_sub(page)).ok().filter(|length| (1..16).contains(length))?;
        let first = self.code(page)?;
        let mut before = [0; 16];
        before.get_mut(16_usize.wrapping_sub(length)..)?.copy_from_slice(first.get(..length)?);
        Some(before)
    }
}
