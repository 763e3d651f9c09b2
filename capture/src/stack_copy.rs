//! What samples of the processors were unwound from: registers and a piece of stack, and where code was mapped.
//!
//! ```text
//!   StackCopy ─┬─► sample            which sample it is of: its stack is what was made of this
//!              ├─► ip, sp, bp, link
//!              ├─► stack             the bytes from sp upwards
//!              └─► code ─► module    mappings that ip, link, or any word of those bytes, lies in
//! ```
//!
//! So everything that a walk up the stack needs, beside the modules' files, is here, and the walk can be done again, elsewhere and
//! later. These bytes are the program's data.

use crate::error::Malformed;
use crate::ids::ModuleId;
use crate::meta;
use serde::{Deserialize, Serialize};

/// What the kernel copied of a thread when it was sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackCopy {
    /// Number of the sample, counted from 0 in the order of the file.
    pub sample: u64,
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer, or whatever the code keeps there.
    pub bp: u64,
    /// The stack may go on above what was copied.
    pub is_cut: bool,
    /// The bytes from the stack pointer upwards.
    pub stack: Vec<u8>,
    /// Mapped code that the instruction pointer, the link register, or any aligned word of the copied stack, lies in.
    pub code: Vec<MappedCode>,
    /// Link register of 64-bit ARM, in which a function that calls no others has its return address; none of other machines.
    pub link: Option<u64>,
}

/// A piece of a module in the memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedCode {
    /// Its first address.
    pub start: u64,
    /// The address behind its last one.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file; none for memory that no file holds.
    pub module: Option<ModuleId>,
}

/// Takes the next copy of a payload; both numbers are how many there are in the capture.
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
