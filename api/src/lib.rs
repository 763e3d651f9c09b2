//! What a program can report about itself to the memory profiler sysprof-memprof.
//!
//! The same as the C header `sysprof_memprof.h`, which describes each function in more detail:
//!
//! - **Nothing to link, nothing to pay.** The agent's functions are looked up by name at their first use. In a
//!   program that is not recorded they do not exist, and each call is a load and a compare.
//! - **From anywhere.** The calls take no lock of their own and allocate nothing, except the first one of each kind,
//!   which asks the dynamic loader: make that call outside of signal handlers.
//! - **`no_std`**, without dependencies. On systems without an ELF loader the calls do nothing.
//!
//! Names are texts, cut after the 255th byte or before a zero.
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
//!
//! Each type has a file: `pool`, `region`, `script` (frames of interpreters); `agent` finds the agent's functions, `name`
//! makes C strings.

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

/// Records from now on, in all threads of the process, if the recording was paused or stopped.
pub fn start() {
    agent::start();
}

/// Stops recording in all threads of the process, except for marks. Blocks that are live now and freed before the
/// next [`start`] are shown as uncertain, not as leaked.
pub fn stop() {
    agent::stop();
}

/// Marks this moment with a name.
pub fn mark(name: &str) {
    name::with_c_string(name, agent::mark);
}

/// True when the agent is loaded, so that calls reach it. That does not mean that the program is being recorded.
pub fn is_present() -> bool {
    agent::is_present()
}
