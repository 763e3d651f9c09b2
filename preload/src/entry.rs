//! What runs without having been called by the program: the functions for a collector that has loaded this library into a
//! running process.

#[cfg(not(test))]
mod constructor;
#[expect(unsafe_code, reason = "exports C symbols, and asks the dynamic loader")]
pub(crate) mod injected;
#[expect(unsafe_code, reason = "reorders a list of the loader's, in its callback")]
pub(crate) mod search_scope;
