//! The verified memo: a walk stops where it meets the last stack unchanged.
//!
//! Most stacks of a thread differ from the previous one only in their newest frames. The memo keeps the last stack
//! with every word that led from frame to frame. A walk that reaches one of its frames compares those words, one load
//! and one comparison for each older frame, instead of finding a rule for each. And what the caller keeps for each
//! stack, its *label*, needs to be made for the new frames only.
//!
//! The memo is exact, because the walk from a frame is a function of the frame's address, of sp, of rbp where some
//! older frame is left by it, and of the words read on the way. All of those are compared, every time, down to the
//! outermost frame. Comparing only the newest few would be wrong: two calls from two lines of one function, far down,
//! differ in one word.
//!
//! Stacks that take turns differ from the last one in the same few ways again and again. Such chains of newest frames
//! are kept, too, and compared like the last stack.
//!
//! Not remembered, and therefore walked, are frames above a signal frame, frames whose rules are evaluated anew each
//! time, and stacks that do not reach their root or are longer than the limit.

mod branch;
mod branches;
mod fresh;
mod growth;
mod identity;
mod labels;
#[expect(unsafe_code, reason = "divides memory of the caller's")]
mod layout;
mod missed;
mod numbered;
mod places;
#[expect(unsafe_code, reason = "is made of memory of the caller's")]
mod regions;
mod returns;
mod seen;
mod stack;
mod tag;

pub use labels::{Accessors, Label, Labels};
pub use numbered::{Frames, Numbered};
pub use regions::Memos;

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
#[expect(unsafe_code, reason = "lends memory to memos")]
mod tests;
