//! What differs between machines: register numbers, signal frames, reading one's own registers.
//!
//! A second machine is a second file with the same items. On a machine without one, nothing is known and every
//! walk ends with [`End::NoUnwindInfo`](crate::End::NoUnwindInfo).

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(not(target_arch = "x86_64"))]
mod unsupported;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use unsupported::*;
