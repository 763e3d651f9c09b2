//! What samples of the processors were unwound from: registers and a piece of stack, and where code was mapped.
//!
//! ```text
//!   StackCopy ─┬─► sample            which sample it is of: its stack is what was made of this
//!              ├─► ip, sp, bp, link
//!              ├─► stack             the bytes from sp upwards
//!              └─► code ─► module    mappings that ip, link, or any word of those bytes, lies in
//! ```
//!
//! So everything that unwinding needs, except the modules' files, is here, and the unwind can be repeated elsewhere
//! and later. The copied bytes are the program's data.

use crate::error::Malformed;
use crate::ids::ModuleId;
use crate::meta;
use serde::{Deserialize, Serialize};

/// What the kernel copied of a thread when it took a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackCopy {
    /// Index of the sample, counted from 0 in file order.
    pub sample: u64,
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer, or whatever the code keeps there.
    pub bp: u64,
    /// True when the stack may go on above the part that was copied.
    pub is_cut: bool,
    /// The bytes from the stack pointer upwards.
    pub stack: Vec<u8>,
    /// Mapped code that contains the instruction pointer, the link register, or any aligned word of the copied stack.
    pub code: Vec<MappedCode>,
    /// Link register of 64-bit ARM, which holds the return address in a function that calls no other; none on other
    /// machines.
    pub link: Option<u64>,
}

/// A part of a module, mapped into a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedCode {
    /// Its first address.
    pub start: u64,
    /// One past its last address.
    pub end: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// The file; none for anonymous memory.
    pub module: Option<ModuleId>,
}

/// Takes the next copy of a payload; `samples` and `modules` bound its ids.
pub(crate) fn take_copy(
    payload: &mut &[u8],
    scratch: &mut Vec<u8>,
    samples: u64,
    modules: usize,
) -> Result<StackCopy, Malformed> {
    let copy: StackCopy = meta::take(payload, scratch)?;
    if copy.sample >= samples {
        return Err(Malformed("a copied stack refers to an unknown sample"));
    }
    if copy.code.iter().filter_map(|code| code.module).any(|module| module.index() >= modules) {
        return Err(Malformed("a copied stack refers to an unknown module"));
    }
    Ok(copy)
}
