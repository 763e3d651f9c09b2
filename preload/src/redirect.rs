//! Calls that do not reach the agent by symbol lookup: the words and instructions that are changed so that they do.

#[expect(unsafe_code, reason = "changes words of other modules")]
pub(crate) mod got;
#[expect(unsafe_code, reason = "asks the dynamic loader, and reads words of modules")]
pub(crate) mod linkage;
#[expect(unsafe_code, reason = "changes the program's own code")]
pub(crate) mod linked;
