//! What a program can tell the memory profiler sysprof-memprof about itself.
//!
//! The same as the C header `sysprof_memprof.h`, which says more of each function:
//!
//! - **Nothing to link, nothing to pay.** The agent's functions are looked up by name at their first use. In a program that
//!   is not recorded they are not there, and each call is a load and a compare.
//! - **From anywhere.** The calls take no lock of their own and allocate nothing, but for the first one of each kind, which
//!   asks the dynamic loader: make that outside of signal handlers.
//! - **`no_std`**, without dependencies. Where there is no ELF loader to ask, nothing happens.
//!
//! Names are texts; what follows the 255th byte, or a zero, does not count.
//!
//! ```
//! use sysprof_memprof_api::{Pool, Region, mark};
//!
//! let pool = Pool::new("arena");
//! let arena = [0_u8; 4096];
//! {
//!     let _region = Region::new("filling the arena");
//!     pool.alloc(&raw const arena[0], 100);
//! }
//! mark("filled");
//! pool.free(&raw const arena[0]);
//! ```

#![no_std]

#[expect(unsafe_code, reason = "looks up C functions and calls them")]
mod agent;
mod name;
mod pool;
mod region;
#[expect(unsafe_code, reason = "is called by the agent, in C")]
mod script;

pub use pool::Pool;
pub use region::Region;
pub use script::{Frames, Function, StackProvider, set_stack_provider};

/// Records from here on, in all threads of the process, if the recording was paused or stopped.
pub fn start() {
    agent::start();
}

/// Records nothing from here on, in any thread of the process, but marks. What is alive now and freed before the next
/// [`start`] shows as uncertain, not as leaked.
pub fn stop() {
    agent::stop();
}

/// Names this moment.
pub fn mark(name: &str) {
    name::with_c_string(name, agent::mark);
}

/// True when the agent is there, so that calls reach it: it may be that nobody records.
pub fn is_present() -> bool {
    agent::is_present()
}
