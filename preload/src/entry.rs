//! What runs without having been called by the program.
//!
//! | file | what it does |
//! |---|---|
//! | `constructor` | begins: run by the loader, in preloaded processes and in those that we are loaded into |
//! | `injected` | the functions that a collector calls after it has loaded this library into a running process |
//! | `search_scope` | moves this library in such a process to where it would be searched had it been preloaded |

#[cfg(not(test))]
mod constructor;
#[expect(unsafe_code, reason = "exports C symbols, and asks the dynamic loader")]
pub(crate) mod injected;
#[expect(unsafe_code, reason = "reorders a list of the loader's, in its callback")]
pub(crate) mod search_scope;
